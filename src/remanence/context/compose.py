"""From sections to a context that keeps to its budget, with the table of what is in it."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.context.chosen import Chosen, Prices, messages_of, text_of
from remanence.context.draft import Draft, drafted
from remanence.context.section import Section
from remanence.context.shares import SHARES
from remanence.model.context import Context, Item, Part


def compose(sections: Sequence[Section], prices: Prices, max_tokens: int) -> Context:
    """The context made of these sections, one of each name in `SHARES`, in their order."""
    draft = drafted(sections, prices, max_tokens)
    text = text_of(draft.parts)
    return Context(
        text=text,
        messages=messages_of(draft.parts),
        parts=tuple(_part(part, draft, prices) for part in draft.parts),
        tokens=prices.count(text) if text else 0,
        max_tokens=max_tokens,
        ids=tuple(e.id for part in draft.parts for e in part.entries.values() if e.memory),
    )


def _part(part: Chosen, draft: Draft, prices: Prices) -> Part:
    name, text = part.section.name, part.printed()
    printed = sorted(part.entries.values(), key=lambda entry: entry.place)
    return Part(
        name=name,
        tokens=prices.count(text) if text else 0,
        share=SHARES[name],
        items=tuple(
            Item(id=e.id, tokens=prices.of(e.text), why=e.why, at=e.at, source=e.source)
            for e in printed
        ),
        left_out=len(draft.left_out(name)),
    )

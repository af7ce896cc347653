"""A draft: entries chosen inside the budget, line by line, then made to fit as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from remanence.context.entry import PromptEntry
from remanence.context.section import (
    CORE,
    FACTS,
    RECALLED,
    RECENT,
    SHARES,
    SPARE,
    STATE,
    SUMMARY,
    Chosen,
    Prices,
    Section,
    allotted,
    messages_of,
    text_of,
    words_of,
)
from remanence.model.context import Context, ContextItem, ContextPart

# Recent turns come before what is recalled, which shows none of them again.
ORDER = (CORE, STATE, SUMMARY, FACTS, RECENT, RECALLED)
# What is given up first when the whole turns out too long.
GIVEN_UP = (RECALLED, FACTS, STATE, SUMMARY, RECENT, CORE)
# The question, and the best memory, which go last.
KEPT = (RECENT, RECALLED)
ENOUGH = 0.97
ATTEMPTS = 4
CUTS = 12
EXACT = 4  # so often a cut is corrected by what it was too long; then by more
# No line is shorter than this many tokens; a smaller gap is not worth looking for one.
CRUMB = 4


def drafted(sections: Sequence[Section], prices: Prices, limit: int) -> PromptDraft:
    """The draft that uses the budget best.

    Lines do not add up to the whole by every counter: the budget they are chosen in is corrected
    by what the whole took, and at last the whole is made to fit.
    """
    budget = limit + prices.line_end
    for _ in range(ATTEMPTS):
        draft = PromptDraft(sections, prices)
        draft.fill(budget)
        taken = draft.measure()
        if taken <= limit and (taken >= ENOUGH * limit or not draft.left_out()):
            return draft
        before, budget = budget, int(limit * draft.estimate / max(taken, 1))
        if budget < 1 or abs(budget - before) <= limit // 100:
            break
    draft.shrink(limit)
    draft.top_up(limit)
    return draft


class PromptDraft:
    """Entries chosen from sections. One for each attempt."""

    def __init__(self, sections: Sequence[Section], prices: Prices) -> None:
        self._prices = prices
        self._parts = {section.name: Chosen(section, prices) for section in sections}
        self._gists: Counter[str] = Counter()
        self._holders: dict[str, Chosen] = {}  # of memories: only they may stand in two sections

    @property
    def parts(self) -> list[Chosen]:
        """The sections in the order of the prompt."""
        return list(self._parts.values())

    def measure(self) -> int:
        """What the whole takes in the dearer of its two forms."""
        count = self._prices.count
        messages = messages_of(self.parts)
        return max(count(text_of(self.parts)), sum(count(words_of(m)) for m in messages))

    def left_out(self, name: str | None = None) -> list[PromptEntry]:
        """What is not in and would say something new, the most valuable first."""
        parts = self.parts if name is None else [self._parts[name]]
        return [e for part in parts for e in part.section.entries if not self._has(part, e)]

    def fill(self, budget: int) -> None:
        """Choose for each section what its part of the budget holds, then spend what is left."""
        needs = {name: part.need(budget) for name, part in self._parts.items()}
        least = {name: self._parts[name].least(int(SHARES[name] * budget)) for name in KEPT}
        given = allotted(needs, budget, least)
        for name in ORDER:
            self._take(self._parts[name], given[name])
        for name in SPARE:
            part = self._parts[name]
            self._take(part, part.cost + budget - self.estimate)

    @property
    def estimate(self) -> int:
        """What all lines take, counted one by one."""
        return sum(part.cost for part in self.parts)

    def shrink(self, limit: int) -> None:
        """Give up the least valuable until the whole fits."""
        cuts = CUTS
        while (excess := self.measure() - limit) > 0:
            part = self._dearest()
            if part is None:
                return
            room = part.cost - excess
            last = self._drop_last(part)
            while part.entries and part.cost > room:
                last = self._drop_last(part)
            if cuts and (part.section.cuts or not part.entries):
                self._take_cut(part, last, room)
                cuts -= 1

    def _dearest(self) -> Chosen | None:
        """The part that gives something up next; one that has more than it keeps comes first."""
        parts = [self._parts[name] for name in GIVEN_UP if self._parts[name].entries]
        more = (part for part in parts if len(part.entries) > (part.section.name in KEPT))
        return next(more, next(iter(parts), None))

    def top_up(self, limit: int) -> None:
        """Fill a gap that is left: with what fits, then with the beginning of what does not."""
        for fill in (self._take, self._take_next_cut):
            for name in SPARE:
                gap = limit - self.measure() + self._prices.line_end
                for tries in range(CUTS):
                    if gap <= (1 - ENOUGH) * limit:
                        break
                    excess = self._excess(self._parts[name], fill, gap, limit)
                    if excess <= 0:
                        break
                    gap = gap - excess if tries < EXACT else (gap - excess) * 3 // 4

    def _excess(
        self, part: Chosen, fill: Callable[[Chosen, int], None], gap: int, limit: int
    ) -> int:
        """By how much filling a part went beyond the limit; if it did, all is as it was before."""
        before = [(one, dict(one.entries)) for one in self.parts]
        fill(part, part.cost + gap)
        excess = self.measure() - limit
        if excess > 0:
            self._restore([(one, held) for one, held in before if one.entries != held])
        return excess

    def _restore(self, before: Sequence[tuple[Chosen, Mapping[str, PromptEntry]]]) -> None:
        for part, _ in before:
            while part.entries:
                self._drop_last(part)
        for part, held in before:
            for entry in held.values():
                self._add(part, entry)

    def _take_next_cut(self, part: Chosen, room: int) -> None:
        left = self.left_out(part.section.name)
        if left:
            self._take_cut(part, left[0], room)

    # -- one entry at a time

    def _take(self, part: Chosen, room: int) -> None:
        if part.section.run and part.entries and not next(reversed(part.entries.values())).whole:
            self._drop_last(part)
        for entry in part.section.entries:
            if room - part.cost < max(CRUMB, room // 100):
                return
            if self._has(part, entry) or self._fitted(part, entry, room):
                continue
            if part.section.run:
                if part.section.cuts or not part.entries:
                    self._take_cut(part, entry, room)
                return
        if not part.entries:
            self._take_next_cut(part, room)

    def _has(self, part: Chosen, entry: PromptEntry) -> bool:
        if part.section.run or entry.id in part.entries:
            return entry.id in part.entries
        return (entry.memory and entry.id in self._holders) or (
            entry.same_as != "" and self._gists[entry.same_as] > 0
        )

    def _fitted(self, part: Chosen, entry: PromptEntry, room: int) -> bool:
        together = [entry, *(other for other in entry.along if not self._has(part, other))]
        for wanted in (together, [entry]):
            if part.cost + part.added(wanted) <= room:
                for one in wanted:
                    self._add(part, one)
                return True
        return False

    def _take_cut(self, part: Chosen, entry: PromptEntry, room: int) -> None:
        """Take as much of the entry's beginning as the room holds."""
        least, most = 0, len(entry.body)
        best: PromptEntry | None = None
        while least < most:
            middle = (least + most + 1) // 2
            cut = entry.cut(middle)
            if cut is not None and part.cost + part.added([cut]) > room:
                most = middle - 1
            else:
                least, best = middle, cut
        if best is not None:
            self._add(part, best)

    def _add(self, part: Chosen, entry: PromptEntry) -> None:
        if entry.memory:
            if (other := self._holders.get(entry.id)) is not None:
                self._drop(other, entry.id)
            self._holders[entry.id] = part
        part.add(entry)
        self._gists[entry.same_as] += 1

    def _drop_last(self, part: Chosen) -> PromptEntry:
        return self._drop(part, next(reversed(part.entries)))

    def _drop(self, part: Chosen, id: str) -> PromptEntry:
        entry = part.remove(id)
        self._gists[entry.same_as] -= 1
        if entry.memory:
            del self._holders[id]
        return entry


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


def _part(part: Chosen, draft: PromptDraft, prices: Prices) -> ContextPart:
    name, text = part.section.name, part.printed()
    printed = sorted(part.entries.values(), key=lambda entry: entry.place)
    return ContextPart(
        name=name,
        tokens=prices.count(text) if text else 0,
        share=SHARES[name],
        items=tuple(
            ContextItem(id=e.id, tokens=prices.of(e.text), why=e.why, at=e.at, source=e.source)
            for e in printed
        ),
        left_out=len(draft.left_out(name)),
        omitted=tuple(_omitted(part, draft, prices)),
    )


def _omitted(part: Chosen, draft: PromptDraft, prices: Prices) -> Iterator[ContextItem]:
    """What is not in, and why."""
    new = {entry.id for entry in draft.left_out(part.section.name)}
    for e in part.section.entries:
        if e.id not in part.entries:
            why = "did not fit" if e.id in new else "shown already"
            yield ContextItem(id=e.id, tokens=prices.of(e.text), why=why, at=e.at, source=e.source)
    for id, why in part.section.withheld.items():
        yield ContextItem(id=id, tokens=0, why=why)

"""Sections: the parts of a prompt, what of each is chosen, and how the budget is shared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from remanence.context.entry import PromptEntry
from remanence.errors import InvalidInput
from remanence.language.fences import Fence
from remanence.language.tokens import CountTokens
from remanence.memories.messages import CALL_ID, CALLS, calls_in
from remanence.model.context import ChatMessage

CORE, STATE, SUMMARY, FACTS, RECALLED, RECENT = (
    "core",
    "state",
    "summary",
    "facts",
    "recalled",
    "recent",
)
SHARES: Mapping[str, float] = {
    CORE: 0.20,
    STATE: 0.05,
    SUMMARY: 0.10,
    FACTS: 0.05,
    RECALLED: 0.35,
    RECENT: 0.25,
}
# What core blocks may take of a budget that is too small for all.
CORE_MOST = 0.75
# What the best memory may take before them.
RECALLED_LEAST = 0.2
# Who takes what is left, first come first.
SPARE = (RECALLED, RECENT, FACTS, SUMMARY, STATE, CORE)


def allotted(
    needs: Mapping[str, int], budget: int, least: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Tokens for each part, never more than it needs, together never more than the budget.

    Core blocks come whole if they take at most `CORE_MOST`, or if there is room for all. `least`
    comes before them and any share: of the recent turns what was asked, of memories the best.
    """
    given = _reserved(needs, budget, least or {})
    scale = min(1.0, (budget - given[CORE]) / ((1 - SHARES[CORE]) * budget))
    wanted = {
        name: max(0, min(needs.get(name, 0), int(share * scale * budget)) - given[name])
        for name, share in SHARES.items()
        if name != CORE
    }
    spare = budget - sum(given.values())
    fit = min(1.0, spare / max(sum(wanted.values()), 1))
    for name, more in wanted.items():
        given[name] += int(more * fit)
    spare = budget - sum(given.values())
    for name, more in _spread(needs, given, spare).items():
        given[name] += more
    spare = budget - sum(given.values())
    for name in SPARE:
        more = min(needs.get(name, 0) - given[name], spare)
        given[name] += more
        spare -= more
    return given


def _reserved(needs: Mapping[str, int], budget: int, least: Mapping[str, int]) -> dict[str, int]:
    """What comes before the shares: what was asked, the best memory, the core blocks."""
    rest = sum(needs.values()) - needs.get(CORE, 0)
    wanted = {
        RECENT: least.get(RECENT, 0),
        RECALLED: min(least.get(RECALLED, 0), int(RECALLED_LEAST * budget)),
        CORE: max(int(CORE_MOST * budget), budget - rest),
    }
    given = dict.fromkeys(SHARES, 0)
    for name, tokens in wanted.items():
        given[name] = min(tokens, needs.get(name, 0), budget - sum(given.values()))
    return given


def _spread(needs: Mapping[str, int], given: Mapping[str, int], spare: int) -> dict[str, int]:
    """The spare tokens between what is recalled and what was just said, as their shares are."""
    both = SHARES[RECALLED] + SHARES[RECENT]
    return {
        name: min(needs.get(name, 0) - given[name], int(spare * SHARES[name] / both))
        for name in (RECALLED, RECENT)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part: its fence, a note to the reader, its entries, the most valuable first.

    In a `run` the entries hang together: the first one that does not fit ends it, cut to the room
    that is left if `cuts`, or if there is nothing else. `withheld` are those that are not told, by
    id, and why.
    """

    name: str
    fence: Fence
    entries: tuple[PromptEntry, ...] = ()
    note: str = ""
    run: bool = False
    cuts: bool = False
    withheld: Mapping[str, str] = field(default_factory=dict)

    @property
    def marks(self) -> tuple[str, ...]:
        """The lines that it takes beside its entries and their headings."""
        fence = (f"<{self.fence}>", f"</{self.fence}>")
        return (*fence, self.note) if self.note else fence

    def printed(self, chosen: Iterable[PromptEntry]) -> str:
        """The chosen entries in their places between the marks; nothing if none was chosen.

        Entries are disarmed when they are made, so that their own tags stay.
        """
        lines: list[str] = []
        heading = ""
        for entry in sorted(chosen, key=lambda entry: entry.place):
            if entry.heading != heading:
                heading = entry.heading
                lines.append(heading)
            lines.append(entry.text)
        if not lines:
            return ""
        opening, closing, *note = self.marks
        return "\n".join([opening, *note, *lines, closing])


# Characters of a first entry that it has even where its part has less room than they take.
FEWEST = 80


class Prices:
    """What texts and lines cost by the counter, each counted once."""

    def __init__(self, count: CountTokens) -> None:
        if not callable(count):
            raise InvalidInput("tokens must be a function that gives the tokens of a text.")
        self._count = count
        self._counted: dict[str, int] = {}
        self._lines: dict[str, int] = {}

    def count(self, text: str) -> int:
        """The tokens of a text, as the counter says."""
        tokens = self._counted.get(text)
        if tokens is None:
            tokens = self._counted[text] = self._checked(self._count(text))
        return tokens

    @cached_property
    def line_end(self) -> int:
        """What the end of a line takes; a text has none after its last line."""
        return max(self.count("a\n") - self.count("a"), 0)

    def of(self, line: str) -> int:
        """The tokens of a line with its end."""
        known = self._lines.get(line)
        if known is None:
            known = self._lines[line] = self._checked(self._count(line + "\n"))
        return known

    def together(self, lines: Iterable[str]) -> int:
        """The tokens of several lines."""
        return sum(map(self.of, lines))

    @staticmethod
    def _checked(tokens: int) -> int:
        if not isinstance(tokens, int) or tokens < 0:
            raise InvalidInput(f"tokens must give whole numbers from 0 on, not {tokens!r:.40}.")
        return tokens


class Chosen:
    """The entries of one section that are in, in the order in which they were taken."""

    def __init__(self, section: Section, prices: Prices) -> None:
        self.section = section
        self.entries: dict[str, PromptEntry] = {}
        self.cost = 0
        self._prices = prices
        self._headings: Counter[str] = Counter()
        self._printed: str | None = None

    def need(self, most: int) -> int:
        """What the whole section would cost; counting stops when it is more than `most`."""
        if not self.section.entries:
            return 0
        total, headings = self._prices.together(self.section.marks), {""}
        for entry in self.section.entries:
            for one in (entry, *entry.along):
                total += self._prices.of(one.text)
                total += 0 if one.heading in headings else self._prices.of(one.heading)
                headings.add(one.heading)
            if total > most:
                break
        return total

    def least(self, room: int) -> int:
        """What the first entry takes; where that is more than the room, of a long one the room."""
        if not self.section.entries:
            return 0
        first = self.section.entries[0]
        short = first.cut(FEWEST) or first
        return min(self.added([first]), max(room, self.added([short])))

    def added(self, entries: Sequence[PromptEntry]) -> int:
        """What taking these would cost: their lines, new headings, the marks if it is the first."""
        new = {e.heading for e in entries if e.heading and not self._headings[e.heading]}
        lines = [*(entry.text for entry in entries), *new]
        return self._prices.together(lines if self.entries else [*lines, *self.section.marks])

    def add(self, entry: PromptEntry) -> None:
        """Take an entry."""
        self.cost += self.added([entry])
        self.entries[entry.id] = entry
        self._headings[entry.heading] += 1
        self._printed = None

    def remove(self, id: str) -> PromptEntry:
        """Give an entry back."""
        entry = self.entries.pop(id)
        self._headings[entry.heading] -= 1
        self.cost -= self.added([entry])
        self._printed = None
        return entry

    def printed(self) -> str:
        """The section's text."""
        if self._printed is None:
            self._printed = self.section.printed(self.entries.values())
        return self._printed


def text_of(parts: Iterable[Chosen]) -> str:
    """All sections as one text."""
    return "\n".join(text for part in parts if (text := part.printed()))


def messages_of(parts: Iterable[Chosen]) -> tuple[ChatMessage, ...]:
    """All sections as chat: what is known in a system message, then the turns themselves.

    A tool's answer whose call did not fit is left out, because no chat API takes it.
    """
    parts = list(parts)
    system = text_of(part for part in parts if part.section.name != RECENT)
    said = [
        entry.said
        for part in parts
        for entry in sorted(part.entries.values(), key=lambda entry: entry.place)
        if entry.said is not None
    ]
    known = {call.get("id") for message in said for call in calls_in(message.get(CALLS))}
    heard = [message for message in said if message.get(CALL_ID) in {None, *known}]
    return ({"role": "system", "content": system}, *heard) if system else tuple(heard)


def words_of(message: ChatMessage) -> str:
    """All that a message says: its content and its tool calls."""
    content, calls = message.get("content") or "", message.get(CALLS)
    return content + json.dumps(calls, ensure_ascii=False) if calls else content

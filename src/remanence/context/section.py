"""Sections: the parts of a prompt before the choice of what goes in, and their printed form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from remanence.context.entry import Entry
from remanence.text.fences import Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part: its fence, a note to the reader, its entries, the most valuable first.

    In a `run` the entries hang together: the first one that does not fit ends it, cut to the room
    that is left if `cuts`, or if there is nothing else.
    """

    name: str
    fence: Fence
    entries: tuple[Entry, ...] = ()
    note: str = ""
    run: bool = False
    cuts: bool = False

    @property
    def marks(self) -> tuple[str, ...]:
        """The lines that it takes beside its entries and their headings."""
        fence = (f"<{self.fence}>", f"</{self.fence}>")
        return (*fence, self.note) if self.note else fence

    def printed(self, chosen: Iterable[Entry]) -> str:
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

"""What a rule is given and gives back when tokens are read as time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from remanence.text.date_tokens import Token
from remanence.text.timerange import TimeRange


@dataclass(frozen=True, slots=True)
class Reading:
    """A time read from tokens; `cycle` is what was left out and guessed ("year", "week")."""

    range: TimeRange
    certainty: float
    cycle: str = ""


class Node(NamedTuple):
    """A token with what it has been read as, if anything."""

    token: Token
    reading: Reading | None = None

    @property
    def number(self) -> int:
        """Its value where that is a number, else 0."""
        value = self.token.value
        return int(value) if isinstance(value, int | float) else 0


@dataclass(frozen=True, slots=True)
class Clock:
    """What an unfinished date is completed from."""

    now: datetime
    past: bool
    day_first: bool


class Words:
    """The nodes one pattern matched, asked for by kind."""

    def __init__(self, nodes: Sequence[Node], clock: Clock) -> None:
        self.clock = clock
        self.now = clock.now
        self.kinds = "".join(node.token.kind for node in nodes)
        self._nodes = nodes

    def all(self, kinds: str) -> list[Node]:
        """The nodes of these kinds."""
        return [node for node in self._nodes if node.token.kind in kinds]

    def first(self, kinds: str) -> Node | None:
        """The first node of these kinds."""
        return next(iter(self.all(kinds)), None)

    def number(self, kinds: str) -> int:
        """The number of the first node of these kinds; 0 without one."""
        found = self.first(kinds)
        return 0 if found is None else found.number

    def text(self, kinds: str) -> str:
        """The value of the first node of these kinds as text; empty without one."""
        found = self.first(kinds)
        return "" if found is None else str(found.token.value)

    def ranges(self) -> list[Reading]:
        """What earlier passes have read."""
        return [node.reading for node in self._nodes if node.reading is not None]

    def turn(self) -> float:
        """Below 0 for last, 0 for this, above for next."""
        found = self.first("Ll")
        value = found.token.value if found else 0
        return value if isinstance(value, int | float) else 0

    def amount(self) -> tuple[float, float]:
        """How many units, at least and at most."""
        low, high = float("inf"), 0.0
        for node in self.all("nNaf"):
            value = node.token.value
            least, most = value if isinstance(value, tuple) else (float(value), float(value))
            low, high = min(low, least), max(high, most)
        half = 0.5 if self.first("h") else 0.0
        return min(low, 1000.0) + half, min(high, 1000.0) + half


Rule = Callable[[Words], Reading | None]

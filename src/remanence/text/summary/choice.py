"""Which clauses a summary is made of: the most that is new for each character."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

# Added to a clause's length: without it, scraps of three words win over what can be understood.
SHORT = 40
_LEAST_GAIN = 0.35
_DAY_LINE = len("2023-05-08\n")
_BETWEEN = len("; ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A run of clauses of one sentence: where it stands, what it says and what that carries."""

    place: int
    sentence: int
    clauses: tuple[int, int]
    speaker: str
    day: date | None
    text: str
    carriers: Mapping[str, float]
    factor: float

    def worth(self, covered: frozenset[str] | set[str] = frozenset()) -> float:
        """What it would add for each character, given what is covered; 0 if too little."""
        new = sum(weight for key, weight in self.carriers.items() if key not in covered)
        gain = new * self.factor
        return gain / (len(self.text) + SHORT) if gain >= _LEAST_GAIN else 0.0

    def parts(self) -> set[tuple[int, int]]:
        """The clauses it is made of."""
        first, last = self.clauses
        return {(self.sentence, number) for number in range(first, last + 1)}


def choose(candidates: Sequence[Candidate], characters: int, days: bool) -> list[Candidate]:
    """The candidates of a summary in their order; written out, they fit into `characters`.

    Greedy. What a candidate adds only falls as others are taken, so it is looked at again only
    when it comes up.
    """
    chosen = _Chosen(left=characters, days=days)
    heap = [(-candidate.worth(), number) for number, candidate in enumerate(candidates)]
    heapq.heapify(heap)
    while heap:
        before, number = heapq.heappop(heap)
        worth = candidates[number].worth(chosen.covered)
        if worth <= 0:
            continue
        if -worth > before:
            heapq.heappush(heap, (-worth, number))
        elif chosen.fits(candidates[number]):
            chosen.take(number, candidates[number])
    return [candidates[number] for number in sorted(chosen.picked)]


@dataclass(slots=True, kw_only=True)
class _Chosen:
    left: int
    days: bool
    picked: list[int] = field(default_factory=list)
    covered: set[str] = field(default_factory=set)
    lines: set[tuple[date | None, str]] = field(default_factory=set)
    headed: set[date | None] = field(default_factory=lambda: {None})
    taken: set[tuple[int, int]] = field(default_factory=set)

    def fits(self, candidate: Candidate) -> bool:
        return self._cost(candidate) <= self.left and self.taken.isdisjoint(candidate.parts())

    def take(self, number: int, candidate: Candidate) -> None:
        self.left -= self._cost(candidate)
        self.picked.append(number)
        self.covered.update(candidate.carriers)
        self.lines.add((candidate.day, candidate.speaker))
        self.headed.add(candidate.day)
        self.taken |= candidate.parts()

    def _cost(self, candidate: Candidate) -> int:
        """A line "Ana: a; b." and its end take what its label and its clauses cost, no more."""
        cost = len(candidate.text) + _BETWEEN
        if (candidate.day, candidate.speaker) not in self.lines:
            cost += len(candidate.speaker) + len(": ")
        return cost + (_DAY_LINE if self.days and candidate.day not in self.headed else 0)

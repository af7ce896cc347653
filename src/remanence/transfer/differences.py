"""What is not alike in two stores, told without holding all of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SHOWN = 10


class Why(StrEnum):
    """In what way the target is not as the source."""

    MISSING = "missing"
    DIFFERS = "differs"
    CHANGED = "changed in the target"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not alike in both; `id` is its own, a memory's or a document's name."""

    tenant: str
    what: str  # memory, link, feedback, entity, claim, mention or document
    id: str
    why: Why


@dataclass(frozen=True, slots=True)
class Differences:
    """How many there are, and the first of them."""

    count: int = 0
    first: tuple[Difference, ...] = ()

    def with_one(self, more: Difference) -> Differences:
        """These and one more."""
        return self.with_all(Differences(1, (more,)))

    def with_all(self, more: Differences) -> Differences:
        """These and others."""
        return Differences(self.count + more.count, (*self.first, *more.first)[:SHOWN])

"""How often something was said: each memory once, and once for each that was merged into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from remanence.model.memory import MemoryRecord
from remanence.ports.store import Store
from remanence.sleep.merging.deeds import MERGED, MERGED_INTO


@dataclass(frozen=True, slots=True)
class Occasions:
    """The days and conversations in which something was said, one entry for each time."""

    days: tuple[date, ...]
    sessions: tuple[str | None, ...]

    @property
    def often(self) -> str:
        """How many times, on how many days or in how many conversations."""
        sessions = set(self.sessions)
        if None in sessions or len(sessions) < 2:
            where = f"on {len(set(self.days))} days"
        else:
            where = f"in {len(sessions)} conversations"
        return f"{len(self.days)} times {where}"

    @property
    def span(self) -> str:
        """From the day of the first to that of the last."""
        return f"from {written(min(self.days))} to {written(max(self.days))}"

    def of_month(self, month: str) -> Occasions:
        """Those of one month, such as 2024-05."""
        kept = [
            (day, session)
            for day, session in zip(self.days, self.sessions, strict=True)
            if f"{day:%Y-%m}" == month
        ]
        return Occasions(tuple(day for day, _ in kept), tuple(session for _, session in kept))


def occasions(store: Store, sources: Sequence[MemoryRecord]) -> Occasions:
    """When the sources were said, and whatever was merged into them."""
    known = {one.id: one for one in sources}
    frontier = [one for one in sources if MERGED in one.metadata]
    while frontier:
        tenant = frontier[0].tenant
        found = store.pointing(tenant, [one.id for one in frontier], MERGED_INTO)
        frontier = store.get(tenant, [id for id in found if id not in known])
        known |= {one.id: one for one in frontier}
    return Occasions(
        tuple(one.happened_at.date() for one in known.values()),
        tuple(one.session_id for one in known.values()),
    )


def written(day: date) -> str:
    """A date as people write it: 3 May 2024."""
    return f"{day.day} {day:%B %Y}"

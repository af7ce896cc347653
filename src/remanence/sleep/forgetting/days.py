"""Days that count: those of the calendar, or those on which a memory's owner wrote anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.model.filter import Compare, Not
from remanence.model.origins import ORIGIN as SUMMARY
from remanence.model.sleep import ForgetPolicy
from remanence.ports.store import RecallSource

Days: TypeAlias = Callable[[datetime, datetime], float]

DERIVED = Compare("origin", "in", (SUMMARY, "sleep"), field=True)
_DAY = 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def calendar_days(start: datetime, end: datetime) -> float:
    """Days from one moment to another, with fractions; below 0 if the end comes first."""
    return (end - start).total_seconds() / _DAY


class ActiveDays:
    """Counts only given days (since 1970, UTC): those after the day of `start`, up to `end`'s."""

    def __init__(self, days: Iterable[int]) -> None:
        self._days: NDArray[np.int64] = np.unique(np.fromiter(days, np.int64))

    def __call__(self, start: datetime, end: datetime) -> float:
        """How many of them lie between; 0 if the end comes first."""
        bounds = [_day_of(start), _day_of(end)]
        first, last = np.searchsorted(self._days, bounds, side="right")
        return float(max(0, last - first))


def days_for(store: RecallSource, partition: int, policy: ForgetPolicy) -> Days:
    """How days count for the memories of a partition; what was derived here is nobody's writing."""
    if not policy.active_days:
        return calendar_days
    written = store.keys(partition, Not(DERIVED))
    traits = store.traits(partition, [int(key) for key in written])
    return ActiveDays(trait.created // (_DAY * 1_000_000) for trait in traits)


def _day_of(moment: datetime) -> int:
    return (moment - _EPOCH).days

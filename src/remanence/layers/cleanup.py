"""Cleaning up: which memories are old and slight enough to be archived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from remanence.errors import InvalidInput
from remanence.model.filter import ACTIVE, Both, Compare, Filter, Not
from remanence.model.memory import MemoryRecord, unit_interval
from remanence.model.validation import ORIGINS, STATED

# A clock this far past the last write is more likely wrong than the memory idle.
DOUBTFUL = timedelta(days=366)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """What a cleanup archived, or would archive (`dry_run`)."""

    dry_run: bool
    memories: tuple[MemoryRecord, ...]

    @property
    def count(self) -> int:
        """How many memories it concerns."""
        return len(self.memories)


def cleanup_filter(before: datetime, min_importance: float) -> Filter:
    """Active, unpinned, older than `before` and below `min_importance`.

    Not what the user stated, and nothing that was made here of other memories: it tells of what
    else is archived, so it is what is left of it.
    """
    return Both(
        (
            Not(Compare("origin", "in", ORIGINS, field=True)),
            Not(Compare("source", "eq", STATED, field=True)),
            ACTIVE,
            Compare("pinned", "eq", False, field=True),
            Compare("happened_at", "lt", before, field=True),
            Compare("created_at", "lt", before, field=True),
            Compare(
                "importance", "lt", unit_interval("min_importance", min_importance), field=True
            ),
        )
    )


def days_before(moment: datetime, days: float) -> datetime:
    """The moment so many days earlier; not before the year 1."""
    if isinstance(days, bool) or not isinstance(days, int | float) or not days >= 0:
        raise InvalidInput(f"max_age_days must be a number of days, 0 or more; got {days!r}.")
    try:
        return moment - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=moment.tzinfo)


def believed(now: datetime, written: Callable[[Filter], int]) -> datetime:
    """`now`, unless what was written when makes a jump of the clock likelier.

    A store with memories of more than a year ago must also have some of the last year and some of
    the year before it; `written` counts memories.
    """
    year, two_years = (days_before(now, n * DOUBTFUL.days) for n in (1, 2))
    if not written(_created("lt", year)):
        return now
    for since, until in ((year, now), (two_years, year)):
        if not written(Both((_created("gte", since), _created("lte", until)))):
            raise InvalidInput(
                f"The clock says {now:%Y-%m-%d}, but nothing was written from {since:%Y-%m-%d} to "
                f"{until:%Y-%m-%d}: it may be wrong. If it is right, say so by giving now."
            )
    return now


def _created(operator: str, moment: datetime) -> Filter:
    return Compare("created_at", operator, moment, field=True)

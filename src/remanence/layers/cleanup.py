"""Cleaning up: which memories are old and slight enough to be archived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from remanence.errors import InvalidInput
from remanence.model.filter import Both, Compare, Filter
from remanence.model.memory import MemoryRecord, State, unit_interval

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
    """Active, unpinned, older than `before` and below `min_importance`."""
    return Both(
        (
            Compare("state", "eq", State.ACTIVE, field=True),
            Compare("pinned", "eq", False, field=True),
            Compare("happened_at", "lt", before, field=True),
            Compare("created_at", "lt", before, field=True),
            Compare("importance", "lt", unit_interval("min_importance", min_importance), field=True),
        )
    )


def believed(now: datetime, newest: Sequence[MemoryRecord]) -> datetime:
    """`now`, unless the clock stands so far past the newest memory that a jump is likelier."""
    if newest and now - newest[0].created_at > DOUBTFUL:
        raise InvalidInput(
            f"The clock says {now:%Y-%m-%d}, and nothing was written since "
            f"{newest[0].created_at:%Y-%m-%d}. If that is right, pass now= to say so."
        )
    return now

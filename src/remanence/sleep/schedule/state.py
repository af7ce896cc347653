"""How a schedule stands, as callers see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remanence.sleep.schedule.plans import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState:
    """A schedule and how it stands: moments up to `served` are done with, `owner` is at it now.

    `error` is of its last run; `again_at` is when a failed one is tried again.
    """

    schedule: Schedule
    next_due: datetime | None
    served: datetime | None = None
    ended_at: datetime | None = None
    error: str | None = None
    again_at: datetime | None = None
    owner: str | None = None
    until: datetime | None = None

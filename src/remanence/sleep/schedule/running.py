"""Sleep as a worker drives it: one step at a time, and what was done already for a moment."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from remanence.model.sleep import Run, Status, Step
from remanence.ports.store import Progress

LOOKED_AT = 200
_OVER = (Status.COMPLETED, Status.CANCELLED, Status.UNDONE)


class Sleeper(Protocol):
    """The part of `Sleep` that a schedule needs."""

    def run(
        self,
        steps: Sequence[str] | str | None = None,
        *,
        schedule: str | None = None,
        progress: Progress | None = None,
    ) -> Sequence[Run]:
        """Do the steps; see `Sleep.run`."""

    def log(self, *, limit: int = 50) -> Sequence[Run]:
        """The runs that are kept, the newest first; see `Sleep.log`."""


class SleepRunner:
    """Runs the steps of schedules with a tenant's `Sleep`.

    `leave_out` are steps that this memory does not do, such as erasing without a policy for it.
    """

    def __init__(self, sleep: Sleeper, leave_out: Collection[Step] = ()) -> None:
        self._sleep = sleep
        self._leave_out = leave_out

    def run(self, step: Step, schedule: str, progress: Progress) -> Run | None:
        """Do one step, after what was cut off of it before; None if it is left out."""
        if step in self._leave_out:
            return None
        return self._sleep.run([step], schedule=schedule, progress=progress)[-1]

    def done(self, schedule: str, since: datetime) -> Collection[Step]:
        """Steps of which a run for that schedule was begun at `since` or later and is over."""
        return {
            run.step
            for run in self._sleep.log(limit=LOOKED_AT)
            if run.schedule == schedule and run.started_at >= since and run.status in _OVER
        }

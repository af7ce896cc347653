"""Schedules of one tenant: seen, set, removed, reset; and how one stands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from remanence.consolidation.leases import is_looked_after
from remanence.consolidation.schedules.claims import (
    Claims,
    ScheduleEntry,
    address_of,
    jitter_of,
    next_due,
)
from remanence.consolidation.schedules.plans import COUNTED, DEFAULTS, SETTABLE, Schedule
from remanence.consolidation.steps import steps_of
from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.clock import Clock
from remanence.model.document import Discard
from remanence.model.ports.store import Store
from remanence.model.scope import check_name
from remanence.model.sleep import Step

_RACES = 20
_OFF = "It is switched off: set `enabled`."
_NOBODY = (
    "Nobody runs the schedules of this memory: start `rem serve` or `rem worker` on its database, "
    "or open it with `background=True`."
)
_NOTHING = (
    "The policy erases nothing, so there is nothing for it to do: set `erase_after_days`, or give "
    "it other steps."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState:
    """A schedule and how it stands: moments up to `served` are done with, `owner` is at it now.

    `error` is of its last run; `again_at` is when a failed one is tried again. `obstacle` says why
    it will not run by itself, if that can be seen.
    """

    schedule: Schedule
    next_due: datetime | None
    obstacle: str | None = None
    served: datetime | None = None
    ended_at: datetime | None = None
    error: str | None = None
    again_at: datetime | None = None
    owner: str | None = None
    until: datetime | None = None


class Schedules:
    """When a tenant's memory sleeps: `hourly`, `daily`, `weekly`, and what else was set.

    `leave_out` are steps that it does not do; `changed` hears of every change.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        clock: Clock,
        *,
        leave_out: Collection[Step] = (),
        changed: Callable[[], None] | None = None,
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._leave_out = leave_out
        self._changed = changed or (lambda: None)
        self._claims = Claims(store.documents, tenant, clock, "")

    def list(self) -> Sequence[ScheduleState]:
        """Every schedule, those switched off too; the defaults first, then by name."""
        entries = self._claims.entries()
        own = sorted(name for name in entries if name not in DEFAULTS)
        there = self._looked_after()
        found = (self._standing(name, entries.get(name), there) for name in (*DEFAULTS, *own))
        return [one for one in found if one is not None]

    def get(self, name: str) -> ScheduleState:
        """One schedule; `NotFound` if there is none of that name."""
        self._check(name)
        found = self._standing(name, self._claims.entry(name), self._looked_after())
        if found is None:
            raise NotFound(
                f"There is no schedule {name!r}; `schedules.list()` names those there are."
            )
        return found

    def set(
        self,
        name: str,
        *,
        cron: str | None = None,
        steps: Sequence[str] | str | None = None,
        enabled: bool | None = None,
        zone: str | None = None,
        after_new: int | None = None,
        after_messages: int | None = None,
        idle_s: float | None = None,
        jitter_s: float | None = None,
    ) -> ScheduleState:
        """Change a schedule, or make one (then with `cron` and `steps`); the rest stays as it is.

        An `after_new` or `after_messages` of 0 takes that away. What was due under the former cron
        is not made up for; a run under way goes on. One that has nothing to do is refused; the
        answer's `obstacle` says so where nobody runs it.
        """
        given = {n: v for n, v in locals().items() if n in SETTABLE and v is not None}
        self._check(name)
        changes: dict[str, Any] = {
            n: None if n in COUNTED and v == 0 else v for n, v in given.items()
        }
        if steps:
            changes["steps"] = steps_of(steps)
        else:
            changes.pop("steps", None)

        def change(entry: ScheduleEntry) -> ScheduleEntry:
            plan = _plan(entry)
            new = _made(name, changes) if plan is None else replace(plan, **changes)
            if set(new.steps) <= set(self._leave_out):
                raise InvalidInput(_NOTHING)
            moved = (
                plan is None or not plan.enabled or (plan.cron, plan.zone) != (new.cron, new.zone)
            )
            since = self._clock.now() if moved else entry.since
            return replace(entry, plan=new, removed=False, since=max(since, entry.since))

        self._change(name, change)
        return self.get(name)

    def remove(self, name: str) -> None:
        """Take a schedule away; a default one comes back with `reset`."""
        self.get(name)
        if name not in DEFAULTS:
            self._store.documents.put(self._tenant, [Discard(address=address_of(name))])
            return
        self._change(name, lambda entry: replace(entry, plan=None, removed=True, turn=None))

    def reset(self) -> Sequence[ScheduleState]:
        """Back to the default schedules, beginning now; others are removed."""
        known = [address_of(name) for name in self._claims.entries()]
        self._store.documents.put(self._tenant, [Discard(address=address) for address in known])
        for name in DEFAULTS:
            self._claims.enter(name)
        self._changed()
        return self.list()

    def _check(self, name: str) -> None:
        if name is None:
            raise InvalidInput("A schedule needs a name.")
        check_name("name", name)

    def _looked_after(self) -> bool:
        return is_looked_after(self._store.documents, self._tenant, self._clock.now())

    def _standing(
        self, name: str, entry: ScheduleEntry | None, there: bool
    ) -> ScheduleState | None:
        now = self._clock.now()
        entry = ScheduleEntry(name=name, since=now) if entry is None else entry.righted(now)
        plan = _plan(entry)
        if plan is None:
            return None
        jitter = jitter_of(plan, self._store.upkeep.identity, self._tenant)
        held = entry.turn if entry.held(now) else None
        return ScheduleState(
            schedule=plan,
            next_due=next_due(plan, entry, now, jitter),
            obstacle=_obstacle(plan, there or held is not None),
            served=entry.served,
            ended_at=entry.ended_at,
            error=entry.error,
            again_at=entry.again_at,
            owner=None if held is None else held.owner,
            until=None if held is None else held.until,
        )

    def _change(self, name: str, change: Callable[[ScheduleEntry], ScheduleEntry]) -> None:
        for _ in range(_RACES):
            entry = self._claims.entry(name) or ScheduleEntry(name=name, since=self._clock.now())
            if self._claims.put(change(entry)) is not None:
                self._changed()
                return
        raise Conflict(f"The schedule {name!r} is being changed by others; try again.")


def _plan(entry: ScheduleEntry) -> Schedule | None:
    return None if entry.removed else entry.plan or DEFAULTS.get(entry.name)


def _obstacle(plan: Schedule, looked_after: bool) -> str | None:
    if not plan.enabled:
        return _OFF
    return None if looked_after else _NOBODY


def _made(name: str, changes: dict[str, Any]) -> Schedule:
    if lacking := {"cron", "steps"} - changes.keys():
        raise InvalidInput(f"A new schedule needs {' and '.join(sorted(lacking))}.")
    return Schedule(name=name, **changes)

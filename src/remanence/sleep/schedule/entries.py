"""What a schedule's document says: its plan where that was set, how it stands, who is at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from remanence.model.document import Address, Shelf
from remanence.sleep.leases import Lease, lease_of, lease_to_value
from remanence.sleep.schedule.plans import Schedule, plan_of, plan_to_value

FAR = timedelta(days=1)

_TIMES = ("since", "served", "ended_at", "again_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Who serves which due moment.

    `began` is when that moment was first claimed, by whomever: what completed since then for this
    schedule need not be done again.
    """

    lease: Lease
    due: datetime
    began: datetime
    cause: str = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """How a schedule stands. All moments up to `served` are done with; before `since` none count.

    `plan` is None where the default holds. `tries` counts failures of the moment in the turn, and
    `again_at` is when to try once more. `error` is of the last run, None if that was well.
    """

    name: str
    since: datetime
    plan: Schedule | None = None
    removed: bool = False
    served: datetime | None = None
    ended_at: datetime | None = None
    turn: Turn | None = None
    tries: int = 0
    again_at: datetime | None = None
    error: str | None = None
    version: int = 0

    @property
    def done_until(self) -> datetime:
        """Moments after this one are still to be served."""
        return self.since if self.served is None else max(self.since, self.served)

    def held(self, now: datetime) -> bool:
        """Whether somebody is at it."""
        return self.turn is not None and self.turn.lease.held(now)

    def righted(self, now: datetime) -> Entry:
        """The same without times that lie ahead, which only a clock that was wrong can have given.

        They would keep the schedule waiting until then.
        """
        ahead: dict[str, Any] = {
            n: now for n in _TIMES if (at := getattr(self, n)) and at > now + FAR
        }
        return replace(self, **ahead)


def address_of(name: str) -> Address:
    """Where a schedule's document stands."""
    return Address(shelf=Shelf.SCHEDULE, name=name)


def entry_to_value(entry: Entry) -> dict[str, Any]:
    """An entry as JSON."""
    turn = entry.turn
    return {
        "plan": None if entry.plan is None else plan_to_value(entry.plan),
        "removed": entry.removed,
        "tries": entry.tries,
        "error": entry.error,
        "lease": None
        if turn is None
        else {
            **lease_to_value(turn.lease),
            "cause": turn.cause,
            **{n: getattr(turn, n).isoformat() for n in ("due", "began")},
        },
        **{n: _written(getattr(entry, n)) for n in _TIMES},
    }


def entry_of(name: str, value: Mapping[str, Any], version: int) -> Entry:
    """The entry that `entry_to_value` wrote."""
    turn, plan = value.get("lease"), value.get("plan")
    return Entry(
        name=name,
        version=version,
        plan=None if plan is None else plan_of(name, plan),
        removed=bool(value.get("removed")),
        tries=int(value.get("tries", 0)),
        error=value.get("error"),
        turn=None if turn is None else _turn(turn),
        **{n: _read(value[n]) for n in _TIMES if value.get(n) is not None},
    )


def _turn(value: Mapping[str, Any]) -> Turn:
    times = {n: _read(value[n]) for n in ("due", "began")}
    return Turn(lease=lease_of(value), cause=value.get("cause", "time"), **times)


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _read(text: str) -> datetime:
    return datetime.fromisoformat(text)

"""Schedules as people set them: when, which steps, and what else may start them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.accept import several, truth_of
from remanence.model.scope import check_name
from remanence.model.sleep import CONSOLIDATE, Step
from remanence.sleep.schedule.cron import Cron


def _check_count(what: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{what} must be a whole number from 1, or None; got {value!r}.")


def _check_seconds(what: str, value: object) -> None:
    if value is None and what == "idle_s":
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_S:
        raise InvalidInput(f"{what} must be 0 to {_MOST_S} seconds; got {value!r:.40}.")


COUNTED = ("after_new", "after_messages")
_MOST_S = 366 * 86_400


@lru_cache(maxsize=256)
def _cron(expression: str, zone: str) -> Cron:
    return Cron(expression, zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Steps that run when `cron` says so in `zone`, or after so many new memories or messages.

    A run waits until nobody has used the memory for `idle_s` (the worker's, if None), though never
    longer than until the next moment of `cron`. `jitter_s` spreads many stores over that time, each
    always by the same.
    """

    name: str
    cron: str
    steps: tuple[Step, ...]
    enabled: bool = True
    zone: str = "UTC"
    after_new: int | None = None
    after_messages: int | None = None
    idle_s: float | None = None
    jitter_s: float = 0.0

    def __post_init__(self) -> None:
        if self.name is None:
            raise InvalidInput("A schedule needs a name.")
        check_name("name", self.name)
        if not isinstance(self.zone, str) or not isinstance(self.cron, str):
            raise InvalidInput("cron and zone must be text, such as '30 3 * * *' and 'UTC'.")
        _cron(self.cron, self.zone)
        truth_of("enabled", self.enabled)
        if not self.steps or not all(isinstance(step, Step) for step in self.steps):
            raise InvalidInput(f"steps must be some of: {', '.join(Step)}; got {self.steps!r}.")
        for what in COUNTED:
            _check_count(what, getattr(self, what))
        for what in ("idle_s", "jitter_s"):
            _check_seconds(what, getattr(self, what))

    @property
    def moments(self) -> Cron:
        """When it is due by the clock."""
        return _cron(self.cron, self.zone)


DEFAULTS: Mapping[str, Schedule] = {
    one.name: one
    for one in (
        Schedule(
            name="hourly",
            cron="0 * * * *",
            steps=(Step.TALKS,),
            after_messages=1_000,
            jitter_s=60,
        ),
        Schedule(
            name="daily",
            cron="30 3 * * *",
            steps=(*CONSOLIDATE, Step.FORGET, Step.LEARN),
            after_new=100,
            jitter_s=600,
        ),
        Schedule(
            name="weekly",
            cron="0 4 * * 0",
            steps=(Step.COMPRESS, Step.ERASE, Step.UPKEEP),
            jitter_s=600,
        ),
    )
}
SETTABLE = tuple(each.name for each in fields(Schedule) if each.name != "name")


def steps_of(values: object) -> tuple[Step, ...]:
    """Steps by name, in the order of a night, each once; "consolidate" stands for three."""
    found: set[Step] = set()
    for value in [values] if isinstance(values, str) else several("steps", values):
        if value == "consolidate":
            found.update(CONSOLIDATE)
            continue
        try:
            found.add(Step(value))
        except ValueError:
            known = ", ".join((*Step, "consolidate"))
            raise InvalidInput(f"Unknown step {str(value)[:40]!r}; known: {known}.") from None
    return tuple(step for step in Step if step in found)


def plan_to_value(plan: Schedule) -> dict[str, Any]:
    """A plan as JSON, without its name."""
    return {name: _plain(getattr(plan, name)) for name in SETTABLE}


def plan_of(name: str, value: Mapping[str, Any]) -> Schedule:
    """The plan that `plan_to_value` wrote; what a newer version added is passed over."""
    given = {n: value[n] for n in SETTABLE if n in value}
    return Schedule(name=name, **given | {"steps": steps_of(list(given.get("steps", ())))})


def _plain(value: Any) -> Any:
    return [str(one) for one in value] if isinstance(value, tuple) else value

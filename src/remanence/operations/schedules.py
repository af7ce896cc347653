"""The verbs of schedules: when a memory sleeps by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from remanence.operations.layer_responses import Done
from remanence.operations.operation import Answer, Group, Scoping, given, of_layer
from remanence.operations.sleep import STEPS
from remanence.operations.sleep_responses import Schedules
from remanence.sleep.schedule import ScheduleState


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """Nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One schedule."""

    name: str = given("hourly, daily, weekly, or one of your own", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Set(Named):
    """What to change of a schedule; what is left out stays."""

    cron: str | None = given("minute hour day month weekday, such as `30 3 * * *`")
    steps: tuple[str, ...] = given(STEPS, (), flag="--step")
    enabled: bool | None = given("whether it runs at all")
    zone: str | None = given("the time zone of cron, such as Europe/Lisbon")
    after_new: int | None = given("also after so many new memories; 0: not")
    after_messages: int | None = given("also after so many new messages; 0: not")
    idle_s: float | None = given("wait until nobody has used the memory for so many seconds")
    jitter_s: float | None = given("spread many stores over so many seconds")


_operation = partial(of_layer, group=Group.SLEEP, scope=Scoping.TENANT)


def _listed(found: list[ScheduleState]) -> Schedules:
    return Schedules(schedules=tuple(found))


SCHEDULES = (
    _operation(
        "schedules.list",
        "List schedules, with their next and last runs.",
        request=Nothing,
        response=Schedules,
        writes=False,
        wrap=_listed,
        listing="schedules",
    ),
    _operation(
        "schedules.get", "Show a schedule.", request=Named, response=ScheduleState, writes=False
    ),
    _operation(
        "schedules.set",
        "Change a schedule, or make a new one.",
        request=Set,
        response=ScheduleState,
        writes=True,
        answers=Answer.WRITTEN,
    ),
    _operation(
        "schedules.remove",
        "Take a schedule away.",
        request=Named,
        response=Done,
        writes=True,
        wrap=lambda _: Done(done=True),
        answers=Answer.FIGURES,
    ),
    _operation(
        "schedules.reset",
        "Go back to the default schedules.",
        request=Nothing,
        response=Schedules,
        writes=True,
        wrap=_listed,
        listing="schedules",
    ),
)

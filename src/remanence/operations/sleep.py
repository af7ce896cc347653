"""The verbs of sleep: a night planned, run, looked at and taken back; what would be forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence.model.sleep import Run, Step
from remanence.operations.layer_responses import Done
from remanence.operations.operation import (
    Answer,
    Group,
    Operation,
    Scoping,
    arguments,
    for_long,
    given,
    of_layer,
)
from remanence.operations.sleep_responses import Planned, Runs, Told, foreseen, shown_of, told
from remanence.sleep.forgetting import Forecast

if TYPE_CHECKING:
    from remanence.memory import Memory
    from remanence.ports.store import Progress

STEPS = "talks, merge, distil, reflect, forget, erase, compress, learn, upkeep, or consolidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asleep:
    """Which steps, and for whom."""

    steps: tuple[str, ...] = given(f"only these steps: {STEPS}", (), flag="--step")
    user_id: str | None = given("only this user's memories; everybody's when left out", short="-u")
    model: bool = given("let the language model help; what it says is checked", False)
    now: datetime | None = given("what age counts from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Which runs."""

    limit: int = given("so many at most", 50, short="-n")
    step: str | None = given("only runs of this step")
    status: str | None = given("running, completed, failed, cancelled or undone")


@dataclass(frozen=True, slots=True, kw_only=True)
class ById:
    """One run."""

    id: str = given("the run's id", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """Nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresee:
    """Whose memories, and how far ahead."""

    user_id: str | None = given("only this user's memories; everybody's when left out", short="-u")
    days: int = given("so many days ahead", 90)
    limit: int = given("so many memories in detail", 20, short="-n")
    now: datetime | None = given("what age counts from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Whose memories, and where the picture goes."""

    path: Path = given("a .svg or .png file", ..., positional=True)
    user_id: str | None = given("only this user's memories; everybody's when left out", short="-u")
    days: int = given("so many days ahead", 90)
    limit: int = given("so many memories", 8, short="-n")
    now: datetime | None = given("what age counts from")


def _plan(memory: Memory, request: Asleep, progress: Progress | None = None) -> Planned:
    plans = memory.sleep.plan(**_asked(request), progress=progress)
    ids = list(dict.fromkeys(id for plan in plans for id in shown_of(plan)))
    found = memory.parts.store.get(memory.tenant, ids)
    texts = {record.id: record.text for record in found}
    return Planned(plans=tuple(foreseen(plan, texts) for plan in plans))


def _show(memory: Memory, request: ById) -> Told:
    shown = memory.sleep.show(request.id)
    found = memory.parts.store.get(memory.tenant, [change.id for change in shown.changes])
    return told(shown, {record.id: record.text for record in found})


def _run(memory: Memory, request: Asleep, progress: Progress | None = None) -> Runs:
    return Runs(runs=tuple(memory.sleep.run(**_asked(request), progress=progress)))


def _erases(memory: Memory, request: Asleep) -> bool:
    """A whole night erases what rules archived long ago where the settings say so."""
    if request.steps:
        return Step.ERASE in request.steps
    return memory.settings.erase_after_days > 0


def _asked(request: Asleep) -> dict[str, Any]:
    return arguments(request) | {"steps": request.steps or None}


def _runs(found: list[Run]) -> Runs:
    return Runs(runs=tuple(found))


_operation = partial(of_layer, scope=Scoping.SCOPED, group=Group.SLEEP)

SLEEP = (
    Operation(
        name="sleep.run",
        summary="Sleep: consolidate, forget, compress, learn, tidy up. A run can be undone.",
        group=Group.SLEEP,
        request=Asleep,
        response=Runs,
        run=_run,
        writes=True,
        scope=Scoping.SCOPED,
        listing="runs",
        reports=True,
        answers=Answer.FIGURES,
        erases=_erases,
    ),
    Operation(
        name="sleep.plan",
        summary="Say what sleep would do, and change nothing.",
        group=Group.SLEEP,
        request=Asleep,
        response=Planned,
        run=_plan,
        writes=False,
        scope=Scoping.SCOPED,
        listing="plans",
        reports=True,
    ),
    _operation(
        "sleep.log",
        "List runs, the latest first.",
        request=Log,
        response=Runs,
        writes=False,
        wrap=_runs,
        scope=Scoping.TENANT,
        listing="runs",
        answers=Answer.FIGURES,
    ),
    Operation(
        name="sleep.show",
        summary="Show a run with all it changed.",
        group=Group.SLEEP,
        request=ById,
        response=Told,
        run=_show,
        writes=False,
        scope=Scoping.BY_ID,
        listing="changes",
    ),
    _operation(
        "sleep.undo",
        "Take a run back: what nobody has changed since is as it was.",
        request=ById,
        response=Run,
        writes=True,
        scope=Scoping.BY_ID,
        answers=Answer.FIGURES,
        lasts=for_long,
    ),
    _operation(
        "sleep.undo_night",
        "Take back the whole last night.",
        request=Nothing,
        response=Runs,
        writes=True,
        wrap=_runs,
        scope=Scoping.TENANT,
        listing="runs",
        answers=Answer.FIGURES,
        lasts=for_long,
    ),
    _operation(
        "sleep.cancel",
        "Stop a run before its next batch.",
        request=ById,
        response=Run,
        writes=True,
        scope=Scoping.BY_ID,
        answers=Answer.FIGURES,
    ),
    _operation(
        "sleep.resume",
        "Go on with runs that were cut off.",
        request=Nothing,
        response=Runs,
        writes=True,
        wrap=_runs,
        scope=Scoping.TENANT,
        listing="runs",
        answers=Answer.FIGURES,
        lasts=for_long,
    ),
    _operation(
        "sleep.forecast",
        "Say what would be forgotten, when and why.",
        request=Foresee,
        response=Forecast,
        writes=False,
    ),
    _operation(
        "sleep.plot",
        "Draw how the memories fade that would be forgotten first.",
        request=Plot,
        response=Done,
        writes=False,
        wrap=lambda _: Done(done=True),
        answers=Answer.FIGURES,
    ),
)

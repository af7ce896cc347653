"""The verbs of sleep and its schedules: a night planned, run, looked at and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Self

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import NAME, ExamplesLimit, Steps, choice
from remanence.api.verb import F, Group, Holds, Layer, MemoryHere, Says, Scoping, for_long, verb
from remanence.consolidation.retention.forecast import Forecast
from remanence.consolidation.schedules.schedules import ScheduleState
from remanence.model.progress import Progress
from remanence.model.sleep import Deed, Plan, Run, RunChanged, RunShown, SleepPolicy, Status, Step
from remanence.model.write import Insert

UserId = Annotated[
    str | None, Says("only this user's memories; everybody's when left out", "-u", bounds=NAME)
]
RunModel = Annotated[bool, Says("let the language model help; what it says is checked")]
Now = Annotated[datetime | str | None, Says("what age counts from", wire=datetime | None)]
Limit = Annotated[int, Says("so many at most", "-n", bounds={"minimum": 1, "maximum": 1000})]
LogStep = Annotated[str | None, Says("only runs of this step", bounds=choice(Step))]
LogStatus = Annotated[
    str | None, Says("running, completed, failed, cancelled or undone", bounds=choice(Status))
]
Id = Annotated[str, Says("the run's id")]
Days = Annotated[int, Says("so many days ahead", bounds={"minimum": 1, "maximum": 36525})]


MOST_DEEDS = 100  # of a step that are told one by one
MOST_ABOUT = 5  # memories of a deed whose beginnings are shown
EXCERPT = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One thing a step would do, with the beginnings of the first memories it is about.

    `writes` are the texts of memories it would add; `keeps` is the one that stays of a merge.
    """

    what: str
    why: str
    about: tuple[str, ...]
    excerpts: tuple[str, ...]
    writes: tuple[str, ...] = ()
    keeps: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """What a step would do: how much in all, and the first of it one by one."""

    step: Step
    looked_at: int
    decided: int
    takes: int
    first: tuple[Decision, ...]
    notes: tuple[str, ...]
    alarm: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NightPlan(answers.Wrapped, listing="plans"):
    """What a night would do, step by step."""

    plans: tuple[StepPlan, ...]

    @classmethod
    def of(cls, value: Sequence[Plan], request: Any, memory: MemoryHere) -> Self:
        ids = dict.fromkeys(id for plan in value for id in shown_of(plan))
        texts = _texts(memory, ids)
        return cls(plans=tuple(foreseen(plan, texts) for plan in value))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange(RunChanged):
    """One memory that a run changed, with the beginning of its text, if it is still there."""

    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail(answers.Wrapped, listing="changes"):
    """A run with what it changed."""

    run: Run
    changes: tuple[RunChange, ...]

    @classmethod
    def of(cls, value: RunShown, request: Any, memory: MemoryHere) -> Self:
        texts = _texts(memory, (change.id for change in value.changes))
        changes = (
            answers.picked(RunChange, one, excerpt=_beginning(texts.get(one.id, "")))
            for one in value.changes
        )
        return cls(run=value.run, changes=tuple(changes))

    def taken(self) -> RunShown:
        changes = tuple(answers.picked(RunChanged, one) for one in self.changes)
        return RunShown(run=self.run, changes=changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(answers.Wrapped, listing="runs", holds=Holds.FIGURES):
    """Runs of steps; `healthy` when none of them failed."""

    runs: tuple[Run, ...]

    @property
    def healthy(self) -> bool:
        """Whether none of them failed."""
        return all(run.error is None for run in self.runs)


def _texts(memory: MemoryHere, ids: Iterable[str]) -> dict[str, str]:
    found = memory.parts.store.archive.get(memory.tenant, list(ids))
    return {record.id: record.text for record in found}


def foreseen(plan: Plan, texts: Mapping[str, str]) -> StepPlan:
    """A plan as it is told; `texts` are those of the memories it is about."""
    first = tuple(_decision(deed, texts) for deed in plan.deeds[:MOST_DEEDS])
    return answers.picked(StepPlan, plan, decided=len(plan.deeds), first=first)


def shown_of(plan: Plan) -> Sequence[str]:
    """The ids of the memories whose beginnings are shown."""
    return [id for deed in plan.deeds[:MOST_DEEDS] for id in deed.about[: MOST_ABOUT + 1]]


def _decision(deed: Deed, texts: Mapping[str, str]) -> Decision:
    new = {one.record.id: one.record.text for one in deed.actions if isinstance(one, Insert)}
    about = tuple(id for id in deed.about if id not in new)
    known = (texts[id] for id in about[:MOST_ABOUT] if id in texts)
    told = {"about": about, "excerpts": tuple(map(_beginning, known))}
    keeps = deed.about[0] if deed.what == "merge" else None
    return answers.picked(Decision, deed, **told, writes=tuple(new.values()), keeps=keeps)


def _beginning(text: str) -> str:
    line = " ".join(text[: EXCERPT * 4].split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"


def _erases(memory: MemoryHere, request: Any) -> bool:
    """A whole night erases what rules archived long ago where the settings say so."""
    if request.steps is not None:
        return Step.ERASE in request.steps
    return memory.settings.erase_after_days > 0


class Sleep(Layer[F], layer="sleep", group=Group.SLEEP):
    """What a memory does at rest, for one tenant."""

    @verb(
        "POST /v1/sleep/runs",
        answer=Runs,
        erases=_erases,
        example={"steps": ["merge"], "user_id": "alice"},
    )
    def run(
        self,
        steps: Steps = None,
        *,
        user_id: UserId = None,
        model: RunModel = False,
        policy: SleepPolicy | None = None,
        now: Now = None,
        schedule: str | None = None,
        progress: Progress | None = None,
    ) -> list[Run]:
        """Sleep: consolidate, forget, compress, learn, tidy up. A run can be undone.

        Do the steps, all if none are named, in the order of a night; one run for each.

        "consolidate" stands for merge, distil and reflect. Erasing happens only if the policy has
        `erase_after_days`. A step that fails does not stop the next; `Conflict` if somebody else
        is at one. A run that was cut off is gone on with first. Accounts of runs whose time has
        run out go at the end, by the clock, however late `now` is.
        """

    @verb("GET /v1/sleep/plan", answer=NightPlan)
    def plan(
        self,
        steps: Steps = None,
        *,
        user_id: UserId = None,
        model: RunModel = False,
        policy: SleepPolicy | None = None,
        now: Now = None,
        progress: Progress | None = None,
    ) -> list[Plan]:
        """Say what sleep would do, and change nothing."""

    @verb("GET /v1/sleep/runs", scope=Scoping.TENANT, answer=Runs)
    def log(
        self, *, limit: Limit = 50, step: LogStep = None, status: LogStatus = None
    ) -> list[Run]:
        """List runs, the latest first."""

    @verb("GET /v1/sleep/runs/{id}", answer=RunDetail)
    def show(self, id: Id) -> RunShown:
        """Show a run with all it changed."""

    @verb("POST /v1/sleep/runs/{id}/undo", holds=Holds.FIGURES, lasts=for_long)
    def undo(self, id: Id) -> Run:
        """Take a run back: what nobody has changed since is as it was.

        `counts` tells what was `restored`, what the run had made and is `withdrawn` (archived),
        and what was `left` because somebody changed it. `Conflict` if it was undone already, or
        has not ended.
        """

    @verb(
        "POST /v1/sleep/undo-night", scope=Scoping.TENANT, answer=Runs, governs=True, lasts=for_long
    )
    def undo_night(self) -> list[Run]:
        """Take back the whole last night.

        Take back the last night, its last run first; what was undone or failed is passed over.

        A night is what one call of `run` did: steps in their order.
        """

    @verb("POST /v1/sleep/runs/{id}/cancel", holds=Holds.FIGURES)
    def cancel(self, id: Id) -> Run:
        """Stop a run before its next batch; what was done stays, and can be undone.

        Undoing goes on to its end, unless it was cut off: then the run counts as cancelled.
        """

    @verb("POST /v1/sleep/resume", scope=Scoping.TENANT, answer=Runs, lasts=for_long)
    def resume(self) -> list[Run]:
        """Go on with runs that were cut off."""

    @verb("GET /v1/sleep/forecast")
    def forecast(
        self,
        *,
        user_id: UserId = None,
        days: Days = 90,
        limit: ExamplesLimit = 20,
        policy: SleepPolicy | None = None,
        now: Now = None,
    ) -> Forecast:
        """Say what would be forgotten, when and why."""

    @verb(local="it writes a file; `sleep.forecast` gives the figures")
    def plot(
        self,
        path: Annotated[str | Path, Says("a .svg or .png file", wire=Path)],
        *,
        user_id: UserId = None,
        days: Days = 90,
        limit: ExamplesLimit = 8,
        policy: SleepPolicy | None = None,
        now: Now = None,
    ) -> None:
        """Draw how the memories fade that would be forgotten first."""


Name = Annotated[str, Says("hourly, daily, weekly, or one of your own", bounds=NAME)]
Cron = Annotated[str | None, Says("minute hour day month weekday, such as `30 3 * * *`")]
AfterMessages = Annotated[int | None, Says("also after so many new messages; 0: not")]
IdleS = Annotated[float | None, Says("wait until nobody has used the memory for so many seconds")]

ScheduleList = listed("ScheduleList", "Schedules and how they stand.", schedules=ScheduleState)


class Schedules(Layer[F], layer="schedules", group=Group.SLEEP):
    """When a tenant's memory sleeps: `hourly`, `daily`, `weekly`, and what else was set."""

    @verb("GET /v1/schedules", scope=Scoping.TENANT, answer=ScheduleList)
    def list(self) -> Sequence[ScheduleState]:
        """List schedules, the defaults first, with their next and last runs."""

    @verb("GET /v1/schedules/get", scope=Scoping.TENANT)
    def get(self, name: Name) -> ScheduleState:
        """Show a schedule."""

    @verb("PUT /v1/schedules", scope=Scoping.TENANT, governs=True, holds=Holds.WRITTEN)
    def set(
        self,
        name: Name,
        *,
        cron: Cron = None,
        steps: Steps = None,
        enabled: Annotated[bool | None, Says("whether it runs at all")] = None,
        zone: Annotated[str | None, Says("the time zone of cron, such as Europe/Lisbon")] = None,
        after_new: Annotated[int | None, Says("also after so many new memories; 0: not")] = None,
        after_messages: AfterMessages = None,
        idle_s: IdleS = None,
        jitter_s: Annotated[float | None, Says("spread many stores over so many seconds")] = None,
    ) -> ScheduleState:
        """Change a schedule, or make a new one.

        Change a schedule, or make one (then with `cron` and `steps`); the rest stays as it is.

        An `after_new` or `after_messages` of 0 takes that away. What was due under the former cron
        is not made up for; a run under way goes on. One that has nothing to do is refused; the
        answer's `obstacle` says so where nobody runs it.
        """

    @verb("DELETE /v1/schedules", scope=Scoping.TENANT, governs=True)
    def remove(self, name: Name) -> None:
        """Take a schedule away; a default one comes back with `reset`."""

    @verb("POST /v1/schedules/reset", scope=Scoping.TENANT, answer=ScheduleList, governs=True)
    def reset(self) -> Sequence[ScheduleState]:
        """Go back to the default schedules, beginning now; others are removed."""

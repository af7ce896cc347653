"""What the verbs of sleep and of learning answer when their own value is a bare list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remanence.model.erasure import Erasure
from remanence.model.learning import AdapterVersion, Experience
from remanence.model.sleep import Deed, Plan, Run, Step
from remanence.sleep.schedule import ScheduleState

MOST_DEEDS = 100  # of a step that are told one by one
MOST_ABOUT = 5  # memories of a deed whose beginnings are shown
EXCERPT = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One thing a step would do, with the beginnings of the first memories it is about."""

    what: str
    why: str
    about: tuple[str, ...]
    excerpts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What a step would do: how much in all, and the first of it one by one."""

    step: Step
    looked_at: int
    decided: int
    takes: int
    first: tuple[Decision, ...]
    notes: tuple[str, ...]
    alarm: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a night would do, step by step."""

    plans: tuple[Foreseen, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs of steps; `healthy` when none of them failed."""

    runs: tuple[Run, ...]

    @property
    def healthy(self) -> bool:
        """Whether none of them failed."""
        return all(run.error is None for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedules:
    """Schedules and how they stand."""

    schedules: tuple[ScheduleState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiences:
    """Feedback that a training would look at."""

    experiences: tuple[Experience, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Versions of the adapter, the newest first."""

    versions: tuple[AdapterVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasures:
    """Receipts of erasures, the latest first."""

    erasures: tuple[Erasure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Whether a receipt is one of this store's, unchanged."""

    valid: bool


def foreseen(plan: Plan, texts: Mapping[str, str]) -> Foreseen:
    """A plan as it is told; `texts` are those of the memories it is about."""
    return Foreseen(
        step=plan.step,
        looked_at=plan.looked_at,
        decided=len(plan.deeds),
        takes=plan.takes,
        first=tuple(_decision(deed, texts) for deed in plan.deeds[:MOST_DEEDS]),
        notes=plan.notes,
        alarm=plan.alarm,
    )


def shown_of(plan: Plan) -> Sequence[str]:
    """The ids of the memories whose beginnings are shown."""
    return [id for deed in plan.deeds[:MOST_DEEDS] for id in deed.about[:MOST_ABOUT]]


def _decision(deed: Deed, texts: Mapping[str, str]) -> Decision:
    known = (texts[id] for id in deed.about[:MOST_ABOUT] if id in texts)
    return Decision(
        what=deed.what, why=deed.why, about=deed.about, excerpts=tuple(map(_beginning, known))
    )


def _beginning(text: str) -> str:
    line = " ".join(text[: EXCERPT * 4].split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"

"""What the verbs of sleep and of learning answer when their own value is a bare list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remanence.model.erasure import Erasure
from remanence.model.learning import AdapterVersion, Experience
from remanence.model.sleep import Deed, Plan, Run, Shown, Step
from remanence.model.write import Insert
from remanence.sleep.schedule import ScheduleState

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
class Done:
    """One memory that a run changed, with the beginning of its text, if it is still there."""

    batch: int
    id: str
    version: int
    verb: str
    stands: bool
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A run with what it changed."""

    run: Run
    changes: tuple[Done, ...]


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

    @property
    def healthy(self) -> bool:
        """The same, for the exit code of a command."""
        return self.valid


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


def told(shown: Shown, texts: Mapping[str, str]) -> Told:
    """A run as it is told."""
    return Told(
        run=shown.run,
        changes=tuple(
            Done(
                batch=one.batch,
                id=one.id,
                version=one.version,
                verb=one.verb,
                stands=one.stands,
                excerpt=_beginning(texts.get(one.id, "")),
            )
            for one in shown.changes
        ),
    )


def shown_of(plan: Plan) -> Sequence[str]:
    """The ids of the memories whose beginnings are shown."""
    return [id for deed in plan.deeds[:MOST_DEEDS] for id in deed.about[: MOST_ABOUT + 1]]


def _decision(deed: Deed, texts: Mapping[str, str]) -> Decision:
    new = {one.record.id: one.record.text for one in deed.actions if isinstance(one, Insert)}
    about = tuple(id for id in deed.about if id not in new)
    known = (texts[id] for id in about[:MOST_ABOUT] if id in texts)
    merges = deed.what == "merge"
    return Decision(
        what=deed.what,
        why=deed.why,
        about=about,
        excerpts=tuple(map(_beginning, known)),
        writes=tuple(new.values()),
        keeps=deed.about[0] if merges else None,
    )


def _beginning(text: str) -> str:
    line = " ".join(text[: EXCERPT * 4].split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"

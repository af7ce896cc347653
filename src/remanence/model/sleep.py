"""Sleep: its steps, what they plan, what a run did, and the policies they go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput
from remanence.model.memory import Association, unit_interval
from remanence.model.scope import Reach

if TYPE_CHECKING:  # they need NumPy, and a name of a step does not
    from remanence.model.write import Action, Moved


class Step(StrEnum):
    """What a night is made of, in this order."""

    TALKS = "talks"  # new conversations summed up; days, weeks and months told
    MERGE = "merge"  # what says the same becomes one memory
    DISTIL = "distil"  # what keeps coming up becomes a semantic memory
    REFLECT = "reflect"  # themes and changed habits across conversations
    FORGET = "forget"  # what has faded is archived
    ERASE = "erase"  # what was archived by rule long ago is erased, where the policy says so
    COMPRESS = "compress"  # what is old takes less room
    LEARN = "learn"  # the retrieval adapter, from replayed feedback
    UPKEEP = "upkeep"  # the store itself: statistics, free space, what has run out


CONSOLIDATE = (Step.MERGE, Step.DISTIL, Step.REFLECT)


class Status(StrEnum):
    """How a run stands. Only `completed` says that all of it was done."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One thing a step decided, done whole or not at all.

    `what` is a verb ("merge", "derive", "archive"), `why` a reason for a person to read; neither
    quotes a memory. `about` are the memories it concerns, the one that stays first. `takes` counts
    those that leave recall with nothing in their place: that is what the cap is about.
    """

    what: str
    why: str
    about: tuple[str, ...]
    actions: tuple[Action, ...]
    links: tuple[Association, ...] = ()
    moved: tuple[Moved, ...] = ()
    takes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a step would do, decided without doing it. `looked_at` is how many memories it read."""

    step: Step
    deeds: tuple[Deed, ...] = ()
    looked_at: int = 0
    notes: tuple[str, ...] = ()
    alarm: str | None = None

    @property
    def takes(self) -> int:
        """How many memories would leave recall with nothing in their place."""
        return sum(deed.takes for deed in self.deeds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One step that ran: when, by whom, with what result.

    `counts` are of the step's own; `batches` are the transactions it took. `alarm` says that a cap
    was reached; `error` why it failed, in words that quote no memory.
    """

    id: str
    step: Step
    status: Status
    started_at: datetime
    ended_at: datetime | None = None
    by: str = ""
    schedule: str | None = None
    user_id: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    batches: int = 0
    alarm: str | None = None
    error: str | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took, without taking it back; None while it runs."""
        return None if self.ended_at is None else (self.ended_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanged:
    """One memory that a run changed: in which batch, to which version, by which verb.

    `stands` says that it still has the last version the run gave it.
    """

    batch: int
    id: str
    version: int
    verb: str
    stands: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShown:
    """A run with what it changed, in order."""

    run: Run
    changes: tuple[RunChanged, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPolicy:
    """When a memory may be archived: faded, slight, old and hardly used, all at once.

    Strength is importance × `daily` for each day since it was last used, slower with every use.
    With `active_days` only days count on which its owner wrote anything. What was archived by rule
    is erased after `erase_after_days`, never if that is None.
    """

    daily: float = 0.95
    floor: float = 0.1
    importance_below: float = 0.1
    older_than_days: float = 30
    uses_below: int = 2
    active_days: bool = False
    erase_after_days: float | None = None

    def __post_init__(self) -> None:
        for name in ("daily", "floor", "importance_below"):
            unit_interval(name, getattr(self, name))
        for name in ("older_than_days", "uses_below", "erase_after_days"):
            value = getattr(self, name)
            if not _from_0(value) and (name, value) != ("erase_after_days", None):
                raise InvalidInput(f"{name} must be a number, 0 or more; got {value!r:.40}.")
        if not isinstance(self.active_days, bool):
            raise InvalidInput(f"active_days must be true or false; got {self.active_days!r:.40}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepPolicy:
    """What a night goes by. `cap` is the share of memories that may leave recall in a day.

    That share is rounded up; one memory is always left, unless `cap` is 1.
    Merging asks for a cosine of `alike` and for events at most `days_apart`. Vectors are kept in
    8 bits, in 4 after `cool_after_days`, in 1 after `cold_after_days`; texts are compressed from
    `cool_after_days` on.
    """

    cap: float = 0.02
    alike: float = 0.85
    days_apart: float = 30
    forget: ForgetPolicy = field(default_factory=ForgetPolicy)
    cool_after_days: float = 90
    cold_after_days: float = 365

    def __post_init__(self) -> None:
        if not isinstance(self.forget, ForgetPolicy):
            raise InvalidInput(f"forget must be a ForgetPolicy; got {self.forget!r:.40}.")
        unit_interval("cap", self.cap)
        unit_interval("alike", self.alike)
        for name in ("days_apart", "cool_after_days", "cold_after_days"):
            value = getattr(self, name)
            if not _from_0(value):
                raise InvalidInput(f"{name} must be a number, 0 or more; got {value!r:.40}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What every step of a run is given. `use_model` asks for the language model, if there is one.

    `now` has been believed already (no jump of the clock).
    """

    reach: Reach
    now: datetime
    policy: SleepPolicy
    use_model: bool = False


def _from_0(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0

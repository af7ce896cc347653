"""What a step of sleep is: a planner that decides, or a chore that loses nothing by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from remanence.errors import InvalidInput
from remanence.model.memory import Association, MemoryRecord
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.sleep import CONSOLIDATE, Deed, Night, Plan, Step
from remanence.model.validation import several
from remanence.model.write import Revise

if TYPE_CHECKING:
    from remanence.consolidation.merges.groups import Member

TOGETHER = "consolidate"  # stands for three steps

Beat: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoreResult:
    """What a chore did: counts of its own, and the memories it made, by id and version.

    `revised` are the versions that it gave to memories that stood before, with the verb of each.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    made: tuple[tuple[str, int], ...] = ()
    revised: tuple[tuple[str, int, str], ...] = ()


class Planner(Protocol):
    """A step that only decides. The engine does what it planned, in transactions, and can undo it.

    Deterministic: after a crash it plans again, and what is done already is not planned twice.
    A language model that fails or answers with nonsense is a `LanguageModelError`: nothing happens.
    """

    step: Step

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        """What to do now; reads, and changes nothing."""


class Chore(ABC):
    """A step that works through a layer or the store, in small transactions that may be repeated.

    It takes no memory out of recall. What it makes can be archived again, and what it revises has
    its former values in its history; anything else it does can be taken back by `undo`.
    """

    step: Step

    @abstractmethod
    def foresee(self, night: Night) -> Plan:
        """What it would do, in `notes` and `looked_at`; reads, and changes nothing."""

    @abstractmethod
    def run(self, night: Night, progress: Progress | None = None) -> ChoreResult:
        """Do it; calling again goes on where it stopped."""

    def undo(self, night: Night) -> int:
        """Take back what is not a memory, if that can be done; how much it was."""
        return 0


def steps_of(names: object, known: Collection[Step] = tuple(Step)) -> tuple[Step, ...]:
    """Steps by name, in the order of a night, each once; "consolidate" stands for three."""
    wanted: list[object] = []
    for name in [names] if isinstance(names, str) else several("steps", names):
        if name != TOGETHER and name not in list(map(str, known)):
            told = ", ".join([*(step for step in Step if step in known), TOGETHER])
            raise InvalidInput(f"Unknown step {str(name)[:40]!r}; known: {told}.")
        wanted += CONSOLIDATE if name == TOGETHER else [name]
    return tuple(step for step in Step if step in wanted and step in known)


def changed(one: MemoryRecord | Member, verb: str, why: str, night: Night, **to: Any) -> Revise:
    """A change of a memory that stands as it did when that was decided."""
    at = night.now
    return Revise(id=one.id, changes=to, verb=verb, at=at, reason=why, expected=one.version)


def linked(source: str, target: str, type: str, night: Night) -> Association:
    """A link that tells what became of a memory, or of what it was made."""
    return Association(source=source, target=target, type=type, strength=1.0, created_at=night.now)


def planned(
    step: Step,
    store: Store,
    night: Night,
    progress: Progress | None,
    decide: Callable[[int, Beat], tuple[Iterable[Deed], int]],
) -> Plan:
    """The plan of a step that decides for one partition of the reach after another.

    `decide` gives the deeds and how many memories were read for them, and may tell by a beat that
    it is at it still.
    """
    partitions = store.recall.partitions(night.reach)
    deeds: list[Deed] = []
    total = 0
    for number, partition in enumerate(partitions):
        tell = progress or _unheard
        found, looked_at = decide(partition, partial(tell, number, len(partitions)))
        deeds += found
        total += looked_at
        tell(number + 1, len(partitions))
    return Plan(step=step, deeds=tuple(deeds), looked_at=total)


def _unheard(done: int, total: int) -> None:
    """For whoever does not ask how far it is."""

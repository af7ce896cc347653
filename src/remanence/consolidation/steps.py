"""What a step of sleep is, a planner or a chore; and memories as steps read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from remanence.errors import InvalidInput, NotFound
from remanence.knowledge.claims import CALLER
from remanence.model.embedding import Fingerprint, FloatArray, restored
from remanence.model.memory import Association, Kind, MemoryRecord, Revision, State
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.query import ALL
from remanence.model.scope import Reach
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


ACTIVE_KINDS = frozenset(Kind) - {Kind.SUMMARY}
_AT_ONCE, _BLOCK = 500, 4_096


def records_of(store: Store, tenant: str, ids: Iterable[str]) -> Iterator[MemoryRecord]:
    """The memories with these ids that are there, read some at a time."""
    wanted = iter(dict.fromkeys(ids))
    while some := list(islice(wanted, _AT_ONCE)):
        yield from store.archive.get(tenant, some)


def past_of(store: Store, tenant: str, id: str) -> list[Revision]:
    """All that became of a memory; nothing if it is gone."""
    try:
        return store.archive.history(tenant, id)
    except NotFound:
        return []


def in_reach(
    store: Store, partition: int, reach: Reach, kinds: Container[str] = ACTIVE_KINDS
) -> Iterator[int]:
    """Keys of the active memories of these kinds that the reach covers, in order."""
    for trait in store.recall.traits(partition):
        if (
            trait.state == State.ACTIVE
            and trait.kind in kinds
            and reach.agent_id in (None, trait.agent)
            and reach.session_id in (None, trait.session)
        ):
            yield trait.key


def read(
    store: Store, partition: int, keys: Iterable[int], together: int = 512
) -> Iterator[tuple[int, MemoryRecord]]:
    """The records of these keys that are still active, so many in hand at a time."""
    wanted = iter(keys)
    while block := list(islice(wanted, together)):
        found = store.recall.records(partition, block)
        for key in block:
            if key in found and found[key].state == State.ACTIVE:
                yield key, found[key]


def vouched_for(store: Store, tenant: str, ids: Sequence[str]) -> set[str]:
    """Those of the memories that a caller named as the source of a fact.

    Such a fact rests while its memory does, so the memory has to stay.
    """
    everybody = Reach(tenant=tenant, all_users=True)
    found: set[str] = set()
    for start in range(0, len(ids), _AT_ONCE):
        claims = store.knowledge.claims(
            everybody, memories=ids[start : start + _AT_ONCE], limit=ALL
        )
        found |= {one.memory for one in claims if one.origin == CALLER and one.memory}
    return found


def vectors_of(
    store: Store, fingerprint: Fingerprint | None, partition: int, keys: Sequence[int]
) -> dict[int, FloatArray]:
    """A unit vector for each memory that has pieces: their mean.

    The mean, because a text cut elsewhere has other pieces that add up to much the same, while its
    best pieces would be alike even where the rest of it differs.
    """
    if fingerprint is None or not keys:
        return {}
    pieces = store.vectors.pieces(fingerprint, partition, keys)
    return dict(means((piece.key, piece.vector) for piece in pieces))


def blocks(
    store: Store, fingerprint: Fingerprint, partition: int
) -> Iterator[tuple[list[int], FloatArray]]:
    """Keys and unit vectors of a whole partition, so many memories at a time."""
    scanned = store.vectors.scan(fingerprint, partition)
    found = means((key, vector) for key, _, vector in scanned)
    while block := list(islice(found, _BLOCK)):
        yield [key for key, _ in block], np.stack([vector for _, vector in block])


def means(pieces: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, FloatArray]]:
    """The mean of each key's vectors, of length 1; pieces come by key."""
    for key, found in groupby(pieces, key=lambda piece: piece[0]):
        total = restored([vector for _, vector in found]).sum(axis=0)
        length = float(np.linalg.norm(total))
        if length > 0:
            yield key, np.asarray(total / length, np.float32)

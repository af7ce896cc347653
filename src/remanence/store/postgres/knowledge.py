"""Knowledge in PostgreSQL: how it is told, looked for, and follows its memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from remanence.model.embedding import Fingerprint
from remanence.model.knowledge import Learnt
from remanence.model.memory import MemoryRecord
from remanence.model.write import Batch, Pieces
from remanence.store.claims import (
    CLAIM_COLUMNS,
    ENTITY_COLUMNS,
    NO_MEMORY,
    begins,
    is_evidence,
    knowledge_id,
)
from remanence.store.conditions import Condition, joined
from remanence.store.core.knowledge import StoredKnowledge
from remanence.store.core.learning import Memory, Telling, erase_silent, spoken_of
from remanence.store.postgres.arrays import (
    NEVER,
    Array,
    Kinds,
    arrays,
    byteas,
    float8s,
    int8s,
    texts,
    uuids,
)
from remanence.store.postgres.database import Database
from remanence.store.postgres.session import Session
from remanence.store.rows import Row, micros, packed_id

_TYPES: Kinds = {
    "id": uuids, "given": int8s, "created_at": int8s, "digest": byteas, "confidence": float8s,
    "trust": float8s, "observed_at": int8s, "recorded_at": int8s, "denies": int8s,
    "rested_at": int8s, "retired_at": int8s,
}  # fmt: skip
ENTITY_KINDS: Kinds = {
    "partition": int8s, **{name: _TYPES.get(name, texts) for name in ENTITY_COLUMNS},
}  # fmt: skip
_CLAIM: Kinds = {
    "partition": int8s, "subject": uuids, "object": uuids, "memory": int8s, "id": uuids,
    **{name: _TYPES.get(name, texts) for name in CLAIM_COLUMNS},
}  # fmt: skip
_MENTION: Kinds = {"partitions": int8s, "keys": int8s, "ids": uuids}
_HEAD = 64  # letters of a folded name that its index has
_RETOLD: Kinds = {"number": int8s, "type": texts, "given": int8s, "digest": byteas}


class PostgresTelling(Telling):
    """What one transaction adds, in as many statements whatever it is."""

    def _put_entities(self, new: Sequence[Row], changed: Sequence[Row]) -> None:
        if new:
            self._session.run("insert_entities", **arrays(ENTITY_KINDS, new))
        if changed:
            self._session.run("update_entities", **arrays(_RETOLD, changed))

    def _put_mentions(self, rows: Sequence[Row]) -> None:
        if rows:
            self._session.run("insert_mentions", **arrays(_MENTION, rows))

    def _put_claims(self, rows: Sequence[Row]) -> None:
        if rows:
            listed = arrays(_CLAIM, [_without_nulls(row) for row in rows])
            self._session.run("insert_claims", **listed, never=NEVER)


def _without_nulls(row: Row) -> Row:
    """An array of numbers holds none: of a claim's, the memory and the two times may be missing."""
    partition, subject, object, memory, *said, rests, retired, digest = row
    times = (NEVER if rests is None else rests, NEVER if retired is None else retired)
    return (partition, subject, object, memory or NO_MEMORY, *said, *times, digest)


class PostgresKnowledge(StoredKnowledge[Database]):
    """The Knowledge port."""

    _spoken = "mentions AS n JOIN memories AS m ON m.tenant = n.tenant AND m.key = n.memory"
    _telling = PostgresTelling

    def _about(self, session: Session, numbers: Sequence[int], said: Condition | None) -> Condition:
        ends = session.array_of(numbers)
        return Condition("c.subject = ANY(?) OR c.object = ANY(?)", (ends, ends))

    def _begins(self, prefix: str) -> Condition:
        return joined("AND", [begins("e.head", prefix[:_HEAD]), begins("e.folded", prefix)])


@dataclass(slots=True)
class Held:
    """`before` is None if the batch inserts it, `now` is None once it is removed.

    `derived` is what the row keeps of the text that it has `before`.
    """

    key: int
    partition: int
    before: MemoryRecord | None
    now: MemoryRecord | None
    pieces: dict[Fingerprint, Pieces] = field(default_factory=dict)
    spoken_anew: bool = False
    history: list[Row] = field(default_factory=list)
    derived: Row = ()

    @property
    def told_anew(self) -> bool:
        """Whether what the row keeps of its text must be found again."""
        was, now = self.before, self.now
        if was is None or now is None:
            return True
        return (was.text, was.happened_at) != (now.text, now.happened_at)


class Learning:
    """The knowledge of one batch, after its actions are done and before they are announced."""

    def __init__(
        self,
        session: Session,
        batch: Batch,
        digest_key: bytes,
        held: Mapping[bytes | None, Held],
        gone: Sequence[Held],
    ) -> None:
        self._session = session
        self._partitions = {one.partition for one in (*held.values(), *gone)}
        self._gone = [one for one in gone if one.before is not None]
        self._kept = [one for one in held.values() if one.before is not None and one.history]
        learnt = {packed_id(one.memory): one for one in batch.learnt}
        there = [(one, held[id]) for id, one in learnt.items() if id in held]
        self._learnt = [(one, at) for one, at in there if _is_read(one, at)]
        self._telling = PostgresTelling(session, batch.tenant, digest_key, only_named=True)

    def run(self) -> list[tuple[int, int]]:
        """Do all of it; the memories (partition, key) that were read."""
        rested, woken = self._moved(to_rest=True), self._moved(to_rest=False)
        read = [held for _, held in self._learnt]
        if not (self._gone or rested or woken or read):
            return []
        self._session.hold_partitions(self._partitions)
        if rested:
            self._session.run("rest_claims", **_timed(rested))
        if woken:
            self._session.run("wake_claims", keys=_keys(woken))
        left = self._leave()
        for learnt, held in self._learnt:
            self._tell(learnt, held)
        self._telling.run()
        erase_silent(self._session, left)
        return [(one.partition, one.key) for one in read]

    def _moved(self, *, to_rest: bool) -> list[Held]:
        """Memories of which what they say counts no longer, or again."""
        return [
            one
            for one in self._kept
            if _counts(one.before) is to_rest and _counts(one.now) is not to_rest
        ]

    def _leave(self) -> set[int]:
        """Part with what was said before; the entities it spoke of.

        What callers state of a memory is not found in it, and goes only with the memory.
        """
        known = [(learnt, held) for learnt, held in self._learnt if held.before is not None]
        afresh = [held for learnt, held in known if learnt.afresh]
        outdated = [held for learnt, held in known if not learnt.afresh]
        again = self._forget_told_again(known)
        if outdated:
            self._session.run("retire_claims", **_timed(outdated))
        silenced = [*self._gone, *outdated, *afresh]
        if not silenced:
            return set()
        partitions = int8s({one.partition for one in silenced})
        mentions = self._session.run(
            "erase_mentions_of", partitions=partitions, keys=_keys(silenced)
        )
        erased = self._session.run("erase_claims_of", keys=_keys(self._gone))
        unread = self._session.run("erase_present_claims_of", keys=_keys(afresh))
        claims = [*again, *erased.fetchall(), *unread.fetchall()]
        return {entity for (entity,) in mentions.fetchall()} | spoken_of(claims)

    def _forget_told_again(self, known: Sequence[tuple[Learnt, Held]]) -> list[Row]:
        """Part with claims that take their own place; what they spoke of."""
        told = [
            (held.key, knowledge_id("claim", claim.id))
            for learnt, held in known
            for claim in learnt.claims
        ]
        if not told:
            return []
        keys, ids = zip(*told, strict=True)
        asked = {"keys": int8s(keys), "ids": uuids(ids)}
        return list(self._session.rows("erase_claims_told_again", **asked))

    def _tell(self, learnt: Learnt, held: Held) -> None:
        record = held.now
        assert record is not None
        memory = Memory(held.key, held.partition, is_evidence(record), micros(record.updated_at))
        self._telling.tell(learnt, memory, record.user_id)


def _timed(some: Iterable[Held]) -> dict[str, Array]:
    """Memories, and when they changed last."""
    listed = [(one.key, micros(one.now.updated_at)) for one in some if one.now is not None]
    keys, ats = zip(*listed, strict=True)
    return {"keys": int8s(keys), "ats": int8s(ats)}


def _is_read(learnt: Learnt, held: Held) -> bool:
    """Whether the memory still is what was read."""
    return learnt.version is None or (held.now is not None and held.now.version == learnt.version)


def _counts(record: MemoryRecord | None) -> bool:
    return record is not None and is_evidence(record)


def _keys(some: Iterable[Held]) -> Array:
    return int8s([one.key for one in some])

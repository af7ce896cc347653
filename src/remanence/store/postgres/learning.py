"""What a batch does to knowledge: memories that go, rest, wake or are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from remanence.errors import InvalidInput
from remanence.model.knowledge import Learnt
from remanence.model.memory import MemoryRecord
from remanence.model.write import Batch
from remanence.store.claims import is_evidence, knowledge_id, rests_from
from remanence.store.postgres.arrays import Array, int8s, uuids
from remanence.store.postgres.held import Held
from remanence.store.postgres.session import Session
from remanence.store.postgres.telling import Telling, erase_silent, hold, spoken_of
from remanence.store.rows import Row, micros, packed_id


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
        self._telling = Telling(session, batch.tenant, digest_key, only_named=True)

    def run(self) -> list[tuple[int, int]]:
        """Do all of it; the memories (partition, key) that were read."""
        rested, woken = self._moved(to_rest=True), self._moved(to_rest=False)
        read = [held for _, held in self._learnt]
        if not (self._gone or rested or woken or read):
            return []
        hold(self._session, self._partitions)
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
        record, at = held.now, held.partition
        assert record is not None
        _check(learnt, record)
        telling = self._telling
        telling.entities += [(at, entity) for entity in learnt.entities]
        telling.mentions += [(at, held.key, entity) for entity in learnt.mentions]
        counts, updated = is_evidence(record), micros(record.updated_at)
        telling.claims += [
            (at, held.key, rests_from(claim, counts, updated), claim) for claim in learnt.claims
        ]


def _timed(some: Iterable[Held]) -> dict[str, Array]:
    """Memories, and when they changed last."""
    listed = [(one.key, micros(one.now.updated_at)) for one in some if one.now is not None]
    keys, ats = zip(*listed, strict=True)
    return {"keys": int8s(keys), "ats": int8s(ats)}


def _check(learnt: Learnt, record: MemoryRecord) -> None:
    users = {one.user_id for one in learnt.entities} | {one.user_id for one in learnt.claims}
    if users - {record.user_id}:
        raise InvalidInput(f"What the memory {record.id} says is its own user's knowledge.")
    if any(packed_id(one.memory or "") != packed_id(record.id) for one in learnt.claims):
        raise InvalidInput(f"What the memory {record.id} says is found in it; name it there.")


def _is_read(learnt: Learnt, held: Held) -> bool:
    """Whether the memory still is what was read."""
    return learnt.version is None or (held.now is not None and held.now.version == learnt.version)


def _counts(record: MemoryRecord | None) -> bool:
    return record is not None and is_evidence(record)


def _keys(some: Iterable[Held]) -> Array:
    return int8s([one.key for one in some])

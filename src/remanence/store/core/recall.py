"""What recall reads: partitions, the change feed, traits, records; and who waits for vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from remanence.model.embedding import Fingerprint
from remanence.model.filter import Filter
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Change, Keys, Name, Tie, Trait
from remanence.model.scope import Reach
from remanence.store.core.database import D, Session, StorePart
from remanence.store.rows import KINDS, STATES, spelled_id

_CHUNK = 5000


class StoredRecall(StorePart[D]):
    """The RecallSource port, but for the text index and the bell.

    All is read in chunks, so no read stays open between them.
    """

    def partitions(self, reach: Reach) -> list[int]:
        """The partitions a read may see."""
        found = self._database.read(
            reach.tenant, lambda session: self._database.partitions(session, reach)
        )
        return found or []

    def position(self, partition: int) -> int:
        """The newest `seq` of the partition's feed."""
        found = self._database.read_partition(
            partition, lambda session: session.value("position", partition=partition)
        )
        return found or 0

    def changes(self, partition: int, after: int, limit: int) -> list[Change]:
        """The partition's feed entries after `after`, in order."""
        asked = {"partition": partition, "after": after, "most": limit}
        rows = self._database.read_partition(
            partition, lambda session: session.rows("changes", **asked)
        )
        return [Change._make(row) for row in rows or []]

    def traits(self, partition: int, keys: Sequence[int] | None = None) -> Iterator[Trait]:
        """Traits by key."""
        if keys is None:
            wanted = self._numbers("keys_of", partition)
        else:
            wanted = np.unique(np.asarray(keys, np.int64))
        yield from _traits(self._in_chunks("traits", partition, wanted))

    def keys(self, partition: int, where: Filter) -> Keys:
        """Keys in the partition that satisfy the filter, ascending."""

        def work(session: Session) -> Keys:
            condition = self._database.matched(session, partition, where)
            return session.numbers_matching("keys", condition)

        found = self._database.read_partition(partition, work)
        if found is None:
            self._database.check(where)
        return _sorted(found)

    def records(self, partition: int, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """Whole records by key; keys that are gone, or of another partition, are left out."""
        wanted = np.unique(np.asarray(keys, np.int64))

        def work(session: Session) -> dict[int, MemoryRecord]:
            asked = session.array_of(wanted)
            rows = session.rows("records", partition=partition, keys=asked)
            return {row[0]: self._database.record(session, row) for row in rows}

        return self._database.read_partition(partition, work) or {}

    def key_of(self, tenant: str, id: str) -> tuple[int, int] | None:
        """(partition, key) of a tenant's memory."""
        return self._database.read(
            tenant, lambda session: self._database.places(session, [id]).get(id)
        )

    def names(self, partition: int) -> Iterator[Name]:
        """The partition's entities in order of number."""
        known = self._numbers("numbers_of_names", partition)
        for number, id, name, type in self._in_chunks("names", partition, known):
            yield Name(number, spelled_id(id), name, type)

    def mentioned(
        self, partition: int, keys: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int]]:
        """(memory key, entity number) of active memories, by key."""
        if keys is not None:
            wanted = np.unique(np.asarray(keys, np.int64))
            yield from self._in_chunks("mentioned_in", partition, wanted)
            return
        memory = entity = 0
        while rows := self._after("mentioned_after", partition, memory=memory, entity=entity):
            yield from rows
            memory, entity = rows[-1]

    def ties(self, partition: int) -> Iterator[Tie]:
        """Claims between two entities that are neither resting, retired nor denials."""
        after = 0
        while rows := self._after("ties_after", partition, after=after):
            for _, *tie in rows:
                yield Tie(*tie)
            after = rows[-1][0]

    def _in_chunks(self, name: str, partition: int, wanted: Keys) -> Iterator[Any]:
        for at in range(0, len(wanted), _CHUNK):
            some = wanted[at : at + _CHUNK]

            def work(session: Session, some: Keys = some) -> list[Any]:
                return session.rows(name, partition=partition, keys=session.array_of(some))

            yield from self._database.read_partition(partition, work) or []

    def _after(self, name: str, partition: int, **after: int) -> list[Any]:
        asked = {"partition": partition, "most": _CHUNK, **after}
        return self._database.read_partition(partition, lambda one: one.rows(name, **asked)) or []

    def _numbers(self, name: str, partition: int) -> Keys:
        return _sorted(
            self._database.read_partition(
                partition, lambda session: session.numbers(name, partition=partition)
            )
        )


def _sorted(keys: Keys | None) -> Keys:
    return np.empty(0, np.int64) if keys is None else np.sort(keys)


def _traits(rows: Iterable[Any]) -> Iterator[Trait]:
    for (key, partition, session, agent, speaker, role, kind, state, happened, created,
         terms, characters, flags, importance, trust, first, after) in rows:  # fmt: skip
        yield Trait(key, partition, session, agent, speaker, role, KINDS[kind], STATES[state],
                    happened, created, terms, characters, flags, importance, trust,
                    first, after)  # fmt: skip


class StoredVectors(StorePart[D]):
    """What the Vectors port asks of embedders; pieces are a dialect's own."""

    def embedders(self) -> list[Fingerprint]:
        """Every embedder that the store has met and not forgotten; oldest first."""
        rows = self._database.read_names(lambda session: session.rows("embedders"))
        return [Fingerprint(*row) for row in rows]

    def unembedded(
        self, tenant: str, fingerprint: Fingerprint, limit: int
    ) -> list[tuple[int, MemoryRecord]]:
        """The tenant's memories that have no pieces from that embedder yet, oldest first."""

        def work(session: Session) -> list[tuple[int, MemoryRecord]]:
            embedder = employed(session, fingerprint)
            if embedder is None:
                rows = session.rows("scan", after=0, most=limit)
            else:
                rows = session.rows("unembedded", embedder=embedder, most=limit)
            return [(row[0], self._database.record(session, row)) for row in rows]

        return self._database.read(tenant, work) or []

    def count_unembedded(self, tenant: str, fingerprint: Fingerprint) -> int:
        """How many those are."""
        return self._database.read(tenant, lambda one: count_unembedded(one, fingerprint)) or 0


def employed(session: Session, fingerprint: Fingerprint) -> int | None:
    """The number of an embedder that the tenant's memories wait for."""
    found: int | None = session.value("employed_embedder", fingerprint=str(fingerprint))
    return found


def count_unembedded(session: Session, fingerprint: Fingerprint) -> int:
    """How many memories of the tenant have no pieces of that embedder."""
    embedder = employed(session, fingerprint)
    if embedder is None:
        return int(session.value("count_of_tenant"))
    return int(session.value("count_pending", embedder=embedder))

"""Stored pieces in PostgreSQL, by the embedder that made them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord
from remanence.model.write import Pieces
from remanence.ports.pieces import StoredPiece, StoredPieces
from remanence.store.coarse import opened, opened_pieces
from remanence.store.postgres.arrays import int8s
from remanence.store.postgres.database import Database
from remanence.store.postgres.feed import announce
from remanence.store.postgres.placing import WORDS_LOCK, Placing, Unemployed, employ, writers_lock
from remanence.store.postgres.session import Session

_CHUNK = 2000


class PostgresVectors:
    """The Vectors port."""

    _database: Database

    def embedders(self) -> list[Fingerprint]:
        """Every embedder that some tenant has employed; oldest first."""
        rows = self._database.read_names(lambda session: session.rows("embedders"))
        return [Fingerprint(*row) for row in rows]

    def pieces(self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]) -> StoredPieces:
        """All pieces of these memories made by that embedder, by key and part."""
        wanted = int8s(np.unique(np.asarray(keys, np.int64)))

        def work(session: Session) -> list[tuple[Any, ...]]:
            embedder = self._database.embedder(session, fingerprint)
            asked = {"partition": partition, "embedder": embedder, "keys": wanted}
            return [] if embedder is None else session.rows("pieces", **asked)

        found = self._database.read_partition(partition, work)
        stored = StoredPieces.of(StoredPiece(*row) for row in found or [])
        return opened_pieces(stored, fingerprint.dimension)

    def scan_vectors(
        self, fingerprint: Fingerprint, partition: int
    ) -> Iterator[tuple[int, int, bytes]]:
        """(key, part, vector) of a whole partition, by key and part; read in chunks."""
        after = (0, 0)
        while rows := self._vectors_after(fingerprint, partition, after):
            yield from rows
            after = rows[-1][:2]

    def _vectors_after(
        self, fingerprint: Fingerprint, partition: int, after: tuple[int, int]
    ) -> list[tuple[int, int, bytes]]:
        def work(session: Session) -> list[tuple[Any, ...]]:
            embedder = self._database.embedder(session, fingerprint)
            asked = {"partition": partition, "embedder": embedder, "most": _CHUNK}
            asked |= {"after": after[0], "part": after[1]}
            return [] if embedder is None else session.rows("vectors_after", **asked)

        found = self._database.read_partition(partition, work) or []
        vectors = opened([vector for _, _, vector in found], fingerprint.dimension)
        return [(key, part, vector) for (key, part, _), vector in zip(found, vectors, strict=True)]

    def unembedded(
        self, tenant: str, fingerprint: Fingerprint, limit: int
    ) -> list[tuple[int, MemoryRecord]]:
        """The tenant's memories that have no pieces from that embedder yet, oldest first."""

        def work(session: Session) -> list[tuple[int, MemoryRecord]]:
            embedder = session.value("employed_embedder", fingerprint=str(fingerprint))
            if embedder is None:
                rows = session.rows("scan", after=0, most=limit)
            else:
                rows = session.rows("unembedded", embedder=embedder, most=limit)
            return [(row[0], self._database.record(session, row)) for row in rows]

        return self._database.read(tenant, work) or []

    def count_unembedded(self, tenant: str, fingerprint: Fingerprint) -> int:
        """How many those are."""
        return self._database.read(tenant, lambda one: count_unembedded(one, fingerprint)) or 0

    def put_pieces(self, tenant: str, made: Sequence[tuple[int, str, Pieces]]) -> int:
        """Store pieces for memories that still have the text they were made from."""
        while True:
            try:
                return self._database.write(tenant, lambda one: _put(self._database, one, made))
            except Unemployed as missing:
                employ(self._database, tenant, missing.fingerprints)

    def forget_embedders(self, tenant: str, keep: Fingerprint) -> int:
        """Remove the tenant's pieces of every other embedder, in small transactions; how many."""
        employed = self._database.read(tenant, lambda session: session.rows("employed"))
        others = [embedder for name, embedder in employed or [] if name != str(keep)]
        return sum(self._forget(tenant, embedder) for embedder in others)

    def _forget(self, tenant: str, embedder: int) -> int:
        """Unemployed first, so that nobody adds pieces behind the one who removes them."""

        def unemploy(session: Session) -> None:
            session.run("lock_writers", own=writers_lock(session.tenant))
            session.run("unemploy", embedder=embedder)
            session.run("delete_queue", embedder=embedder)

        self._database.write(tenant, unemploy)
        partitions = self._database.read(tenant, lambda one: one.rows("partitions_of_tenant"))
        return sum(self._clear(tenant, partition, embedder) for partition, _ in partitions or [])

    def _clear(self, tenant: str, partition: int, embedder: int) -> int:
        place = {"partition": partition, "embedder": embedder}

        def remove(session: Session) -> tuple[int, int]:
            keys = [key for (key,) in session.rows("embedded_keys", **place, most=_CHUNK)]
            old = {"partitions": int8s([partition] * len(keys)), "keys": int8s(keys)}
            old["embedders"] = int8s([embedder] * len(keys))
            session.run("delete_vectors", **old)
            return len(keys), len(session.rows("delete_pieces", **old))

        removed = 0
        while (chunk := self._database.write(tenant, remove))[0]:
            removed += chunk[1]
        return removed


def count_unembedded(session: Session, fingerprint: Fingerprint) -> int:
    """How many memories of the tenant have no pieces of that embedder."""
    embedder = session.value("employed_embedder", fingerprint=str(fingerprint))
    if embedder is None:
        return int(session.value("count_memories"))
    return int(session.value("count_pending", embedder=embedder))


def _put(database: Database, session: Session, made: Sequence[tuple[int, str, Pieces]]) -> int:
    session.run("lock_writers_shared", words=WORDS_LOCK, own=writers_lock(session.tenant))
    employed = session.run("employed")
    keys = int8s(np.unique([key for key, _, _ in made]).astype(np.int64))
    rows = session.rows("lock_keys", keys=keys)
    placing = Placing(dict(employed.fetchall()))
    missing = {
        one.fingerprint for _, _, one in made if str(one.fingerprint) not in placing.employed
    }
    if missing:
        raise Unemployed(missing)
    there = {key: (partition, database.text(session, text)) for key, partition, text in rows}
    kept = [(key, pieces) for key, text, pieces in made if there.get(key, (0, None))[1] == text]
    for key, pieces in kept:
        placing.replace(there[key][0], key, [pieces], text_changed=False)
    placing.run(session)
    session.run("warm", keys=int8s(key for key, _ in kept))
    announce(session, [(there[key][0], key) for key, _ in kept])
    return len(kept)

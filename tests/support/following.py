"""Vectors in real stores, and a look into engines, for tests of indexes that follow the store."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import numpy as np

from remanence.backends.index.remote import Engine, FollowingIndex
from remanence.errors import IndexUnavailable
from remanence.model.embedding import Fingerprint, FloatArray, quantised
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Store
from remanence.model.ports.vector_index import Nearest
from remanence.model.scope import Reach
from remanence.model.write import Insert, Piece, Pieces, Remove
from remanence.testing.patience import until
from remanence.testing.store_suites.making import memory, write
from remanence.testing.vector_index import PieceSource

DIMENSION = 32
FINGERPRINT = Fingerprint("following", "2" * 64, DIMENSION, "mean")


def followed(store: Store, engine: Engine) -> FollowingIndex:
    """An index that asks the engine whatever the size of a partition."""
    identity = store.upkeep.identity
    return FollowingIndex(store, FINGERPRINT, engine, identity=identity, small=0)


class FollowedPieces(PieceSource):
    """The index suite's source of pieces with what a follower needs besides."""

    def __init__(self) -> None:
        super().__init__()
        self.identity = uuid4().hex
        self._busy: dict[str, threading.Lock] = {}
        self._written: set[int] = set()
        self._bell = threading.Event()

    def put(self, partition: int, vectors: dict[int, FloatArray]) -> None:
        super().put(partition, vectors)
        self._written.add(partition)
        self._bell.set()

    def watch(self, timeout_s: float) -> list[int]:
        self._bell.wait(timeout_s)
        self._bell.clear()
        named, self._written = self._written, set()
        return sorted(named)

    @contextmanager
    def alone(self, name: str) -> Iterator[bool]:
        lock = self._busy.setdefault(name, threading.Lock())
        mine = lock.acquire(blocking=False)
        try:
            yield mine
        finally:
            if mine:
                lock.release()

    def tenants(self) -> list[str]:
        return ["t"]

    def partitions(self, reach: Reach) -> list[int]:
        return sorted(set(self._partition_of.values()))


def vectors(count: int, seed: int) -> FloatArray:
    """Random unit vectors, a row each."""
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def put(
    store: Store, rows: FloatArray, user: str | None = None, tenant: str = "t"
) -> list[MemoryRecord]:
    """A memory with one piece for each vector."""
    actions = [
        Insert(record=memory(f"row {n}", tenant, user_id=user), pieces=_one_piece(row))
        for n, row in enumerate(rows)
    ]
    return list(write(store, *actions, tenant=tenant).records)


def erase(store: Store, records: list[MemoryRecord]) -> None:
    """Remove memories of one tenant."""
    write(store, *(Remove(id=record.id) for record in records), tenant=records[0].tenant)


def keys_of(store: Store, records: list[MemoryRecord]) -> list[int]:
    """The keys of memories that are there."""
    found = (store.recall.key_of(record.tenant, record.id) for record in records)
    return [place[1] for place in found if place is not None]


def stored(store: Store, partition: int) -> set[tuple[int, int]]:
    """(key, part) of each piece of a partition in the store."""
    return {(key, part) for key, part, _ in store.vectors.scan(FINGERPRINT, partition)}


def held(engine: Engine, partition: int, limit: int = 4096) -> set[tuple[int, int]]:
    """(key, part) of each point of a partition in the engine."""
    found = engine.nearest(partition, vectors(1, 0)[0], limit)
    assert engine.count(partition) == len(found.keys)
    return set(zip(found.keys.tolist(), found.parts.tolist(), strict=True))


def patiently(index: FollowingIndex, partition: int, vector: FloatArray, limit: int) -> Nearest:
    """The answer, as soon as the index can give it; the engine then has all of it."""
    answers: list[Nearest] = []

    def answered() -> bool:
        try:
            answers.append(index.nearest(partition, vector, limit))
        except IndexUnavailable:
            return False
        return True

    until(answered)
    index.flush()
    return answers[0]


def _one_piece(row: FloatArray) -> Pieces:
    piece = Piece(part=0, passage=0, start=0, stop=1, vector=quantised(row), codes=b"")
    return Pieces(fingerprint=FINGERPRINT, pieces=(piece,))

"""ChromaEngine: points in a few Chroma collections, and their positions in another."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

import numpy as np

from remanence.index.chroma.place import Bucket, Numbers, Place, Where
from remanence.index.chroma.server import ServerPlace
from remanence.index.follower.engine import MOST, EngineDown, Points
from remanence.model.embedding import FloatArray
from remanence.ports.store import Keys
from remanence.ports.vector_index import Nearest
from remanence.silence import hush

BUCKETS = 16
SMALL_S = 60.0


class ChromaEngine:
    """An `Engine` on Chroma: `where` is a folder, or `http://host:port` of a server.

    A folder is for one process at a time, until that closes it: each has a graph of its own in
    memory, and would not see what another writes. Others get `EngineDown`. Choosing a
    partition by a filter costs Chroma 1 to 2 ms per 1,000 points of the collection, and a
    collection costs 3 MB and four open files. So partitions share a few collections, and one that
    is a large share of its own is found without the filter; where that fails, not for a minute.
    """

    chooses = 0  # the store itself is quicker

    def __init__(self, where: str, *, timeout_s: float = 2.0) -> None:
        self._where, self._timeout_s = where, timeout_s
        self._place: Place | None = None
        self._inherited: Place | None = None
        self._process = 0
        self._name = ""
        self._buckets: list[Bucket] = []
        self._small_until: dict[int, float] = {}

    def ensure(self, collection: str, dimension: int) -> None:
        """As in `Engine`."""
        self._name = collection
        place = self._connected()
        self._marks = place.bucket(self._named("marks"))
        self._buckets = [place.bucket(self._named(number)) for number in range(BUCKETS)]

    def nearest(
        self, partition: int, vector: FloatArray, limit: int, allowed: Keys | None = None
    ) -> Nearest:
        """As in `Engine`; `allowed` is never given."""
        if time.monotonic() > self._small_until.get(partition, 0.0):
            found = self._chosen(partition, vector, 2 * limit, None)
            if len(found.keys) >= limit:
                return Nearest(found.keys[:limit], found.parts[:limit], found.scores[:limit])
            self._small_until[partition] = time.monotonic() + SMALL_S
        return self._chosen(partition, vector, limit, _of(partition))

    def position(self, partition: int) -> int | None:
        """As in `Engine`; a mark speaks of one making of a collection only."""
        bucket = self._bucket(partition)
        found = self._marks.numbers(str(partition))
        return int(found["position"]) if found and found["of"] == bucket.id else None

    def replace(self, partition: int, keys: Sequence[int], points: Points, position: int) -> None:
        """As in `Engine`."""
        self.upsert(partition, points)
        bucket = self._bucket(partition)
        held = bucket.ids({"memory": {"$in": list(keys)}})
        _delete(bucket, sorted(set(held) - set(_ids(partition, points))))
        self._marks.update(str(partition), {"position": position})

    def upsert(self, partition: int, points: Points) -> None:
        """As in `Engine`."""
        bucket = self._bucket(partition)
        for some in points.slices():
            numbers = [{"partition": partition, "memory": key} for key in some.keys.tolist()]
            bucket.upsert(_ids(partition, some), some.vectors, numbers)

    def set_position(self, partition: int, position: int) -> None:
        """As in `Engine`."""
        told: Numbers = {"position": position, "of": self._bucket(partition).id}
        self._marks.upsert([str(partition)], np.ones((1, 1), np.float32), [told])

    def clear(self, partition: int) -> None:
        """As in `Engine`; the position goes first."""
        bucket = self._bucket(partition)
        self._marks.delete([str(partition)])
        _delete(bucket, bucket.ids(_of(partition)))

    def count(self, partition: int | None = None) -> int:
        """As in `Engine`."""
        if partition is None:
            return sum(bucket.count() for bucket in self._buckets)
        return len(self._bucket(partition).ids(_of(partition)))

    def drop(self) -> None:
        """As in `Engine`."""
        for suffix in ("marks", *range(BUCKETS)):
            self._connected().remove(self._named(suffix))

    def close(self) -> None:
        """As in `Engine`."""
        if self._place is not None and self._process == os.getpid():
            self._place.close()

    def _connected(self) -> Place:
        if self._place is None or self._process != os.getpid():
            self._inherited = self._place  # kept: its connections are the parent's to end
            self._place = _place(self._where, self._timeout_s)
            self._process = os.getpid()
        return self._place

    def _chosen(
        self, partition: int, vector: FloatArray, limit: int, where: Where | None
    ) -> Nearest:
        """The partition's own among the nearest of its bucket that `where` chooses."""
        ids, distances = self._bucket(partition).nearest(vector, limit, where)
        rows = np.array([id.split(":") for id in ids], np.int64).reshape(-1, 3)
        own = rows[:, 0] == partition
        return Nearest(rows[own, 1], rows[own, 2], 1 - np.asarray(distances, np.float32)[own])

    def _bucket(self, partition: int) -> Bucket:
        if not self._buckets:
            raise EngineDown("it was never reached")
        return self._buckets[partition % BUCKETS]

    def _named(self, suffix: str | int) -> str:
        return f"{self._name}_{suffix}"


def _place(where: str, timeout_s: float) -> Place:
    if where.startswith(("http://", "https://")):
        return ServerPlace(where, timeout_s)
    hush()
    from remanence.index.chroma.folder import FolderPlace

    return FolderPlace(where)


def _of(partition: int) -> Where:
    return {"partition": partition}


def _ids(partition: int, points: Points) -> list[str]:
    pairs = zip(points.keys.tolist(), points.parts.tolist(), strict=True)
    return [f"{partition}:{key}:{part}" for key, part in pairs]


def _delete(bucket: Bucket, ids: list[str]) -> None:
    for some in _slices(ids):
        bucket.delete(some)


def _slices(ids: list[str]) -> Iterator[list[str]]:
    for at in range(0, len(ids), MOST):
        yield ids[at : at + MOST]

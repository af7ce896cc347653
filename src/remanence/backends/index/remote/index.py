"""FollowingIndex: nearest pieces from an engine on a server, scored by the store's own vectors."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np

from remanence.backends.index.bits.partition import unpacked
from remanence.backends.index.remote.engine import PART_BITS, Engine, Refused
from remanence.backends.index.remote.replication import LOOK_S, Following, Unseen, Worker
from remanence.errors import Closed, IndexUnavailable
from remanence.model.embedding import Fingerprint, FloatArray, unit_of
from remanence.model.ports.store import Keys, Store
from remanence.model.ports.vector_index import IndexStats, Nearest, VectorIndex
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.system.files import remove

CHUNK = 4096

SMALL = 300  # changes of a partition whose vectors the store yields before an engine answers
NARROW = 2000  # memories whose vectors the store itself yields as quickly
FAR = 4096  # points an engine is asked for at most
SOON_S = 5.0
STUCK_S = 60.0


class Scoring:
    """Cosines of stored 8-bit vectors, read in chunks."""

    def __init__(self, source: Store, fingerprint: Fingerprint) -> None:
        self._source, self._fingerprint = source, fingerprint

    def of_all(self, partition: int, query: FloatArray, limit: int) -> Nearest:
        """The nearest pieces of a whole partition."""
        scan = self._source.vectors.scan(self._fingerprint, partition)
        found = Nearest.nothing()
        while chunk := list(islice(scan, CHUNK)):
            found = found.together(self._scored(chunk, query)).best(limit)
        return found

    def of(self, partition: int, query: FloatArray, keys: Sequence[int], limit: int) -> Nearest:
        """The nearest pieces of these memories."""
        found = Nearest.nothing()
        for at in range(0, len(keys), CHUNK):
            rows = self._rows(partition, keys[at : at + CHUNK])
            found = found.together(self._scored(list(rows), query)).best(limit)
        return found

    def again(self, partition: int, query: FloatArray, found: Nearest) -> Nearest:
        """The same pieces with exact scores, less those that the store no longer has."""
        rows = list(self._rows(partition, np.unique(found.keys).tolist()))
        scored = self._scored(rows, query)
        return scored.take(np.isin(_joined(scored), _joined(found)))

    def _rows(self, partition: int, keys: Sequence[int]) -> Iterator[tuple[int, int, bytes]]:
        for piece in self._source.vectors.pieces(self._fingerprint, partition, keys):
            yield piece.key, piece.part, piece.vector

    def _scored(self, rows: list[tuple[int, int, bytes]], query: FloatArray) -> Nearest:
        return unpacked(rows, self._fingerprint.dimension).scored(query)


def among(found: Nearest, allowed: Keys) -> Nearest:
    """Only the pieces of allowed memories (ascending keys)."""
    at = np.searchsorted(allowed, found.keys)
    at[at == len(allowed)] = 0
    return found.take(allowed[at] == found.keys)


def _joined(found: Nearest) -> Keys:
    return (found.keys << PART_BITS) | found.parts


class FollowingIndex:
    """A `VectorIndex` over an engine that keeps up with the store by its change feed.

    The engine holds numbers and vectors alone. An answer is never older than the store: memories
    that the engine has yet to hear of are scored from the store, while a thread tells it of them.
    An engine that is far behind, empty or down makes `nearest` raise `IndexUnavailable` until that
    thread has mended it. Partitions of at most `small` changes come from the store in any case.
    Safe to use after a fork.
    """

    def __init__(
        self,
        source: Store,
        fingerprint: Fingerprint,
        engine: Engine,
        *,
        identity: str,
        small: int = SMALL,
    ) -> None:
        self._small = small
        self._source, self._fingerprint, self._engine = source, fingerprint, engine
        self.collection = collection_name(identity, fingerprint)
        self._scoring = Scoring(source, fingerprint)
        self._vectors = 0
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._following = Following(self._source, self._fingerprint, self._engine, self.collection)
        self._worker = Worker(self._source, self._following)

    def nearest(
        self,
        partition: int,
        vector: FloatArray,
        limit: int,
        allowed: Keys | None = None,
        *,
        exact: bool = True,
    ) -> Nearest:
        """As in `VectorIndex`; few memories, and very many pieces, come from the store itself.

        So does an answer of which the engine has less than `limit`: an engine that another
        process has just emptied looks like one of few points.
        """
        query = unit_of(vector, self._fingerprint)
        self._use()
        if limit <= 0 or (allowed is not None and not len(allowed)):
            return Nearest.nothing()
        if allowed is not None and len(allowed) <= NARROW:
            return self._scoring.of(partition, query, allowed.tolist(), limit)
        # A partition has no more memories than its feed has entries.
        if limit > FAR or self._source.recall.position(partition) <= self._small:
            return self._from_store(partition, query, limit, allowed)
        return self._from_engine(partition, query, limit, allowed, exact)

    def stats(self) -> IndexStats:
        """As in `VectorIndex`; of an engine that is down, what it last held."""
        self._use()
        following = self._following
        with suppress(IndexUnavailable), following.access.engine() as engine:
            self._vectors = engine.count()
        problem = following.access.problem
        return IndexStats(
            vectors=self._vectors,
            bytes_in_memory=sys.getsizeof(following.touched),
            behind=following.behind(),
            healthy=not problem,
            detail=problem,
        )

    def flush(self, partitions: Iterable[int] = ()) -> bool:
        """Bring these partitions, and all this process has had to do with, up to date now.

        What an engine that is down cannot do now is done when it is back; then it is False.
        """
        self._use()
        asked, done = set(partitions), set[int]()
        owed = {*asked, *self._following.touched, *self._worker.owed}
        for partition in owed:
            self._worker.owe(partition)
        for partition in sorted(owed):
            with suppress(IndexUnavailable):
                self._bring(partition, SOON_S)
                done.add(partition)
            if self._following.access.problem:
                break
        return (asked or owed) <= done

    def follow_all(self, progress: Progress | None = None) -> None:
        """Bring every partition of every tenant up to date; progress in partitions."""
        self._use()
        self._following.forget()
        every = list(self._partitions())
        for done, partition in enumerate(every):
            if progress is not None:
                progress(done, len(every))
            self._bring(partition, STUCK_S)
        if progress is not None:
            progress(len(every), len(every))

    def rebuild(self, progress: Progress | None = None) -> None:
        """As in `VectorIndex`: the whole collection, for every process that uses it."""
        self._use()
        self._following.access.probe()
        self._following.access.remake()
        self.follow_all(progress)

    def close(self) -> None:
        """As in `VectorIndex`; the engine keeps what it has."""
        if self._closed:
            return
        self._closed = True
        if self._process == os.getpid():
            self._worker.stop(SOON_S)
            self._engine.close()

    def _use(self) -> None:
        if self._closed:
            raise Closed("The index is closed; open the memory again.")
        if self._process != os.getpid():
            self._begin()
        self._worker.start()

    def _from_engine(
        self, partition: int, query: FloatArray, limit: int, allowed: Keys | None, exact: bool
    ) -> Nearest:
        try:
            unseen = self._following.unseen(partition)
        except IndexUnavailable:
            self._worker.owe(partition)
            raise
        if unseen.keys:
            self._worker.owe(partition)
        if not unseen.filled:
            return self._changed(partition, query, limit, allowed, unseen)
        found, exhausted = self._asked(partition, query, limit + 2 * len(unseen.keys), allowed)
        kept = self._scoring.again(partition, query, found) if exact else found
        kept = kept.take(~np.isin(kept.keys, np.array(unseen.keys, np.int64)))
        if len(kept.keys) >= limit:
            fresh = self._changed(partition, query, limit, allowed, unseen)
            return kept.together(fresh).best(limit)
        whole = self._from_store(partition, query, limit, allowed)
        if exhausted and not unseen.keys and len(whole.keys) > len(kept.keys):
            self._worker.doubt(partition)
        return whole

    def _changed(
        self, partition: int, query: FloatArray, limit: int, allowed: Keys | None, unseen: Unseen
    ) -> Nearest:
        """The nearest pieces of memories that the engine has yet to hear of."""
        keys = np.array(unseen.keys, np.int64)
        wanted = keys if allowed is None else keys[np.isin(keys, allowed)]
        return self._scoring.of(partition, query, wanted.tolist(), limit)

    def _from_store(
        self, partition: int, query: FloatArray, limit: int, allowed: Keys | None
    ) -> Nearest:
        if allowed is None:
            return self._scoring.of_all(partition, query, limit)
        return self._scoring.of(partition, query, allowed.tolist(), limit)

    def _asked(
        self, partition: int, query: FloatArray, limit: int, allowed: Keys | None
    ) -> tuple[Nearest, bool]:
        """A few more points than `limit`, as the engine's scores are rounded; are these all?

        Of many allowed memories, the engine is asked without them first, for more and more.
        """
        some = limit + limit // 4 + 8
        with self._following.access.engine() as engine:
            if allowed is None:
                found = engine.nearest(partition, query, some)
                return found, len(found.keys) < some
            found, asked = Nearest.nothing(), 2 * some
            while asked <= FAR:
                every = engine.nearest(partition, query, asked)
                found = among(every, allowed)
                exhausted = len(every.keys) < asked
                if exhausted or len(found.keys) >= some:
                    return found, exhausted
                share = max(len(found.keys), 1) / len(every.keys)
                asked = max(int(1.5 * some / share), 2 * asked)
            if len(allowed) <= engine.chooses:
                found = engine.nearest(partition, query, some, allowed)
                return found, len(found.keys) < some
        return found, False

    def _bring(self, partition: int, within_s: float) -> None:
        """Bring a partition up to date, after whoever else is at it."""
        deadline = time.monotonic() + within_s
        while not self._brought(partition):
            if time.monotonic() > deadline:
                raise IndexUnavailable(
                    f"Another process has been at partition {partition} for {within_s:.0f} s; "
                    "end it if it hangs, and try again."
                )
            time.sleep(LOOK_S)

    def _brought(self, partition: int) -> bool:
        """Whether it is up to date now; a failure that is over, as of a rebuild, does not count."""
        try:
            return self._following.bring(partition)
        except IndexUnavailable as error:
            if isinstance(error.__cause__, Refused) or not self._following.access.probe():
                raise
            return False

    def _partitions(self) -> Iterator[int]:
        for tenant in self._source.upkeep.tenants():
            yield from self._source.recall.partitions(Reach(tenant=tenant, all_users=True))


def collection_name(identity: str, fingerprint: Fingerprint) -> str:
    """A store's collection for one embedder; nothing in it can be read back."""
    digest = blake2b(str(fingerprint).encode(), digest_size=6).hexdigest()
    return f"remanence_{identity[:16]}_{digest}"


class WithStandby:
    """A `VectorIndex` that never lets a search fail; the standby is made when first needed.

    `file` is the standby's cache, if it has one: what is erased must not stay in it either.
    """

    def __init__(
        self, first: VectorIndex, standby: Callable[[], VectorIndex], file: Path | None = None
    ) -> None:
        self.first = first
        self._file = file
        self._make = standby
        self._standby: VectorIndex | None = None
        self._lock = threading.Lock()

    def nearest(
        self,
        partition: int,
        vector: FloatArray,
        limit: int,
        allowed: Keys | None = None,
        *,
        exact: bool = True,
    ) -> Nearest:
        """As in `VectorIndex`, from the first index that can answer."""
        try:
            return self.first.nearest(partition, vector, limit, allowed, exact=exact)
        except IndexUnavailable as error:
            found = self._second().nearest(partition, vector, limit, allowed, exact=exact)
            return replace(found, degraded=f"index: {error}")

    def stats(self) -> IndexStats:
        """The first index's, with what the standby holds in this process."""
        told = self.first.stats()
        if self._standby is None:
            return told
        held = self._standby.stats().bytes_in_memory
        return replace(told, bytes_in_memory=told.bytes_in_memory + held)

    def flush(self, partitions: Iterable[int] = ()) -> bool:
        """As in `VectorIndex`."""
        chosen = tuple(partitions)
        self._forget_file()
        followed = [index.flush(chosen) for index in self._there()]
        return all(followed)

    def rebuild(self, progress: Progress | None = None) -> None:
        """As in `VectorIndex`; the standby reads the store when it is next needed."""
        self._forget_file()
        self._each(lambda index: index.rebuild(progress if index is self.first else None))

    def close(self) -> None:
        """As in `VectorIndex`."""
        self._each(lambda index: index.close())

    def _second(self) -> VectorIndex:
        with self._lock:
            if self._standby is None:
                self._standby = self._make()
            return self._standby

    def _forget_file(self) -> None:
        """Remove a file that an earlier run has left, and nobody here would rewrite."""
        with self._lock:
            if self._standby is None and self._file is not None:
                remove(self._file)

    def _each(self, act: Callable[[VectorIndex], None]) -> None:
        for index in self._there():
            act(index)

    def _there(self) -> list[VectorIndex]:
        return [index for index in (self._standby, self.first) if index is not None]

"""ChromaEngine: points in a few Chroma collections, positions in another; a folder or a server."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import chromadb
import numpy as np
from chromadb.api.client import Client
from chromadb.api.collection_configuration import CreateCollectionConfiguration
from chromadb.api.models.Collection import Collection
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from chromadb.errors import ChromaError

from remanence.backends.index.remote.engine import MOST, EngineDown, Nodes, Points
from remanence.model.embedding import FloatArray
from remanence.model.fork_safety import ForkSafeLock
from remanence.model.ports.store import Keys
from remanence.model.ports.vector_index import Nearest
from remanence.model.system.locks import try_lock
from remanence.model.telemetry import hush

BUCKETS = 16
SMALL_S = 60.0
SLOW_S = 60.0
KIND = {"hnsw": {"space": "cosine", "ef_construction": 100, "max_neighbors": 16, "ef_search": 200}}
_PATH = "/api/v2/tenants/default_tenant/databases/default_database/collections"

Where: TypeAlias = dict[str, Any]
Numbers: TypeAlias = Mapping[str, int | str]


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
        self._place: ChromaPlace | None = None
        self._inherited: ChromaPlace | None = None
        self._process = 0
        self._name = ""
        self._buckets: list[_Bucket] = []
        self._small_until: dict[int, float] = {}

    def ensure(self, collection: str, dimension: int) -> None:
        """As in `Engine`."""
        self._name = collection
        place = self._connected()
        self._marks = _Bucket(place, place.made(self._named("marks")))
        self._buckets = [_Bucket(place, place.made(self._named(n))) for n in range(BUCKETS)]

    def nearest(
        self, partition: int, vector: FloatArray, limit: int, allowed: Keys | None = None
    ) -> Nearest:
        """As in `Engine`; `allowed` is never given."""
        if time.monotonic() > self._small_until.get(partition, 0.0):
            found = self._chosen(partition, vector, 2 * limit, None)
            if len(found.keys) >= limit:
                return found.take(np.arange(limit))
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
        bucket.delete(sorted(set(held) - set(_ids(partition, points))))
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
        bucket.delete(bucket.ids(_of(partition)))

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

    def _connected(self) -> ChromaPlace:
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

    def _bucket(self, partition: int) -> _Bucket:
        if not self._buckets:
            raise EngineDown("it was never reached")
        return self._buckets[partition % BUCKETS]

    def _named(self, suffix: str | int) -> str:
        return f"{self._name}_{suffix}"


class ChromaPlace(Protocol):
    """Where the collections are. A failure is an `EngineDown`."""

    def made(self, name: str) -> str:
        """The id of the collection of that name; one that is not there is made, under a new id."""

    def ask(self, id: str, verb: str, body: Mapping[str, Any], *, slow: bool) -> Any:
        """What a collection answers to a verb of Chroma's, whose arguments are the body."""

    def remove(self, name: str) -> None:
        """Remove a collection."""

    def close(self) -> None:
        """Let go."""


class _ServerPlace:
    """Collections of a server, by its REST interface; searches wait `timeout_s`, writes longer."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._nodes, self._timeout_s = Nodes([url], {}), timeout_s

    def made(self, name: str) -> str:
        body = {"name": name, "get_or_create": True, "configuration": KIND}
        return str(self._ask("POST", "", body)["id"])

    def ask(self, id: str, verb: str, body: Mapping[str, Any], *, slow: bool) -> Any:
        method = "POST" if body else "GET"
        return self._ask(method, f"/{id}/{verb}", body or None, slow=slow)

    def remove(self, name: str) -> None:
        self._nodes.ask("DELETE", f"{_PATH}/{name}", timeout_s=SLOW_S)

    def close(self) -> None:
        self._nodes.close()

    def _ask(self, method: str, path: str, body: object, *, slow: bool = False) -> Any:
        limit = SLOW_S if slow else self._timeout_s
        found = self._nodes.ask(method, _PATH + path, body, timeout_s=limit)
        if found is None:
            raise EngineDown("Chroma has lost a collection; it is made anew")
        return found


@dataclass(frozen=True, slots=True)
class _Bucket:
    """One collection."""

    place: ChromaPlace
    id: str

    def nearest(
        self, vector: FloatArray, limit: int, where: Where | None
    ) -> tuple[list[str], list[float]]:
        """Ids and cosine distances, nearest first."""
        body = {"query_embeddings": vector[None], "n_results": limit, "include": ["distances"]}
        found = self._do("query", body if where is None else {**body, "where": where})
        return found["ids"][0], (found["distances"] or [[]])[0]

    def ids(self, where: Where) -> list[str]:
        """The ids of all that fit."""
        found: list[str] = self._do("get", {"where": where, "include": []}, slow=True)["ids"]
        return found

    def numbers(self, id: str) -> Numbers | None:
        """What is noted with an id."""
        found = self._do("get", {"ids": [id], "include": ["metadatas"]})["metadatas"]
        return found[0] if found else None

    def upsert(self, ids: list[str], vectors: FloatArray, numbers: Sequence[Numbers]) -> None:
        """Add or replace."""
        self._do("upsert", {"ids": ids, "embeddings": vectors, "metadatas": numbers}, slow=True)

    def update(self, id: str, numbers: Numbers) -> None:
        """Change what is noted with an id; one that is not there stays so."""
        self._do("update", {"ids": [id], "metadatas": [numbers]})

    def delete(self, ids: list[str]) -> None:
        """Remove."""
        for at in range(0, len(ids), MOST):
            self._do("delete", {"ids": ids[at : at + MOST]}, slow=True)

    def count(self) -> int:
        """How many there are."""
        return int(self._do("count", {}))

    def _do(self, verb: str, body: Mapping[str, Any], *, slow: bool = False) -> Any:
        return self.place.ask(self.id, verb, body, slow=slow)


def _place(where: str, timeout_s: float) -> ChromaPlace:
    if where.startswith(("http://", "https://")):
        return _ServerPlace(where, timeout_s)
    hush()
    from remanence.backends.index.chroma import FolderPlace

    return FolderPlace(where, KIND)


def _of(partition: int) -> Where:
    return {"partition": partition}


def _ids(partition: int, points: Points) -> list[str]:
    pairs = zip(points.keys.tolist(), points.parts.tolist(), strict=True)
    return [f"{partition}:{key}:{part}" for key, part in pairs]


FILE = "remanence.lock"

_lock = ForkSafeLock()
_held: dict[str, _Held] = {}

_importer = os.getpid()


@dataclass(slots=True)
class _Held:
    file: int
    process: int
    times: int


class Hold:
    """Taken as often as this process likes and by no other; `EngineDown` if one has it.

    The lock is the process's: a forked child does not have it, and it goes when the process ends.
    """

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._path = os.path.join(os.path.realpath(folder), FILE)
        self._process = os.getpid()
        with _lock:
            held = _held.get(self._path)
            if held is None or held.process != self._process:
                # A file that the parent opened stays open: to close it would end this lock.
                held = _held[self._path] = _Held(_locked(self._path), self._process, 0)
            held.times += 1

    def release(self) -> None:
        """Let others have it, once every hold of this process is released."""
        with _lock:
            held = _held.get(self._path)
            if held is None or held.process != os.getpid() or self._process != held.process:
                return
            held.times -= 1
            if not held.times:
                del _held[self._path]
                os.close(held.file)


def _locked(path: str) -> int:
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if try_lock(file):
            return file
    except OSError as error:
        os.close(file)
        raise EngineDown(f"{path} cannot be locked ({error}); check its rights") from error
    os.close(file)
    raise EngineDown(
        f"another process has the folder {os.path.dirname(path)}; to share it, serve it with "
        "`chroma run --path` and set index_url to its address"
    )


@contextmanager
def translated() -> Iterator[None]:
    """Chroma's failures as `EngineDown`."""
    try:
        yield
    except (ChromaError, OSError, ValueError, RuntimeError) as error:
        reason = str(error)[:200] or type(error).__name__
        raise EngineDown(f"Chroma failed ({reason}); see whether its folder is whole") from error


class FolderPlace:
    """Collections of a folder, which is for one process at a time; nobody is told of its use.

    `kind` is how a collection that is made is to be built.
    """

    def __init__(self, folder: str, kind: Mapping[str, Any]) -> None:
        if os.getpid() != _importer:  # the threads that serve open folders stayed in the parent
            SharedSystemClient.clear_system_cache()
        self._kind = cast(CreateCollectionConfiguration, kind)
        self._collections: dict[str, Collection] = {}
        with translated():
            self._hold = Hold(folder)
            try:
                settings = Settings(anonymized_telemetry=False)
                self._client = cast(Client, chromadb.PersistentClient(folder, settings=settings))
            except BaseException:
                self._hold.release()
                raise

    def made(self, name: str) -> str:
        """As in `ChromaPlace`."""
        with translated():
            found = self._client.get_or_create_collection(
                name, embedding_function=None, configuration=self._kind
            )
        id = str(found.id)
        self._collections[id] = found
        return id

    def ask(self, id: str, verb: str, body: Mapping[str, Any], *, slow: bool) -> Any:
        """As in `ChromaPlace`; nobody waits for a server here."""
        with translated():
            return getattr(self._collections[id], verb)(**body)

    def remove(self, name: str) -> None:
        """As in `ChromaPlace`."""
        with translated():
            self._client.delete_collection(name)

    def close(self) -> None:
        """As in `ChromaPlace`."""
        self._client.close()
        self._hold.release()

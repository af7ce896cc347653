"""QdrantEngine: points and positions in one Qdrant collection, of one node or a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np

from remanence.backends.index.remote.engine import PART_BITS, EngineDown, Nodes, Points
from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Keys
from remanence.model.ports.vector_index import Nearest

SLOW_S = 60.0
EF = 400
_MARKERS = 0x72656D616E656E6365 << 56
_INDEXES = {
    "partition": {"type": "keyword", "is_tenant": True},
    "memory": {"type": "integer", "lookup": True, "range": False},
}


class QdrantEngine:
    """An `Engine` on one Qdrant node or on a cluster of them.

    `urls` are the nodes; a request goes to the next one when a node fails, and each waits
    `timeout_s` divided among them. With `replicas` of 2 or more any one node may die: a write is
    done when `must_write` replicas have it, and a replica that missed some is brought up to date
    by Qdrant before it is read again. `shards` left out is one a node. These hold for a
    collection that is made, not for one that is there.
    """

    chooses = 200_000

    def __init__(
        self,
        urls: Sequence[str],
        *,
        api_key: str | None = None,
        timeout_s: float = 2.0,
        replicas: int = 2,
        must_write: int = 1,
        shards: int | None = None,
    ) -> None:
        self._urls, self._api_key = tuple(urls), api_key
        self._each_s = timeout_s / max(len(self._urls), 1)
        self._replicas, self._must_write, self._shards = replicas, must_write, shards
        self._nodes: Nodes | None = None
        self._inherited: Nodes | None = None
        self._process = 0
        self._path = ""

    def ensure(self, collection: str, dimension: int) -> None:
        """As in `Engine`."""
        if self._process != os.getpid():
            self._inherited = self._nodes  # kept: its connections are the parent's to end
            self._nodes = Nodes(self._urls, {"api-key": self._api_key} if self._api_key else {})
            self._process = os.getpid()
        self._path = f"/collections/{collection}"
        found = self._ask("GET", "")
        if found is None:
            self._create(dimension)
        for field, schema in _INDEXES.items():
            if found is None or field not in found["payload_schema"]:
                body = {"field_name": field, "field_schema": schema}
                self._must("PUT", "/index?wait=true", body, SLOW_S)

    def nearest(
        self, partition: int, vector: FloatArray, limit: int, allowed: Keys | None = None
    ) -> Nearest:
        """As in `Engine`."""
        body = {
            "query": vector,
            "limit": limit,
            "filter": _of(partition, allowed),
            "params": {
                "hnsw_ef": max(EF, limit),
                "quantization": {"rescore": True, "oversampling": 2.0},
            },
            "with_payload": False,
        }
        found = self._must("POST", "/points/query", body, self._each_s)["points"]
        ids = np.fromiter((point["id"] for point in found), np.int64, len(found))
        scores = np.fromiter((point["score"] for point in found), np.float32, len(found))
        return Nearest(ids >> PART_BITS, ids & ((1 << PART_BITS) - 1), scores)

    def position(self, partition: int) -> int | None:
        """As in `Engine`."""
        body = {"ids": [_marker(partition)], "with_payload": True, "with_vector": False}
        found = self._must("POST", "/points", body, self._each_s)
        return int(found[0]["payload"]["position"]) if found else None

    def replace(self, partition: int, keys: Sequence[int], points: Points, position: int) -> None:
        """As in `Engine`; the steps of one request Qdrant does in order."""
        self.upsert(partition, points)
        kept = [{"has_id": _ids(points)}]
        gone = {**_of(partition, np.asarray(keys, np.int64)), "must_not": kept}
        moved = {"payload": {"position": position}, "filter": _is(_marker(partition))}
        steps = [{"delete": {"filter": gone}}, {"set_payload": moved}]
        self._must("POST", "/points/batch?wait=true", {"operations": steps}, SLOW_S)

    def upsert(self, partition: int, points: Points) -> None:
        """As in `Engine`."""
        for some in points.slices():
            body = {"batch": _batch(partition, some)}
            self._must("PUT", "/points?wait=true", body, SLOW_S)

    def set_position(self, partition: int, position: int) -> None:
        """As in `Engine`; the mark is a point without a vector, so no search finds it."""
        mark = {"id": _marker(partition), "vector": {}, "payload": {"position": position}}
        self._must("PUT", "/points?wait=true", {"points": [mark]}, SLOW_S)

    def clear(self, partition: int) -> None:
        """As in `Engine`; the position goes first."""
        for gone in (_is(_marker(partition)), _of(partition)):
            self._must("POST", "/points/delete?wait=true", {"filter": gone}, SLOW_S)

    def count(self, partition: int | None = None) -> int:
        """As in `Engine`."""
        counted = {"must_not": [{"is_empty": {"key": "partition"}}]}
        body = {"exact": True, "filter": counted if partition is None else _of(partition)}
        return int(self._must("POST", "/points/count", body, SLOW_S)["count"])

    def drop(self) -> None:
        """As in `Engine`."""
        self._must("DELETE", f"?timeout={SLOW_S:.0f}", None, SLOW_S)

    def close(self) -> None:
        """As in `Engine`."""
        if self._nodes is not None and self._process == os.getpid():
            self._nodes.close()

    def _create(self, dimension: int) -> None:
        """Exact vectors on disk in 16 bits, 8-bit ones in memory, and a graph per partition.

        100,000 vectors of 1,000 partitions are indexed in 10 s so, and in 66 s by one graph for
        all; a single partition of as many takes 50 s against 31. Searches are as quick.
        """
        body: dict[str, Any] = {
            "vectors": {
                "size": dimension,
                "distance": "Cosine",
                "on_disk": True,
                "datatype": "float16",
            },
            "quantization_config": {"scalar": {"type": "int8", "always_ram": True}},
            "hnsw_config": {"m": 0, "payload_m": 16},
            "on_disk_payload": True,
            "replication_factor": self._replicas,
            "write_consistency_factor": self._must_write,
        }
        if self._shards is not None:
            body["shard_number"] = self._shards
        try:
            self._must("PUT", f"?timeout={SLOW_S:.0f}", body, SLOW_S)
        except EngineDown:
            if self._ask("GET", "") is None:  # else another process has just made it
                raise

    def _must(self, method: str, path: str, body: object, timeout_s: float) -> Any:
        found = self._ask(method, path, body, timeout_s)
        if found is None:
            raise EngineDown("Qdrant has lost the collection; it is made anew")
        return found

    def _ask(
        self, method: str, path: str, body: object = None, timeout_s: float | None = None
    ) -> Any:
        if self._nodes is None:
            raise EngineDown("not connected")
        found = self._nodes.ask(
            method, self._path + path, body, timeout_s=timeout_s or self._each_s
        )
        return None if found is None else found["result"]


def _of(partition: int, allowed: Keys | None = None) -> dict[str, Any]:
    must: list[object] = [{"key": "partition", "match": {"value": str(partition)}}]
    if allowed is not None:
        must.append({"key": "memory", "match": {"any": allowed}})
    return {"must": must}


def _is(id: str) -> dict[str, Any]:
    return {"must": [{"has_id": [id]}]}


def _marker(partition: int) -> str:
    return str(UUID(int=_MARKERS | partition))


def _ids(points: Points) -> list[int]:
    ids: list[int] = ((points.keys << PART_BITS) | points.parts).tolist()
    return ids


def _batch(partition: int, points: Points) -> dict[str, Any]:
    number = str(partition)
    payloads = [{"partition": number, "memory": key} for key in points.keys.tolist()]
    return {"ids": _ids(points), "vectors": points.vectors, "payloads": payloads}

"""Chroma on a server, by its REST interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remanence.index.chroma.place import KIND, Numbers, Where
from remanence.index.follower.engine import EngineDown
from remanence.index.follower.nodes import Nodes
from remanence.model.embedding import FloatArray

SLOW_S = 60.0
_PATH = "/api/v2/tenants/default_tenant/databases/default_database/collections"


class ServerPlace:
    """Collections of a server; searches wait `timeout_s`, writes longer."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._nodes, self._timeout_s = Nodes([url], {}), timeout_s

    def bucket(self, name: str) -> ServerBucket:
        """As in `Place`."""
        body = {"name": name, "get_or_create": True, "configuration": KIND}
        return ServerBucket(self, self.ask("POST", "", body)["id"])

    def remove(self, name: str) -> None:
        """As in `Place`."""
        self._nodes.ask("DELETE", f"{_PATH}/{name}", timeout_s=SLOW_S)

    def ask(self, method: str, path: str, body: object = None, *, slow: bool = False) -> Any:
        """The answer to a request about collections, which must be there."""
        limit = SLOW_S if slow else self._timeout_s
        found = self._nodes.ask(method, _PATH + path, body, timeout_s=limit)
        if found is None:
            raise EngineDown("Chroma has lost a collection; it is made anew")
        return found

    def close(self) -> None:
        """As in `Place`."""
        self._nodes.close()


@dataclass(frozen=True, slots=True)
class ServerBucket:
    """As in `Bucket`."""

    place: ServerPlace
    id: str

    def nearest(
        self, vector: FloatArray, limit: int, where: Where | None
    ) -> tuple[list[str], list[float]]:
        """As in `Bucket`."""
        body = {"query_embeddings": vector[None], "n_results": limit, "include": ["distances"]}
        found = self._do("query", body if where is None else {**body, "where": where})
        return found["ids"][0], found["distances"][0]

    def ids(self, where: Where) -> list[str]:
        """As in `Bucket`."""
        found: list[str] = self._do("get", {"where": where, "include": []}, slow=True)["ids"]
        return found

    def numbers(self, id: str) -> Numbers | None:
        """As in `Bucket`."""
        found = self._do("get", {"ids": [id], "include": ["metadatas"]})["metadatas"]
        return found[0] if found else None

    def upsert(self, ids: list[str], vectors: FloatArray, numbers: Sequence[Numbers]) -> None:
        """As in `Bucket`."""
        self._do("upsert", {"ids": ids, "embeddings": vectors, "metadatas": numbers}, slow=True)

    def update(self, id: str, numbers: Numbers) -> None:
        """As in `Bucket`."""
        self._do("update", {"ids": [id], "metadatas": [numbers]})

    def delete(self, ids: list[str]) -> None:
        """As in `Bucket`."""
        self._do("delete", {"ids": ids}, slow=True)

    def count(self) -> int:
        """As in `Bucket`."""
        return int(self.place.ask("GET", f"/{self.id}/count"))

    def _do(self, verb: str, body: object, *, slow: bool = False) -> Any:
        return self.place.ask("POST", f"/{self.id}/{verb}", body, slow=slow)

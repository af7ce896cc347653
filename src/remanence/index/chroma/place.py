"""What the engine needs of Chroma, wherever Chroma runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from remanence.model.embedding import FloatArray

Where: TypeAlias = Mapping[str, Any]
Numbers: TypeAlias = Mapping[str, int | str]

KIND = {"hnsw": {"space": "cosine", "ef_construction": 100, "max_neighbors": 16, "ef_search": 200}}


class Bucket(Protocol):
    """One collection. A failure is an `EngineDown`."""

    @property
    def id(self) -> str:
        """Unique to this making of the collection."""

    def nearest(
        self, vector: FloatArray, limit: int, where: Where | None
    ) -> tuple[list[str], list[float]]:
        """Ids and cosine distances, nearest first."""

    def ids(self, where: Where) -> list[str]:
        """The ids of all that fit."""

    def numbers(self, id: str) -> Numbers | None:
        """What is noted with an id."""

    def upsert(self, ids: list[str], vectors: FloatArray, numbers: Sequence[Numbers]) -> None:
        """Add or replace."""

    def update(self, id: str, numbers: Numbers) -> None:
        """Change what is noted with an id; one that is not there stays so."""

    def delete(self, ids: list[str]) -> None:
        """Remove."""

    def count(self) -> int:
        """How many there are."""


class Place(Protocol):
    """Where the collections are."""

    def bucket(self, name: str) -> Bucket:
        """The collection of that name, made if it is not there."""

    def remove(self, name: str) -> None:
        """Remove a collection."""

    def close(self) -> None:
        """Let go."""

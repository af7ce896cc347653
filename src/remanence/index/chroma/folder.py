"""Chroma within this process, its data in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import chromadb
from chromadb.api.client import Client
from chromadb.api.collection_configuration import CreateCollectionConfiguration
from chromadb.api.models.Collection import Collection
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from chromadb.errors import ChromaError

from remanence.index.chroma.hold import Hold
from remanence.index.chroma.place import KIND, Numbers, Where
from remanence.index.follower.engine import EngineDown
from remanence.model.embedding import FloatArray

_importer = os.getpid()


@contextmanager
def translated() -> Iterator[None]:
    """Chroma's failures as `EngineDown`."""
    try:
        yield
    except (ChromaError, OSError, ValueError, RuntimeError) as error:
        reason = str(error)[:200] or type(error).__name__
        raise EngineDown(f"Chroma failed ({reason}); see whether its folder is whole") from error


class FolderPlace:
    """Collections of a folder, which is for one process at a time; nobody is told of its use."""

    def __init__(self, folder: str) -> None:
        if os.getpid() != _importer:  # the threads that serve open folders stayed in the parent
            SharedSystemClient.clear_system_cache()
        with translated():
            self._hold = Hold(folder)
            try:
                settings = Settings(anonymized_telemetry=False)
                self._client = cast(Client, chromadb.PersistentClient(folder, settings=settings))
            except BaseException:
                self._hold.release()
                raise

    def bucket(self, name: str) -> FolderBucket:
        """As in `Place`."""
        kind = cast(CreateCollectionConfiguration, KIND)
        with translated():
            found = self._client.get_or_create_collection(
                name, embedding_function=None, configuration=kind
            )
        return FolderBucket(found)

    def remove(self, name: str) -> None:
        """As in `Place`."""
        with translated():
            self._client.delete_collection(name)

    def close(self) -> None:
        """As in `Place`."""
        self._client.close()
        self._hold.release()


@dataclass(frozen=True, slots=True)
class FolderBucket:
    """As in `Bucket`."""

    collection: Collection

    @property
    def id(self) -> str:
        """As in `Bucket`."""
        return str(self.collection.id)

    def nearest(
        self, vector: FloatArray, limit: int, where: Where | None
    ) -> tuple[list[str], list[float]]:
        """As in `Bucket`."""
        with translated():
            found = self.collection.query(
                query_embeddings=vector[None],
                n_results=limit,
                where=cast(Any, where),
                include=["distances"],
            )
        return found["ids"][0], (found["distances"] or [[]])[0]

    def ids(self, where: Where) -> list[str]:
        """As in `Bucket`."""
        with translated():
            return self.collection.get(where=cast(Any, where), include=[])["ids"]

    def numbers(self, id: str) -> Numbers | None:
        """As in `Bucket`."""
        with translated():
            found = self.collection.get(ids=[id], include=["metadatas"])["metadatas"]
        return cast(Numbers, found[0]) if found else None

    def upsert(self, ids: list[str], vectors: FloatArray, numbers: Sequence[Numbers]) -> None:
        """As in `Bucket`."""
        with translated():
            self.collection.upsert(ids=ids, embeddings=vectors, metadatas=list(numbers))

    def update(self, id: str, numbers: Numbers) -> None:
        """As in `Bucket`."""
        with translated():
            self.collection.update(ids=[id], metadatas=[numbers])

    def delete(self, ids: list[str]) -> None:
        """As in `Bucket`."""
        with translated():
            self.collection.delete(ids=ids)

    def count(self) -> int:
        """As in `Bucket`."""
        with translated():
            return self.collection.count()

"""The vector index of the settings, over whichever store there is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.config import Settings
from remanence.config.assembly.stores import MEMORY, database_path, is_server, missing_extra
from remanence.errors import ConfigError
from remanence.model.embedding import Fingerprint
from remanence.model.ports.store import Store
from remanence.model.ports.vector_index import VectorIndex
from remanence.model.telemetry import hush

if TYPE_CHECKING:
    from remanence.backends.index.remote import Engine

FOLLOWERS = ("qdrant", "chroma")  # they live elsewhere, and follow the store
QDRANT_HERE = "http://127.0.0.1:6333"


def index_kind(settings: Settings) -> str:
    """Which index the settings mean; one that does not fit the store is a `ConfigError`."""
    server = is_server(settings.database_url)
    kind = settings.index
    if kind == "auto":
        return "pgvector" if server else "bits"
    if kind == "pgvector" and not server:
        raise ConfigError("index=pgvector needs a postgresql:// database; leave index out.")
    if kind == "chroma" and settings.encrypted and "://" not in settings.index_url:
        raise ConfigError(
            "Chroma would keep vectors in a folder that is not encrypted; leave index out, or give "
            "index_url the http:// address of a server."
        )
    return kind


def index_file(settings: Settings) -> Path | None:
    """The file of the bits index: as set, else beside a database that is a file.

    With a key there is none: nothing would encrypt it, and the store can make the index again.
    """
    if settings.encrypted:
        return None
    if settings.index_path:
        return Path(os.path.expanduser(settings.index_path))
    path = _file(settings)
    return None if path is None else Path(f"{path}.index")


def make_index(
    settings: Settings, store: Store, fingerprint: Fingerprint, budget_bytes: int
) -> VectorIndex:
    """The index that follows the store; one on another server has the bits as its standby."""

    def bits() -> VectorIndex:
        from remanence.backends.index.bits import BitsIndex

        return BitsIndex(
            store,
            fingerprint,
            file=index_file(settings),
            identity=store.upkeep.identity,
            budget_bytes=budget_bytes,
            spill=not settings.encrypted,
        )

    match index_kind(settings):
        case "pgvector":
            return _pgvector(store, fingerprint)
        case "qdrant" | "chroma" as kind:
            from remanence.backends.index.remote.index import FollowingIndex, WithStandby

            engine = _qdrant(settings) if kind == "qdrant" else _chroma(settings)
            identity = store.upkeep.identity
            followed = FollowingIndex(store, fingerprint, engine, identity=identity)
            return WithStandby(followed, bits, index_file(settings))
    return bits()


def _pgvector(store: Store, fingerprint: Fingerprint) -> VectorIndex:
    from remanence.store.postgres import PgVectorIndex, PostgresStore

    assert isinstance(store, PostgresStore)
    return PgVectorIndex(store, fingerprint)


def _qdrant(settings: Settings) -> Engine:
    from remanence.backends.index.qdrant import QdrantEngine

    urls = [url.strip() for url in (settings.index_url or QDRANT_HERE).split(",")]
    return QdrantEngine(
        urls,
        api_key=settings.index_key or None,
        timeout_s=settings.index_timeout_s,
        replicas=settings.index_replicas,
        shards=settings.index_shards or None,
    )


def _chroma(settings: Settings) -> Engine:
    hush()
    try:
        from remanence.backends.index.chroma import ChromaEngine
    except ImportError as error:
        raise missing_extra("Chroma", "chroma", error) from error
    return ChromaEngine(_chroma_place(settings), timeout_s=settings.index_timeout_s)


def _chroma_place(settings: Settings) -> str:
    if settings.index_url:
        return settings.index_url
    path = _file(settings)
    if path is None:
        raise ConfigError("Say where Chroma is: index_url is an http:// address or a folder.")
    return f"{path}.chroma"


def _file(settings: Settings) -> str | None:
    if is_server(settings.database_url):
        return None
    path = database_path(settings.database_url)
    return None if path == MEMORY else path

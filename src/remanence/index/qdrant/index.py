"""QdrantIndex: the following index with Qdrant as its engine."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.index.follower import SMALL, FollowingIndex
from remanence.index.qdrant.engine import QdrantEngine
from remanence.model.embedding import Fingerprint
from remanence.ports.store import Store


class QdrantIndex(FollowingIndex):
    """A store's vectors of one embedder in Qdrant; the arguments are those of `QdrantEngine`."""

    def __init__(
        self,
        store: Store,
        fingerprint: Fingerprint,
        urls: Sequence[str],
        *,
        api_key: str | None = None,
        timeout_s: float = 2.0,
        replicas: int = 2,
        shards: int | None = None,
        small: int = SMALL,
    ) -> None:
        engine = QdrantEngine(
            urls, api_key=api_key, timeout_s=timeout_s, replicas=replicas, shards=shards
        )
        super().__init__(store, fingerprint, engine, identity=store.identity, small=small)

"""ChromaIndex: the following index with Chroma as its engine."""

from __future__ import annotations

from remanence.index.chroma.engine import ChromaEngine
from remanence.index.follower import SMALL, FollowingIndex
from remanence.model.embedding import Fingerprint
from remanence.ports.store import Store


class ChromaIndex(FollowingIndex):
    """A store's vectors of one embedder in Chroma; the arguments are those of `ChromaEngine`."""

    def __init__(
        self,
        store: Store,
        fingerprint: Fingerprint,
        where: str,
        *,
        timeout_s: float = 2.0,
        small: int = SMALL,
    ) -> None:
        engine = ChromaEngine(where, timeout_s=timeout_s)
        super().__init__(store, fingerprint, engine, identity=store.identity, small=small)

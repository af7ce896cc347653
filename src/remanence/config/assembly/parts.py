"""The working parts of a memory, and what they weigh."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from remanence.backends.embedding.cache import CachedEmbedder
from remanence.config import Settings
from remanence.config.assembly.indexes import FOLLOWERS
from remanence.config.assembly.stores import LOCAL
from remanence.errors import EmbedderError
from remanence.knowledge.learner import Learner
from remanence.memories.writer import Writer
from remanence.memories.zones import Zones
from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord
from remanence.model.ports.cache import Cache, CacheStats
from remanence.model.ports.language_model import LanguageModel
from remanence.model.ports.session_cache import SessionCache
from remanence.model.ports.store import Store
from remanence.model.ports.vector_index import IndexStats
from remanence.model.scope import Reach
from remanence.model.stats import CacheUse, IndexUse, Stats
from remanence.model.system.files import remove
from remanence.recall.results import answers_of
from remanence.recall.search import Recall

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Parts:
    """A memory's working parts, wired together."""

    store: Store
    embedder: CachedEmbedder
    writer: Writer
    recall: Recall
    index_kind: str
    index_file: Path | None
    cache: Cache | None
    sessions: SessionCache | None
    model: LanguageModel | None
    learner: Learner
    zones: Zones

    def clean_index(self, erased: Sequence[MemoryRecord]) -> None:
        """Leave no trace of what was erased outside the store."""
        self.clean({Reach(tenant=record.tenant, user_id=record.user_id) for record in erased})

    def clean(self, reaches: Collection[Reach]) -> Sequence[str]:
        """Leave no trace of what was erased in these scopes in the index, whose file is only a
        cache, nor of any text in the embedder's, nor of answers that told of it.

        Where that could not be done now, for a person to read.
        """
        self.embedder.forget()
        if self.cache is not None:
            for tenant in {reach.tenant for reach in reaches}:
                self.cache.forget(answers_of(self.store.upkeep.identity, tenant))
        if self.recall.index is None and self.index_kind in FOLLOWERS:
            with suppress(EmbedderError):
                self.recall.vectors()
        if self.recall.index is not None:
            partitions = [p for reach in reaches for p in self.store.recall.partitions(reach)]
            return () if self.recall.index.flush(partitions) else (self._behind(),)
        if self.index_file is not None:
            remove(self.index_file)
        return (self._behind(),) if self.index_kind in FOLLOWERS else ()

    def _behind(self) -> str:
        return (
            f"The index in {self.index_kind}, which could not be reached: the erased vectors (no "
            "texts), until it answers and has followed the store."
        )

    def close(self) -> None:
        """Release everything, the store last."""
        with ExitStack() as stack:
            stack.callback(self.store.close)
            stack.callback(self.embedder.close)
            for part in (self.cache, self.sessions, self.model, self.recall.index):
                if part is not None:
                    stack.callback(part.close)

    def fingerprint(self) -> Fingerprint | None:
        """The embedder's fingerprint, None when it cannot be had right now."""
        try:
            return self.embedder.fingerprint
        except EmbedderError:
            return None


def stats_of(parts: Parts, settings: Settings, tenant: str) -> Stats:
    """What the store holds of the tenant, and the memory in use against its budget."""
    fingerprint = parts.fingerprint()
    kept = parts.store.upkeep.stats(tenant, fingerprint)
    if fingerprint is not None and parts.index_kind in FOLLOWERS:
        parts.recall.vectors()  # else nobody would have asked how it fares
    index = parts.recall.index.stats() if parts.recall.index else IndexStats()
    cache = parts.cache.stats() if parts.cache else None
    held = parts.recall.views.nbytes + parts.embedder.bytes + index.bytes_in_memory
    if cache is not None and cache.kind == LOCAL:
        held += cache.bytes_used
    return Stats(
        **{each.name: getattr(kept, each.name) for each in fields(kept)},
        per_day=round(sum(kept.by_day.values()) / max(len(kept.by_day), 1), 2),
        embedder=str(fingerprint) if fingerprint else "none",
        max_memories=settings.max_memories,
        max_bytes=settings.max_bytes,
        memory_mb=round(held / MB, 3),
        budget_mb=settings.max_memory_mb,
        process_mb=round(_resident() / MB, 1),
        index=IndexUse(kind=parts.index_kind, **_shared(index, IndexUse)),
        cache=None
        if cache is None
        else CacheUse(mb=round(cache.bytes_used / MB, 3), **_shared(cache, CacheUse)),
    )


def _shared(told: IndexStats | CacheStats, kind: type[IndexUse | CacheUse]) -> dict[str, Any]:
    """What an index or a cache tells that is shown under the same name."""
    return {n.name: getattr(told, n.name) for n in fields(kind) if hasattr(told, n.name)}


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError):
        return 0

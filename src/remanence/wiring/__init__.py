"""Picks the implementations for the settings; the only place that knows which there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from remanence.clock import Clock
from remanence.config import Settings
from remanence.embedding.cache import CachedEmbedder
from remanence.errors import EmbedderError
from remanence.knowledge.learner import Learner
from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.model.stats import CacheUse, IndexUse
from remanence.ports.cache import Cache, CacheStats
from remanence.ports.language_model import LanguageModel
from remanence.ports.session_cache import SessionCache
from remanence.ports.store import Store
from remanence.ports.vector_index import IndexStats
from remanence.recall.freshness import Freshness
from remanence.recall.results import ResultCache, answers_of
from remanence.recall.search import Recall
from remanence.remember.writer import Writer
from remanence.remember.zones import Zones
from remanence.system.files import remove
from remanence.wiring.caches import LOCAL, make_cache, make_session_cache
from remanence.wiring.embedders import LazyEmbedder, make_embedder
from remanence.wiring.indexes import FOLLOWERS, index_file, index_kind, make_index
from remanence.wiring.language_models import make_language_model
from remanence.wiring.name_finders import make_name_finder
from remanence.wiring.rankers import find_ranker
from remanence.wiring.stores import (
    MEMORY,
    check_target,
    check_there,
    database_path,
    is_server,
    open_store,
    preparation_of,
    restore_store,
)

__all__ = [
    "MEMORY",
    "Parts",
    "Used",
    "assemble",
    "check_target",
    "check_there",
    "database_path",
    "is_server",
    "make_embedder",
    "measure_memory",
    "open_store",
    "preparation_of",
    "restore_store",
]

MB = 1024 * 1024

# How the memory budget is shared out.
INDEX_SHARE = 0.55
COLUMNS_SHARE = 0.25
EMBEDDINGS_SHARE = 0.02  # texts and questions, some hundred of each: they come again soon
RESULTS_SHARE = 0.05  # when results are kept in this process


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
                self.cache.forget(answers_of(self.store.identity, tenant))
        if self.recall.index is None and self.index_kind in FOLLOWERS:
            with suppress(EmbedderError):
                self.recall.vectors()
        if self.recall.index is not None:
            partitions = [p for reach in reaches for p in self.store.partitions(reach)]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What the parts hold right now."""

    held_mb: float
    process_mb: float
    embedder: str
    index: IndexUse
    cache: CacheUse | None


def measure_memory(parts: Parts) -> Used:
    """Index, columns and caches against the budget, and the whole process beside it."""
    fingerprint = parts.fingerprint()
    if fingerprint is not None and parts.index_kind in FOLLOWERS:
        parts.recall.vectors()  # else nobody would have asked how it fares
    index = parts.recall.index.stats() if parts.recall.index else IndexStats()
    cache = parts.cache.stats() if parts.cache else None
    held = parts.recall.views.nbytes + parts.embedder.bytes + index.bytes_in_memory
    if cache is not None and cache.kind == LOCAL:
        held += cache.bytes_used
    return Used(
        held_mb=round(held / MB, 3),
        process_mb=round(_resident() / MB, 1),
        embedder=str(fingerprint) if fingerprint else "none",
        index=_index_use(parts.index_kind, index),
        cache=None if cache is None else _cache_use(cache),
    )


def _index_use(kind: str, told: IndexStats) -> IndexUse:
    return IndexUse(
        kind=kind,
        healthy=told.healthy,
        vectors=told.vectors,
        behind=told.behind,
        detail=told.detail,
    )


def _cache_use(told: CacheStats) -> CacheUse:
    return CacheUse(
        kind=told.kind,
        healthy=told.healthy,
        entries=told.entries,
        mb=round(told.bytes_used / MB, 3),
        hits=told.hits,
        misses=told.misses,
        detail=told.detail,
    )


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError):
        return 0


def assemble(settings: Settings, clock: Clock, new_id: Callable[[], UUID]) -> Parts:
    """Open the store, find the embedder, and connect both."""
    kind = index_kind(settings)
    ranker = find_ranker(settings)
    freshness = Freshness(
        importance=settings.importance_weight,
        recency=settings.recency_weight,
        decay=settings.decay,
        time_weight=settings.time_weight,
    )
    model = make_language_model(settings)
    cache = make_cache(settings, _budget(settings, RESULTS_SHARE))
    sessions = make_session_cache(settings)
    store = open_store(settings)
    embedder = CachedEmbedder(LazyEmbedder(settings), _budget(settings, EMBEDDINGS_SHARE))
    results = None
    if cache is not None:
        results = ResultCache(cache, store, embedder, ranker, freshness, ttl_s=settings.cache_ttl_s)
    recall = Recall(
        store,
        embedder,
        lambda made_by: make_index(settings, store, made_by, _budget(settings, INDEX_SHARE)),
        ranker,
        freshness,
        _budget(settings, COLUMNS_SHARE),
        results,
    )
    learner = Learner(
        new_id,
        entities=settings.extract_entities,
        relations=settings.infer_relations,
        find_names=make_name_finder(settings),
    )
    zones = Zones(store, settings.zone)
    writer = Writer(store, embedder, clock, learner.learn, zones.local)
    return Parts(
        store,
        embedder,
        writer,
        recall,
        kind,
        index_file(settings),
        cache,
        sessions,
        model,
        learner,
        zones,
    )


def _budget(settings: Settings, share: float) -> int:
    return int(settings.max_memory_mb * MB * share)

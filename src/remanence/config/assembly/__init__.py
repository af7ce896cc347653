"""Picks the implementations for the settings; the only place that knows which there are."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from remanence.backends.embedding.cache import CachedEmbedder
from remanence.config import Settings
from remanence.config.assembly.erasure import restore_store
from remanence.config.assembly.indexes import index_file, index_kind, make_index
from remanence.config.assembly.models import (
    LazyEmbedder,
    find_ranker,
    make_embedder,
    make_language_model,
    make_name_finder,
)
from remanence.config.assembly.parts import MB, Parts, stats_of
from remanence.config.assembly.stores import (
    MEMORY,
    check_target,
    check_there,
    database_path,
    is_server,
    make_cache,
    make_session_cache,
    open_store,
    preparation_of,
)
from remanence.knowledge.learner import Learner
from remanence.memories.writer import Writer
from remanence.memories.zones import Zones
from remanence.model.clock import Clock
from remanence.recall.freshness import Freshness
from remanence.recall.results import ResultCache
from remanence.recall.search import Recall

__all__ = [
    "MEMORY",
    "Parts",
    "assemble",
    "check_target",
    "check_there",
    "database_path",
    "is_server",
    "make_embedder",
    "open_store",
    "preparation_of",
    "restore_store",
    "stats_of",
]

# How the memory budget is shared out.
INDEX_SHARE = 0.55
COLUMNS_SHARE = 0.25
EMBEDDINGS_SHARE = 0.02  # texts and questions, some hundred of each: they come again soon
RESULTS_SHARE = 0.05  # when results are kept in this process


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
    zones = Zones(store.documents, settings.zone)
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

"""Picks the implementations for the settings; the only place that knows which there are."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from remanence.clock import Clock
from remanence.config import Settings
from remanence.embedding.cache import CachedEmbedder
from remanence.errors import ConfigError, EmbedderError, InvalidInput
from remanence.model.embedding import Embedding, Fingerprint, QueryEmbedding, Span
from remanence.ports.embedder import Embedder
from remanence.ports.store import Store
from remanence.ports.vector_index import VectorIndex
from remanence.recall.freshness import Freshness
from remanence.recall.ranker import Ranker
from remanence.recall.search import Recall
from remanence.recall.signals import SIGNALS
from remanence.remember.writer import Writer

MEMORY = ":memory:"
MB = 1024 * 1024

# Figures of a ranker beyond this, or scales below one over it, would not survive single precision.
LARGEST = 1e12

# How the memory budget is shared out.
INDEX_SHARE = 0.6
COLUMNS_SHARE = 0.25
EMBEDDINGS_SHARE = 0.05
PAGES_SHARE = 0.1
CONNECTIONS = 4  # each has a page cache of its own


@dataclass(frozen=True, slots=True)
class Parts:
    """A memory's working parts, wired together."""

    store: Store
    embedder: CachedEmbedder
    writer: Writer
    recall: Recall
    index_file: Path | None

    def clean_index(self) -> None:
        """Leave no trace of what was erased in the index file; it is only a cache."""
        if self.recall.index is not None:
            self.recall.index.flush()
        elif self.index_file is not None:
            self.index_file.unlink(missing_ok=True)

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


def measure_memory(parts: Parts) -> Used:
    """Index, columns and caches against the budget, and the whole process beside it."""
    fingerprint = parts.fingerprint()
    index = parts.recall.index
    held = parts.recall.views.nbytes + parts.embedder.bytes
    held += index.stats().bytes_in_memory if index else 0
    return Used(
        held_mb=round(held / MB, 3),
        process_mb=round(_resident() / MB, 1),
        embedder=str(fingerprint) if fingerprint else "none",
    )


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError):
        return 0


def assemble(settings: Settings, clock: Clock) -> Parts:
    """Open the store, find the embedder, and connect both."""
    file, ranker = _index_file(settings), _ranker(settings)
    store = open_store(settings)
    embedder = CachedEmbedder(LazyEmbedder(settings), _budget(settings, EMBEDDINGS_SHARE))
    recall = Recall(
        store,
        embedder,
        lambda fingerprint: _index(settings, store, file, fingerprint),
        ranker,
        Freshness(
            importance=settings.importance_weight,
            recency=settings.recency_weight,
            decay=settings.decay,
            time_weight=settings.time_weight,
        ),
        _budget(settings, COLUMNS_SHARE),
    )
    return Parts(store, embedder, Writer(store, embedder, clock), recall, file)


def open_store(settings: Settings) -> Store:
    """The store of these settings, without an embedder: enough for export, doctor and backup."""
    from remanence.store.sqlite import SqliteStore

    return SqliteStore(
        database_path(settings.database_url),
        durability=settings.durability,
        busy_timeout_s=settings.busy_timeout_s,
        cache_mb=max(1, round(settings.max_memory_mb * PAGES_SHARE / CONNECTIONS)),
    )


def check_target(path: Path, database: str, overwrite: bool) -> None:
    """Refuse to write a copy over the database itself, or over a file nobody gave up."""
    own = database_path(database)
    if own != MEMORY and path.exists() and Path(own).exists() and path.samefile(own):
        raise InvalidInput(f"{path} is the database itself; copy it to another file.")
    if path.exists() and not overwrite:
        raise InvalidInput(f"{path} exists already; pass overwrite to replace it.")


def restore_store(source: Path, target: str) -> None:
    """Put a backup in the place of the database that a setting names."""
    from remanence.store.sqlite import restore

    path = database_path(target)
    if path == MEMORY:
        raise ConfigError("A backup is restored into a file; give --db a path.")
    restore(source, Path(path))


def database_path(url: str) -> str:
    """The file (or `:memory:`) that a database setting names."""
    if url in (MEMORY, "sqlite://", "sqlite:///:memory:"):
        return MEMORY
    if url.startswith("sqlite:///"):
        return os.path.expanduser(url.removeprefix("sqlite:///"))
    if "://" in url:
        scheme = url.partition("://")[0]
        raise ConfigError(f"Databases of type {scheme!r} are not supported; use a file path.")
    return os.path.expanduser(url)


def make_embedder(settings: Settings) -> Embedder:
    """The embedder the settings ask for: an endpoint, or a model on this machine."""
    if settings.embedder_url:
        from remanence.embedding.http import HttpEmbedder

        return HttpEmbedder(
            settings.embedder_url, settings.embedder, api_key=settings.embedder_key or None
        )
    from remanence.embedding.models import find_model
    from remanence.embedding.onnx import OnnxEmbedder

    folder = find_model(settings.embedder, settings.cache_folder)
    return OnnxEmbedder(folder, device=settings.device, threads=settings.threads or None)  # type: ignore[arg-type]


class LazyEmbedder:
    """Finds the embedder on first use, so that a memory opens without its model."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._found: Embedder | None = None

    def _embedder(self) -> Embedder:
        with self._lock:
            if self._found is None:
                self._found = make_embedder(self._settings)
            return self._found

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the embedder found."""
        return self._embedder().fingerprint

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text it reads."""
        return self._embedder().max_tokens

    def spans(self, text: str) -> Sequence[Span]:
        """Where its tokens stand in the text."""
        return self._embedder().spans(text)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One embedding per text."""
        return self._embedder().embed(texts)

    def embed_query(self, text: str) -> QueryEmbedding:
        """The question's embedding."""
        return self._embedder().embed_query(text)

    def close(self) -> None:
        """Close it if it was ever found."""
        if self._found is not None:
            self._found.close()


def _index_file(settings: Settings) -> Path | None:
    path = database_path(settings.database_url)
    if path == MEMORY:
        return None
    return Path(os.path.expanduser(settings.index_path) or f"{path}.index")


def _index(
    settings: Settings, store: Store, file: Path | None, fingerprint: Fingerprint
) -> VectorIndex:
    from remanence.index.bits import BitsIndex

    return BitsIndex(
        store,
        fingerprint,
        file=file,
        identity=store.identity,
        budget_bytes=_budget(settings, INDEX_SHARE),
    )


def _ranker(settings: Settings) -> Ranker:
    from remanence.recall import weights

    if not settings.ranker:
        return Ranker.from_table(weights.TABLE, weights.BASE)
    try:
        file = Path(os.path.expanduser(settings.ranker))
        saved = json.loads(file.read_text(encoding="utf-8"))
        table = {_signal(name): _figures(row) for name, row in saved["table"].items()}
        return Ranker.from_table(table, _figure(saved["base"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(
            f"The ranker file {settings.ranker} cannot be used: {error}. "
            "Make one with `rem bench train`, or leave the setting empty."
        ) from error


def _signal(name: str) -> str:
    if name not in SIGNALS:
        raise ValueError(f"{name[:60]!r} is no signal")
    return name


def _figures(row: Sequence[object]) -> tuple[float, float, float]:
    mean, scale, weight = map(_figure, row)
    if scale < 1 / LARGEST:
        raise ValueError(f"a scale must be above 0, not {scale!r}")
    return mean, scale, weight


def _figure(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:60]!r} is no number")
    if not abs(value) <= LARGEST:
        raise ValueError(f"the figure {value!r:.60} is out of bounds")
    return float(value)


def _budget(settings: Settings, share: float) -> int:
    return int(settings.max_memory_mb * MB * share)

"""Figures for Prometheus: how long operations take, how they end, how the store fares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from remanence.errors import RemanenceError
from remanence.server.logs import LoggedRequest
from remanence.server.problems import problem_of

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from remanence.api.memory import Memory
    from remanence.model.stats import Stats
    from remanence.server.executor import Calls

MB = 1024 * 1024
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
PENDING = "Memories that wait to be embedded"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts requests and operations. No label ever names a tenant, a user or an id.

    Figures that are `shared` by several workers lie in files, in the folder that the environment
    variable PROMETHEUS_MULTIPROC_DIR names; `rem serve` makes it.
    """

    def __init__(self, *, shared: bool = False) -> None:
        self._shared = shared
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._operations = self._timing("operation", ["operation", "outcome"])
        self._requests = self._timing("request", ["method", "path", "status"])
        about = "Requests that were not let in"
        self._refused = Counter(
            "remanence_refused_total", about, ["reason"], registry=self.registry
        )

    def _timing(self, of: str, labels: list[str]) -> Histogram:
        name, about = f"remanence_{of}_seconds", f"How long {of}s take"
        return Histogram(name, about, labels, buckets=BUCKETS, registry=self.registry)

    def saw_operation(self, operation: str, seconds: float, error: BaseException | None) -> None:
        """One operation is over."""
        outcome = "ok" if error is None else problem_of(error).type
        self._operations.labels(operation, outcome).observe(seconds)

    def saw_request(self, seen: LoggedRequest) -> None:
        """One request is over."""
        method = seen.method if seen.method in METHODS else "other"
        self._requests.labels(method, seen.path, str(seen.status)).observe(seen.seconds)

    def refused(self, reason: str) -> None:
        """One request was not let in."""
        self._refused.labels(reason).inc()

    def told(self, memory: Memory, calls: Calls) -> bytes:
        """All of it, in Prometheus' own form; of several workers, together."""
        registry = self.registry
        if self._shared:
            from prometheus_client.multiprocess import MultiProcessCollector

            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + _written(_gauges(memory, calls))


def told_of(memory: Memory) -> bytes:
    """What concerns the tenant of this memory and nobody else."""
    stats = memory.stats()
    kept = GaugeMetricFamily("remanence_memories", "Memories by state", labels=["state"])
    for state, count in stats.by_state.items():
        kept.add_metric([state], count)
    return _written([kept, GaugeMetricFamily("remanence_pending", PENDING, value=stats.pending)])


@dataclass(frozen=True, slots=True, eq=False)
class _Figures(Collector):
    """Figures that are there already."""

    figures: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self.figures


def _written(figures: Iterable[Metric]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Figures(list(figures)))
    return generate_latest(registry)


def _gauges(memory: Memory, calls: Calls) -> Iterator[Metric]:
    """What holds right now, in this process; where the store does not answer, that is told."""
    about = "Calls that wait for a thread"
    yield GaugeMetricFamily("remanence_queue", about, value=calls.waiting)
    try:
        stats, up = memory.stats(), 1
    except RemanenceError:
        stats, up = None, 0
    yield GaugeMetricFamily("remanence_store_up", "Whether the store answers", value=up)
    if stats is not None:
        yield from _told(stats)


def _told(stats: Stats) -> Iterator[Metric]:
    figures: Mapping[str, tuple[str, float]] = {
        "index_behind": ("Changes that the vector index has not taken in", stats.index.behind),
        "index_healthy": ("Whether the vector index answers", float(stats.index.healthy)),
        "index_vectors": ("Vectors in the index", stats.index.vectors),
        "pending": (PENDING, stats.pending),
        "resident_bytes": ("Bytes of the process in memory", stats.process_mb * MB),
        "held_bytes": ("Bytes of index and caches", stats.memory_mb * MB),
        "store_bytes": ("Bytes of the store on disk", stats.bytes_on_disk),
    }
    for name, (about, value) in figures.items():
        yield GaugeMetricFamily(f"remanence_{name}", about, value=value)
    if stats.cache is not None:
        told = {"hits": stats.cache.hits, "misses": stats.cache.misses}
        for name, count in told.items():
            about = f"Searches that were {name} of the cache"
            yield CounterMetricFamily(f"remanence_cache_{name}", about, value=count)

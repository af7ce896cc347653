"""What is seen of a server from outside: figures for Prometheus, and traces for OpenTelemetry."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remanence.config import Settings, shown
from remanence.errors import ConfigError, RemanenceError
from remanence.model.sleep import Run, Status, Step
from remanence.server.logs import LoggedRequest
from remanence.server.problems import problem_of
from remanence.version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer
    from prometheus_client.metrics_core import Metric

    from remanence.api.memory import Memory
    from remanence.consolidation.schedules.worker import ServedMoment
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
        about = "Runs of steps of sleep that ended"
        self._runs = Counter(
            "remanence_sleep_runs_total", about, ["step", "status"], registry=self.registry
        )
        for step in Step:  # from 0 on, so that the first failure is seen to come
            self._runs.labels(step, Status.COMPLETED)
            self._runs.labels(step, Status.FAILED)

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

    def saw_run(self, run: Run) -> None:
        """One run of a step of sleep ended."""
        self._runs.labels(run.step, run.status).inc()

    def saw_trouble(self, outcome: ServedMoment) -> None:
        """A schedule failed; where no run tells of it, the step that could not begin counts."""
        step = (outcome.error or "").partition(":")[0]
        if step in list(Step) and not any(run.status is Status.FAILED for run in outcome.runs):
            self._runs.labels(step, Status.FAILED).inc()

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


NAME = "remanence"
PATH = "/v1/traces"
LAST_S = 3.0  # for what is not sent yet when the server ends
TIMEOUT_S = 5.0
_FAILED = 500
_log = logging.getLogger(__name__)


class Tracing:
    """Spans of requests and operations."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self.tracer: Tracer = provider.get_tracer(NAME, __version__)

    def traced(self, app: Starlette, stack: ASGIApp) -> ASGIApp:
        """The app's stack with a span around every request."""
        app.state.closing.insert(0, self._ending)
        return partial(self._passed_on, stack)

    def saw(self, operation: str, seconds: float, error: BaseException | None) -> None:
        """One operation is over."""
        now = time.time_ns()
        span = self.tracer.start_span(operation, start_time=now - int(seconds * 1e9))
        span.set_attribute("remanence.outcome", problem_of(error).type if error else "ok")
        if error is not None and problem_of(error).status >= _FAILED:
            _failed(span)
        span.end(now)

    @asynccontextmanager
    async def _ending(self, _: Starlette) -> AsyncIterator[None]:
        yield
        # It sends what it has, and would wait long for a collector that does not answer.
        last = Thread(target=self._provider.shutdown, daemon=True)
        last.start()
        last.join(LAST_S)

    async def _passed_on(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; its span has its method, its route's template and its status."""
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        status = _FAILED

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        from opentelemetry.trace import SpanKind

        with self.tracer.start_as_current_span(
            "request",
            context=_context(scope),
            kind=SpanKind.SERVER,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                await app(scope, receive, watched)
            finally:
                _tell(span, scope, status)


def tracing_of(settings: Settings) -> Tracing | None:
    """What traces, if an endpoint is set and the extra is installed."""
    if not settings.otel_endpoint:
        return None
    url = _url_of(settings.otel_endpoint)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        _log.warning("otel_endpoint is set; to have traces, `pip install 'remanence[otel]'`.")
        return None
    told = {"service.name": NAME, "service.version": __version__}
    provider = TracerProvider(resource=Resource.create(told), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=url, timeout=TIMEOUT_S)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _log.info("Traces go to %s.", shown(url))
    return Tracing(provider)


def _url_of(endpoint: str) -> str:
    """The address for traces below a collector's, as OpenTelemetry's own variable means it."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("otel_endpoint must be an address such as `http://127.0.0.1:4318`.")
    return endpoint if parts.path.endswith(PATH) else endpoint.rstrip("/") + PATH


def _context(scope: Scope) -> Any:
    """The trace that the caller is part of, if they say so by W3C's `traceparent`."""
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    found = [value for name, value in scope["headers"] if name == b"traceparent"]
    if len(found) != 1:
        return Context()
    carried = {"traceparent": found[0].decode("latin-1")}
    return TraceContextTextMapPropagator().extract(carried, Context())


def _tell(span: Span, scope: Scope, status: int) -> None:
    route = str(getattr(scope.get("route"), "path", None) or "unknown")
    span.update_name(f"{scope['method']} {route}")
    span.set_attribute("http.request.method", scope["method"])
    span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    if status >= _FAILED:
        _failed(span)


def _failed(span: Span) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR))

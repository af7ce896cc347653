"""Traces for OpenTelemetry, where an endpoint is set: what was called, how it ended, how long.

No span holds a text, a query, a key or anybody's name. Without an endpoint nothing of OpenTelemetry
is loaded and nothing leaves the machine.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remanence.config import Settings, shown
from remanence.errors import ConfigError
from remanence.server.problems import problem_of
from remanence.version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

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

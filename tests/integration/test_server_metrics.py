"""Figures and traces of a server: what they tell, and what they never do."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from remanence import Memory
from remanence.config import load_settings
from remanence.errors import ConfigError
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http

SECRET = "painting"
LABELS = {"operation", "outcome", "method", "path", "status", "reason", "step", "le"}
NAMES = {
    "remanence_operation_seconds",
    "remanence_request_seconds",
    "remanence_refused",
    "remanence_sleep_runs",
    "remanence_index_behind",
    "remanence_index_healthy",
    "remanence_index_vectors",
    "remanence_pending",
    "remanence_queue",
    "remanence_resident_bytes",
    "remanence_held_bytes",
    "remanence_store_bytes",
    "remanence_store_up",
    "remanence_cache_hits",
    "remanence_cache_misses",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    database = tmp_path_factory.mktemp("figures") / "memory.db"
    with serving(database=str(database), cache_url="local") as server:
        http.post(f"{server.url}/v1/memories", json={"text": SECRET, "user_id": SECRET})
        http.get(f"{server.url}/health", headers={"host": "elsewhere.example"})
        figures(server)  # each of the kinds of figures has been counted once
        yield server


def figures(served: Served) -> dict[str, list[Sample]]:
    told = http.get(f"{served.url}/metrics", timeout=HANG_S)
    assert told.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {one.name: list(one.samples) for one in text_string_to_metric_families(told.text)}


def value(samples: list[Sample], name: str, **labels: str) -> float:
    return sum(s.value for s in samples if s.name == name and labels.items() <= s.labels.items())


def test_prometheus_reads_all_there_is(served: Served) -> None:
    assert {name for name in figures(served) if name.startswith("remanence_")} == NAMES


def test_the_page_tells_of_each() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text("utf-8")
    assert set(re.findall(r"`(remanence_\w+)`", page)) == NAMES


def test_the_rules_for_alarms_ask_for_figures_there_are() -> None:
    told = (Path(__file__).parents[2] / "deploy" / "alerts.yaml").read_text("utf-8")
    rules = [rule for group in yaml.safe_load(told)["groups"] for rule in group["rules"]]
    asked = {name for rule in rules for name in re.findall(r"remanence_\w+", rule["expr"])}
    assert {name.removesuffix("_total") for name in asked} <= NAMES
    assert all(rule["annotations"]["summary"] for rule in rules)


def test_each_operation_has_a_histogram_by_outcome(served: Served) -> None:
    name, family = "remanence_operation_seconds_count", "remanence_operation_seconds"
    before = figures(served).get(family, [])
    http.post(f"{served.url}/v1/search", json={"query": "tea"})
    http.get(f"{served.url}/v1/memories/00000000-0000-7000-8000-000000000000")
    after = figures(served)[family]
    for labels in ({"operation": "search", "outcome": "ok"}, {"operation": "get"}):
        assert value(after, name, **labels) == value(before, name, **labels) + 1
    missed = {"operation": "get", "outcome": "not-found"}
    assert value(after, name, **missed) == value(before, name, **missed) + 1
    assert value(after, f"{family}_bucket", operation="search", outcome="ok", le="+Inf") >= 1


def test_figures_hold_right_now(served: Served) -> None:
    search = {"query": "what hangs there?", "user_id": SECRET}
    for _ in range(2):
        http.post(f"{served.url}/v1/search", json=search).raise_for_status()
    found = {name: samples[0].value for name, samples in figures(served).items()}
    assert found["remanence_cache_hits"] >= 1
    assert found["remanence_cache_misses"] >= 1
    assert found["remanence_resident_bytes"] > 10_000_000
    assert found["remanence_store_bytes"] > 10_000
    assert (found["remanence_index_behind"], found["remanence_queue"]) == (0, 0)
    assert (found["remanence_index_healthy"], found["remanence_store_up"]) == (1, 1)


def test_no_label_names_anybody_and_strangers_add_none(served: Served) -> None:
    def count() -> int:
        return sum(len(samples) for samples in figures(served).values())

    for number in range(3):
        http.get(f"{served.url}/{SECRET}/{number}")
        http.request("PROPFIND", f"{served.url}/health")
        http.get(f"{served.url}/v1/blocks/{SECRET}-{number}", params={"user_id": SECRET})
    before = count()
    for number in range(3, 20):
        http.get(f"{served.url}/{SECRET}/{number}")
        http.request("MKCOL" if number % 2 else "LOCK", f"{served.url}/health")
        http.get(f"{served.url}/v1/blocks/{SECRET}-{number}", params={"user_id": SECRET})
    assert count() == before
    samples = [one for family in figures(served).values() for one in family]
    assert {label for one in samples for label in one.labels} <= LABELS
    assert not [one for one in samples if SECRET in str(one.labels)]
    paths = {one.labels["path"] for one in samples if "path" in one.labels}
    assert {"unknown", "/v1/blocks/{label}"} <= paths


def test_a_store_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with serving(Memory(tmp_path / "memory.db")) as served:
        served.memory.close()
        assert http.get(f"{served.url}/ready").status_code == 503
        assert http.get(f"{served.url}/health").status_code == 200
        told = served.app.state.metrics.told(served.memory, served.app.state.calls)
    assert b"remanence_store_up 0.0" in told


class Collector:
    """Takes OTLP over HTTP, as a collector does."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.raw: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                assert self.path == "/v1/traces"
                collector.take(_unpacked(raw, self.headers.get("content-encoding", "")))
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self._thread.start()

    def take(self, raw: bytes) -> None:
        self.raw.append(raw)
        for each in ExportTraceServiceRequest.FromString(raw).resource_spans:
            self.spans += [span for scope in each.scope_spans for span in scope.spans]

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


def _unpacked(raw: bytes, coding: str) -> bytes:
    import gzip

    return gzip.decompress(raw) if coding == "gzip" else raw


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def attributes(span: Span) -> dict[str, str]:
    return {one.key: one.value.string_value or str(one.value.int_value) for one in span.attributes}


class TestTracing:
    def test_spans_of_requests_and_operations_reach_a_collector(
        self, collector: Collector, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        with serving(otel_endpoint=collector.url) as served:
            headers = {"traceparent": parent, "authorization": f"Bearer {SECRET}"}
            body = {"text": f"It hangs there: {SECRET}", "user_id": SECRET}
            http.post(f"{served.url}/v1/memories", json=body, headers=headers)
            http.get(f"{served.url}/v1/blocks/{SECRET}", params={"user_id": SECRET})
        named = {span.name: span for span in collector.spans}
        assert {"POST /v1/memories", "add", "GET /v1/blocks/{label}", "blocks.get"} == set(named)
        asked, done = named["POST /v1/memories"], named["add"]
        assert asked.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
        assert asked.parent_span_id.hex() == "b7ad6b7169203331"
        assert (done.trace_id, done.parent_span_id) == (asked.trace_id, asked.span_id)
        assert asked.start_time_unix_nano <= done.end_time_unix_nano <= asked.end_time_unix_nano
        assert attributes(asked) == {
            "http.request.method": "POST",
            "http.route": "/v1/memories",
            "http.response.status_code": "200",
        }
        assert attributes(done) == {"remanence.outcome": "ok"}
        assert attributes(named["blocks.get"]) == {"remanence.outcome": "not-found"}
        assert not [raw for raw in collector.raw if SECRET.encode() in raw]

    def test_a_collector_that_is_gone_is_no_trouble(self, collector: Collector) -> None:
        collector.close()
        with serving(otel_endpoint=collector.url) as served:
            answer = http.post(f"{served.url}/v1/memories", json={"text": "tea"})
        assert answer.status_code == 200

    def test_without_an_endpoint_nothing_is_loaded(self) -> None:
        code = (
            "import sys; from remanence.config import load_settings; "
            "from remanence.server.app import make_app; "
            "make_app(load_settings({'database': ':memory:'}, environment={})); "
            "ours = ('opentelemetry.sdk', 'opentelemetry.exporter'); "
            "assert not [name for name in sys.modules if name.startswith(ours)]"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_the_usual_variable_names_the_endpoint(self) -> None:
        named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
        assert load_settings(environment=named).otel_endpoint == "http://127.0.0.1:4318"

    def test_an_endpoint_that_is_none_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="otel_endpoint"), serving(otel_endpoint="nowhere"):
            pass

    def test_without_the_extra_there_are_no_traces(self) -> None:
        code = (
            "import sys; sys.modules['opentelemetry.sdk.trace'] = None; "
            "from remanence.config import Settings; "
            "from remanence.server.observation import tracing_of; "
            "assert tracing_of(Settings(otel_endpoint='http://127.0.0.1:1')) is None"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        assert "remanence[otel]" in done.stderr

"""Whatever is sent to whatever route: refused in the one form, nothing changed, nobody held up."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import fields
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from remanence.api.verb import AnyVerb
from remanence.api.verbs.table import served
from remanence.server.problems import MEDIA_TYPE
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving

UNKNOWN = "00000000-0000-7000-8000-000000000000"
SHORT = ("POST /memory/store", "POST /memory/consolidate", "GET /memory/retrieve", "GET /v1/export")
OTHERS = ("POST /v1/import", "POST /v1/admin/keys", "GET /v1/admin/audit", "GET /v1/memories")
# Answers that the server may give though the caller could not know better: full, or busy.
EXCUSED = (503, 507)
INSIDE = re.compile(r'Traceback|File "|\.py\b|site-packages|/root/|/home/|/work/|/tmp/|sqlite')

BODIES: Mapping[str, bytes] = {
    "half a character": rb'{"text": "\ud800", "query": "\udfff", "label": "\ud800"}',
    "not a number": b'{"text": NaN, "limit": NaN, "importance": NaN}',
    "endless": b'{"importance": Infinity, "limit": -Infinity}',
    "too large a number": b'{"importance": 1e400, "limit": 1e400}',
    "many digits": b'{"limit": ' + b"9" * 10_000 + b"}",
    "deep": b'{"metadata": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep and open": b'{"a":' * 100_000,
    "twice": b'{"text": 1, "text": 2, "colour": 1, "colour": 2}',
    "cut off": b'{"text": "never en',
    "not UTF-8": b'{"text": "\xff\xfe\xc3("}',
    "UTF-16": '{"text": "a"}'.encode("utf-16"),
    "zipped": gzip.compress(b'{"text": "a"}'),
    "a list": b"[]",
    "null": b"null",
    "a text": b'"text"',
    "nothing but brackets": b"}{",
    "NUL": b"\0" * 100,
    "a form": b"text=a&user_id=b",
}
VALUES: tuple[Any, ...] = (
    None,
    -1,
    1e308,
    2**60,
    "",
    "a\0b",
    "\u202e\u200b\u2066 ../../etc/passwd",
    "'; DROP TABLE memories; -- \" OR NEAR(a b) * ^ { }",
    "x" * 20_000,
    [None, [[]]],
    {"$gt": {"$ne": None}},
)
IN_PATHS = (
    *("%2e%2e", "..%2f..%2fetc%2fpasswd", "%2f", "%5c..%5c", "%00", "%ff%fe", "%ed%a0%80"),
    *(
        quote("'; DROP TABLE memories; --"),
        quote("\u202e\u200b"),
        "%0d%0aset-cookie:a=b",
        "a" * 5_000,
    ),
    *("%20", "%25%32%65", "null", "-1", "*", "{id}"),
)
IN_QUERIES = ("", "a%00b", "%ff", "%ed%a0%80", "1e400", "NaN", "-1", "x" * 5_000, "%F0%9F", "true")


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    # Who is slow is not sent away meanwhile.
    with serving(max_body_mb=8, head_timeout_s=HANG_S, body_timeout_s=HANG_S) as served:
        served.memory.add("Ana moved to Lisbon", user_id="alice")
        served.memory.blocks.create("human", "Ana")
        yield served


class Line:
    """A connection that is kept, as long as the server keeps it."""

    def __init__(self, server: Served) -> None:
        self._server = server
        self._at = server.url.removeprefix("http://")
        self._open = http.client.HTTPConnection(self._at, timeout=HANG_S)

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> int:
        """The status of an answer that is as it must be."""
        headers = {} if body is None else {"content-type": kind}
        try:
            self._open.request(method, path, body, headers)
            answer = self._open.getresponse()
        except (http.client.BadStatusLine, ConnectionError):  # closed after the last answer
            self._open = http.client.HTTPConnection(self._at, timeout=HANG_S)
            self._open.request(method, path, body, headers)
            answer = self._open.getresponse()
        check(answer.status, answer.headers.get("content-type", ""), answer.read())
        return answer.status

    def close(self) -> None:
        self._open.close()


@pytest.fixture
def line(server: Served) -> Iterator[Line]:
    opened = Line(server)
    yield opened
    opened.close()


def check(status: int, kind: str, body: bytes) -> None:
    text = body.decode(errors="replace")
    assert status < 500 or status in EXCUSED, text
    if status >= 400 and kind != "text/plain; charset=utf-8":
        assert kind == MEDIA_TYPE
        assert json.loads(body)["status"] == status
        assert not INSIDE.search(text), text


def state(server: Served) -> str:
    """All that the tenant has, in short."""
    lines = httpx.get(f"{server.url}/v1/export", timeout=HANG_S).text.splitlines()
    return sha256("\n".join(lines[1:]).encode()).hexdigest()


def path_of(route: AnyVerb) -> str:
    return route.path.replace("{id}", UNKNOWN).replace("{label}", "human")


def bodies_of(route: AnyVerb) -> Iterator[bytes]:
    """Bodies with something hostile in every field."""
    asked = [name for name in route.asked if name not in route.in_path]
    example = dict(route.example or {})
    for name in asked:
        for value in VALUES:
            yield json.dumps({**example, name: value}).encode()


def queries_of(route: AnyVerb) -> Iterator[str]:
    asked = [name for name in route.asked if name not in route.in_path]
    for name in (*asked, "unknown"):
        for value in IN_QUERIES:
            yield f"?{name}={value}"


def named(route: AnyVerb) -> str:
    return route.name


class TestEveryRoute:
    @pytest.mark.parametrize("route", served(), ids=named)
    def test_a_body_that_is_none(self, route: AnyVerb, server: Served, line: Line) -> None:
        before = state(server)
        statuses = {
            name: line.ask(route.method, path_of(route), body) for name, body in BODIES.items()
        }
        assert all(400 <= status < 500 for status in statuses.values()), statuses
        assert state(server) == before

    @pytest.mark.parametrize("route", [each for each in served() if not each.in_query], ids=named)
    def test_a_value_that_cannot_be(self, route: AnyVerb, server: Served, line: Line) -> None:
        sent, path = list(bodies_of(route)), path_of(route)
        refused = [body for body in sent if line.ask(route.method, path, body) >= 400]
        before = state(server)
        again = [body for body in refused if line.ask(route.method, path, body) >= 400]
        if len(again) == len(refused):
            assert state(server) == before

    @pytest.mark.parametrize("route", [each for each in served() if each.in_query], ids=named)
    def test_a_query_that_cannot_be(self, route: AnyVerb, server: Served, line: Line) -> None:
        before = state(server)
        statuses = [line.ask(route.method, path_of(route) + query) for query in queries_of(route)]
        if route.method == "GET" or min(statuses) >= 400:
            assert state(server) == before

    @pytest.mark.parametrize("route", [each for each in served() if each.in_path], ids=named)
    def test_an_id_that_is_none(self, route: AnyVerb, server: Served, line: Line) -> None:
        before = state(server)
        example = json.dumps(route.example or {}).encode()
        body = None if route.in_query else example
        for id in IN_PATHS:
            path = route.path.replace("{id}", id).replace("{label}", id)
            assert line.ask(route.method, path, body) in (400, 404, 405, 422), id
        assert state(server) == before

    @pytest.mark.parametrize("kind", ["text/html", "application/xml", "x", "", "application/gzip"])
    def test_a_body_of_another_kind(self, kind: str, server: Served, line: Line) -> None:
        before = state(server)
        for route in served():
            if not route.in_query and kind:
                body = b'{"text": "a", "query": "a", "label": "kind"}'
                assert line.ask(route.method, path_of(route), body, kind) == 400, route.path
        assert state(server) == before

    @pytest.mark.parametrize("where", [*SHORT, *OTHERS])
    def test_the_other_routes(self, where: str, line: Line) -> None:
        method, path = where.split(" ")
        for body in BODIES.values():
            line.ask(method, path, body)
        for name in ("context", "q", "k", "limit", "offset", "name", "user_id", "filters"):
            for value in IN_QUERIES:
                line.ask(method, f"{path}?{name}={value}")


class TestSizes:
    def test_a_text_of_five_million(self, server: Served, line: Line) -> None:
        before, text = state(server), "long " * 1_000_000
        for method, path, name in (
            ("POST", "/v1/memories", "text"),
            ("POST", "/v1/search", "query"),
            ("POST", "/memory/store", "context"),
            ("POST", "/v1/facts/extract", "text"),
            ("PUT", "/v1/blocks/human", "value"),
        ):
            body = json.dumps({name: text}).encode()
            assert line.ask(method, path, body) in (409, 422), path
        assert state(server) == before

    def test_more_than_is_taken(self, server: Served) -> None:
        body = b'{"text": "' + b"a" * (9 * 1024 * 1024)

        def pieces() -> Iterator[bytes]:
            yield body

        for content in (body, pieces()):
            answer = httpx.post(f"{server.url}/v1/memories", content=content, timeout=HANG_S)
            assert answer.status_code == 413
            check(413, answer.headers["content-type"], answer.content)


RAW: Mapping[str, bytes] = {
    "two lengths": b"content-length: 2\r\ncontent-length: 30\r\n\r\n{}",
    "a length and chunks": b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "an unknown encoding": b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a negative length": b"content-length: -1\r\n\r\n{}",
    "an endless length": b"content-length: " + b"9" * 40 + b"\r\n\r\n{}",
    "a length in words": b"content-length: two\r\n\r\n{}",
    "a chunk without end": b"transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n{}",
    "a chunk that is none": b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "a folded header": b"x-a: b\r\n c\r\ncontent-length: 2\r\n\r\n{}",
    "NUL in a header": b"x-a: b\0c\r\ncontent-length: 2\r\n\r\n{}",
    "a header without a name": b": b\r\ncontent-length: 2\r\n\r\n{}",
    "no UTF-8 in headers": b"x-request-id: \xff\xfe\r\nidempotency-key: \xff\r\n"
    b"content-length: 2\r\n\r\n{}",
    "many headers": b"".join(b"x-%d: y\r\n" % n for n in range(5_000))
    + b"content-length: 2\r\n\r\n{}",
    "a wide header": b"x-wide: " + b"y" * 500_000 + b"\r\ncontent-length: 2\r\n\r\n{}",
    "a zipped body": b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
    "two hosts": b"host: evil.example\r\ncontent-length: 2\r\n\r\n{}",
}


class TestRaw:
    @pytest.mark.parametrize("name", RAW)
    def test_a_request_that_is_none(self, name: str, server: Served) -> None:
        before = state(server)
        answer = said(server, b"POST /v1/memories HTTP/1.1\r\nhost: localhost\r\n" + RAW[name])
        if answer:
            status = int(answer.split(b" ", 2)[1])
            assert 400 <= status < 500, answer
        assert state(server) == before

    @pytest.mark.parametrize(
        "start",
        [
            b"GET /v1/\xff\xfe HTTP/1.1",
            b"GET /v1/memories?q=\xff HTTP/1.1",
            b"GET http://evil.example/v1/stats HTTP/1.1",
            b"GET //evil.example/%2e%2e/v1/stats HTTP/1.1",
            b"GET " + b"/" * 70_000 + b" HTTP/1.1",
            b"CONNECT evil.example:443 HTTP/1.1",
            b"PRI * HTTP/2.0",
            b"OPTIONS * HTTP/1.1",
            b"BREW /v1/memories HTTP/1.1",
            b"GET /v1/stats HTTP/9.9",
            b"\x16\x03\x01\x02\x00\x01\x00",
        ],
    )
    def test_a_first_line_that_is_none(self, start: bytes, server: Served) -> None:
        answer = said(server, start + b"\r\nhost: localhost\r\n\r\n")
        assert not answer.startswith(b"HTTP/1.1 5"), answer
        assert httpx.get(f"{server.url}/health").status_code == 200


def said(server: Served, request: bytes) -> bytes:
    """What comes back on a connection of its own, until the server has no more to say."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=HANG_S) as line:
        try:
            line.sendall(request)
            line.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: line.recv(65_536), b""))
        except ConnectionError:
            return b""


class TestSlow:
    def test_who_sends_a_byte_at_a_time_holds_nobody_up(self, server: Served) -> None:
        """More of them than there are threads, in headers and in bodies; others are answered."""
        host, port = server.url.removeprefix("http://").split(":")
        head = b"POST /v1/memories HTTP/1.1\r\nhost: localhost\r\ncontent-length: 20\r\n\r\n"
        begun = (head[:5], head[:-2], head, head + b'{"te')
        slow = [socket.create_connection((host, int(port))) for _ in range(80)]
        try:
            for number, one in enumerate(slow):
                one.sendall(begun[number % len(begun)])
            for _ in range(20):
                for one in slow[::8]:
                    one.sendall(b" " if one in slow[3::4] else b"x")
                body = {"text": "in between", "user_id": "slow"}
                made = httpx.post(f"{server.url}/v1/memories", json=body, timeout=HANG_S)
                assert made.status_code == 200
        finally:
            for one in slow:
                one.close()


def test_every_field_of_every_route_is_tried() -> None:
    for route in served():
        asked = {each.name for each in fields(route.request)}
        assert set(route.asked) <= asked
    assert len(served()) > 100

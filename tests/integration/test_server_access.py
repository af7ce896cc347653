"""Who may do what: every route with every kind of key, every name and every origin."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations

import httpx
import pytest

from remanence.api.verb import AnyVerb, Grant, Scoping
from remanence.api.verbs.table import served
from remanence.server.rest.openapi import document
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http

UNKNOWN = "00000000-0000-7000-8000-000000000000"
GRANTS = [set(some) for n in range(1, 5) for some in combinations(Grant, n)]
ADMIN = ("GET /v1/admin/keys", "GET /v1/admin/audit", "GET /v1/admin/audit/verify", "GET /metrics")
SHORT = {
    "POST /memory/store": Grant.WRITE,
    "GET /memory/retrieve": Grant.READ,
    "POST /memory/consolidate": Grant.WRITE,
    "GET /memory/stats": Grant.READ,
    "GET /v1/memories": Grant.READ,
    f"DELETE /v1/memories/{UNKNOWN}": Grant.WRITE,
    "GET /v1/export": Grant.READ,
    "POST /v1/import": Grant.WRITE,
    **dict.fromkeys(ADMIN, Grant.ADMIN),
}
REFUSED = (401, 403)
# They show and cancel what the caller could have begun, whatever that is.
OF_WHO_BEGAN = {"GET /v1/jobs", "GET /v1/jobs/{id}", "DELETE /v1/jobs/{id}"}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as served:
        served.memory.add("Ana keeps the key under the mat", user_id="ana")
        yield served


@pytest.fixture(scope="module")
def keys(server: Served) -> dict[frozenset[Grant], str]:
    return {frozenset(some): server.key(*some) for some in GRANTS}


def call(server: Served, method: str, path: str, key: str | None = None) -> httpx.Response:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return http.request(method, server.url + path, headers=headers, timeout=HANG_S)


def path_of(route: AnyVerb) -> str:
    return route.path.replace("{id}", UNKNOWN).replace("{label}", "human")


def only_tells(route: AnyVerb) -> bool:
    """Whether it says by default what it would do: that is reading too."""
    asked = {each.name: each.default for each in fields(route.request)}
    return asked.get("dry_run") is True


def allowed(grants: frozenset[Grant], wanted: Grant) -> bool:
    return wanted in grants or Grant.ADMIN in grants


class TestScopes:
    @pytest.mark.parametrize("route", served(), ids=lambda route: route.name)
    def test_a_route_lets_in_whom_its_operation_lets_in(
        self, route: AnyVerb, server: Served, keys: dict[frozenset[Grant], str]
    ) -> None:
        wanted = route.needs | ({Grant.READ} if only_tells(route) else set())
        of_all = route.scope is Scoping.STORE
        for grants, key in keys.items():
            status = call(server, route.method, path_of(route), key).status_code
            may = all(allowed(grants, one) for one in wanted) and not of_all
            assert (status != 403) == may, (grants, status)
            assert status not in (401, 500)

    @pytest.mark.parametrize("where", SHORT)
    def test_so_do_the_others(
        self, where: str, server: Served, keys: dict[frozenset[Grant], str]
    ) -> None:
        method, path = where.split(" ")
        for grants, key in keys.items():
            status = call(server, method, path, key).status_code
            assert (status != 403) == allowed(grants, SHORT[where]), (grants, status)

    @pytest.mark.parametrize("where", sorted(OF_WHO_BEGAN))
    def test_what_was_begun_is_not_for_strangers(
        self, where: str, server: Served, keys: dict[frozenset[Grant], str]
    ) -> None:
        method, path = where.replace("{id}", UNKNOWN).split(" ")
        assert call(server, method, path).status_code == 401
        for key in keys.values():
            assert call(server, method, path, key).status_code in (200, 404)

    def test_every_route_is_in_the_matrix(self, server: Served) -> None:
        """A route that nobody thought of here fails the build."""
        told = document(server.app)["paths"]
        found = {f"{method.upper()} {path}" for path, here in told.items() for method in here}
        known = {f"{route.method} {route.path}" for route in served()}
        known |= {where.replace(UNKNOWN, "{id}") for where in SHORT}
        known |= {"POST /v1/admin/keys", "DELETE /v1/admin/keys/{prefix}", "GET /health"}
        known |= {"POST /v1/admin/keys/{prefix}/rotate", "GET /ready"}
        known |= OF_WHO_BEGAN
        assert found <= known, sorted(found - known)

    def test_an_operator_cares_for_the_whole_store(self, server: Served) -> None:
        key = server.key("admin", operator=True)
        assert call(server, "POST", "/v1/admin/doctor", key).status_code == 200


class TestWithoutAKey:
    @pytest.mark.parametrize("shown", [None, "", "x", "rem_aaaaaaaa_" + "0" * 40, "\xff" * 50])
    def test_nothing_happens(self, shown: str | None, server: Served, keys: object) -> None:
        before = repr(server.memory.find(all_users=True, states="any"))
        for route in served():
            headers = (
                {}
                if shown is None
                else {"authorization": f"Bearer {shown}".strip().encode("latin-1")}
            )
            answer = http.request(
                route.method, server.url + path_of(route), headers=headers, timeout=HANG_S
            )
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.headers["content-type"] == "application/problem+json"
        assert repr(server.memory.find(all_users=True, states="any")) == before

    def test_the_body_is_not_read_first(self, server: Served, keys: object) -> None:
        """Who is not let in hears so before sending what was announced."""
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=HANG_S) as line:
            head = f"POST /v1/memories HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n\r\n"
            line.sendall(head.encode())
            assert line.recv(65_536).startswith(b"HTTP/1.1 401")

    def test_anybody_may_ask_whether_it_is_up(self, server: Served, keys: object) -> None:
        for path in ("/health", "/ready", "/openapi.json"):
            assert call(server, "GET", path).status_code == 200


class TestHostAndOrigin:
    @pytest.mark.parametrize(
        "host",
        [
            *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0"),
            *("evil.example:8005", "127.0.0.1@evil.example", "", "169.254.169.254", "[::2]"),
            *("localhost:99999999", "127.0.0.1 evil.example", "evil_localhost", "127.1"),
        ],
    )
    @pytest.mark.parametrize("path", ["/health", "/v1/stats", "/mcp", "/v1/ping/", "/nothing"])
    def test_other_names_are_refused(self, host: str, path: str, server: Served) -> None:
        answer = http.get(server.url + path, headers={"host": host})
        assert answer.status_code in (400, 421)

    @pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "LOCALHOST:8005", "[::1]:8005"])
    def test_its_own_names_are_not(self, host: str, server: Served) -> None:
        assert http.get(server.url + "/health", headers={"host": host}).status_code == 200

    @pytest.mark.parametrize(
        "origin",
        [
            *("http://evil.example", "https://127.0.0.1.evil.example", "null", "file://", ""),
            *("http://localhost:3000", "http://127.0.0.1:9", "http://evil.example:8005"),
        ],
    )
    @pytest.mark.parametrize("path", ["/health", "/v1/stats", "/mcp", "/v1/ping/"])
    def test_pages_of_others_are_refused(self, origin: str, path: str, server: Served) -> None:
        for method in ("GET", "POST", "OPTIONS"):
            answer = http.request(method, server.url + path, headers={"origin": origin})
            assert answer.status_code == 403
            assert not [name for name in answer.headers if name.startswith("access-control")]

    def test_a_page_of_its_own_may(self, server: Served) -> None:
        answer = http.get(server.url + "/health", headers={"origin": server.url})
        assert answer.status_code == 200

    def test_names_and_pages_can_be_allowed(self) -> None:
        allowed = {"hosts": "memory.example, *.inside.example", "origins": "https://app.example"}
        with serving(**allowed) as served:
            for host in ("memory.example", "a.inside.example:8005"):
                answer = http.get(served.url + "/health", headers={"host": host})
                assert answer.status_code == 200
            answer = http.get(served.url + "/health", headers={"origin": "https://app.example"})
            assert answer.headers["access-control-allow-origin"] == "https://app.example"


class TestLimits:
    def test_a_large_body_is_refused(self) -> None:
        with serving(max_body_mb=0.01) as served:
            body = {"text": "x" * 20_000}
            answer = http.post(served.url + "/v1/memories", json=body)
            assert answer.status_code == 413
            chunks = iter([b'{"text": "', b"x" * 20_000, b'"}'])
            answer = http.post(
                served.url + "/v1/memories",
                content=chunks,
                headers={"content-type": "application/json"},
            )
            assert answer.status_code == 413
            assert served.memory.count(all_users=True) == 0

    def test_too_many_calls_are_refused_for_a_while(self) -> None:
        with serving() as served:
            key = served.key("read", rate_limit=1)
            found = [call(served, "GET", "/v1/stats", key) for _ in range(3)]
            assert [one.status_code for one in found] == [200, 429, 429]
            assert 1 < int(found[-1].headers["retry-after"]) <= 60

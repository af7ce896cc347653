"""What a key of little trust brings in stays little trusted, and touches nothing above it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from remanence.operations.routes import needs, routes
from remanence.server.access.caller import HUMBLE, WAITING
from remanence.testing.serving import Served, serving

USER = {"user_id": "ana"}


class Caller:
    """A client with one key."""

    def __init__(self, server: Served, key: str) -> None:
        self._url = server.url
        self._headers = {"authorization": f"Bearer {key}"}

    def __call__(self, method: str, path: str, body: Any = None, **query: Any) -> httpx.Response:
        return httpx.request(
            method,
            self._url + path,
            json=body,
            params=query or None,
            headers=self._headers,
            timeout=30,
        )


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as served:
        yield served


@pytest.fixture
def humble(server: Served) -> Caller:
    return Caller(server, server.key("read", "write", trust=0.3, name="scraper"))


@pytest.fixture
def full(server: Served) -> Caller:
    return Caller(server, server.key("read", "write", "admin"))


def prefix_of(server: Served, name: str) -> str:
    return next(f"key:{key.prefix}" for key in server.app.state.keys.list() if key.name == name)


class TestLimitedTrust:
    @pytest.mark.parametrize("asked", [None, 1.0, 0.5, 0.1])
    def test_trust_is_capped_and_the_actor_is_the_key(
        self, asked: float | None, server: Served, humble: Caller
    ) -> None:
        own = {} if asked is None else {"trust": asked}
        humble("POST", "/v1/memories", {"text": "one", "actor": "the pope", **own, **USER})
        humble(
            "POST",
            "/v1/memories/batch",
            {"memories": [{"text": "two", "actor": "the pope", **own}], **USER},
        )
        said = [{"role": "user", "content": "three"}]
        humble("POST", "/v1/messages", {"messages": said, **own, **USER})
        humble("POST", "/v1/conversations", {"messages": said, "session_id": "s", **own, **USER})
        found = server.memory.find(user_id="ana")
        assert len(found) == 4
        assert {record.trust for record in found} == {min(0.3, asked if asked else 0.3)}
        assert {record.actor for record in found} == {prefix_of(server, "scraper")}

    def test_so_is_that_of_facts(self, server: Served, humble: Caller) -> None:
        fact = {"subject": "Ana", "predicate": "lives in", "object": "Rome", "trust": 1.0, **USER}
        assert humble("POST", "/v1/facts", fact).json()["trust"] == 0.3
        link = {"source": "Ana", "relation": "knows", "target": "Ben", "trust": 1.0, **USER}
        assert humble("POST", "/v1/graph/relations", link).status_code == 200
        found = server.memory.facts.about("Ana", user_id="ana", history=True)
        assert found
        assert all(fact.trust <= 0.3 for fact in found)

    def test_nothing_that_is_trusted_more_is_touched(self, server: Served, humble: Caller) -> None:
        theirs = server.memory.add("Ana lives in Lisbon", user_id="ana")
        path = f"/v1/memories/{theirs.id}"
        assert humble("PATCH", path, {"text": "Ana lives in Rome"}).status_code == 403
        assert humble("PATCH", path, {"state": "archived"}).status_code == 403
        assert humble("DELETE", path).status_code == 403
        assert humble("POST", "/v1/memories/forget", USER).status_code == 403
        assert server.memory.get(theirs.id) == theirs

    def test_what_is_its_own_may_be_changed_but_never_raised(
        self, server: Served, humble: Caller
    ) -> None:
        own = humble("POST", "/v1/memories", {"text": "a rumour", **USER}).json()
        path = f"/v1/memories/{own['id']}"
        assert humble("PATCH", path, {"text": "a worse one", "trust": 1.0}).json()["trust"] == 0.3
        assert humble("DELETE", path, erase="true").status_code == 403
        assert humble("DELETE", path).status_code == 200
        assert humble("PATCH", path, {"state": "active"}).status_code == 403

    def test_no_other_writing_route_is_open(self, humble: Caller) -> None:
        for route in routes():
            if route.operation.writes and route.operation.name not in HUMBLE:
                path = route.path.replace("{id}", "x").replace("{label}", "human")
                assert humble(route.method, path).status_code == 403, route.operation.name
        assert humble("POST", "/v1/import").status_code == 403

    def test_it_mints_no_key(self, server: Served) -> None:
        low = Caller(server, server.key("admin", trust=0.3))
        wanted = {"name": "more", "grants": ["read"]}
        assert low("POST", "/v1/admin/keys", wanted).status_code == 403

    def test_it_can_be_purged(self, server: Served, humble: Caller, full: Caller) -> None:
        kept = server.memory.add("Ana lives in Lisbon", user_id="ana")
        humble("POST", "/v1/memories", {"text": "Ana lives in Rome", **USER})
        humble("POST", "/v1/messages", {"messages": [{"role": "user", "content": "Hi"}], **USER})
        actor = {"actor": prefix_of(server, "scraper")}
        assert humble("POST", "/v1/memories/purge", actor).status_code == 403
        assert full("POST", "/v1/memories/purge", actor).status_code == 200
        assert server.memory.find(user_id="ana") == [kept]


class TestQuarantine:
    @pytest.fixture
    def waiting(self, server: Served) -> Caller:
        return Caller(server, server.key("read", "write", quarantine=True))

    def test_what_it_writes_waits(self, server: Served, waiting: Caller, full: Caller) -> None:
        body = {"text": "Ana moved to Rome", **USER}
        one = waiting("POST", "/v1/memories", body).json()
        waiting("POST", "/v1/memories/batch", {"memories": [{"text": "Ana moved to Oslo"}], **USER})
        said = {"messages": [{"role": "user", "content": "I moved to Bonn"}], **USER}
        waiting("POST", "/v1/messages", said)
        waiting("POST", "/v1/conversations", {**said, "session_id": "s"})
        asked = {"query": "where does Ana live?", **USER}
        assert waiting("POST", "/v1/search", asked).json()["hits"] == []
        assert server.memory.facts.about("Ana", user_id="ana") == []
        held = server.memory.find(user_id="ana", states="quarantined")
        assert len(held) == 4
        full("PATCH", f"/v1/memories/{one['id']}", {"state": "active"})
        assert [
            hit["memory"]["id"] for hit in full("POST", "/v1/search", asked).json()["hits"]
        ] == [one["id"]]

    def test_what_cannot_wait_is_refused(self, waiting: Caller) -> None:
        for route in routes():
            if route.operation.writes and route.operation.name not in WAITING:
                path = route.path.replace("{id}", "x").replace("{label}", "human")
                assert waiting(route.method, path).status_code == 403, route.operation.name


class TestFullTrust:
    def test_an_actor_that_is_named_is_kept(self, server: Served, full: Caller) -> None:
        full("POST", "/v1/memories", {"text": "one", "actor": "ben", **USER})
        full("POST", "/v1/memories", {"text": "two", **USER})
        found = {record.text: record.actor for record in server.memory.find(user_id="ana")}
        assert found == {"one": "ben", "two": prefix_of(server, "test")}


def test_every_operation_needs_something() -> None:
    assert {needs(route.operation) for route in routes()} == {"read", "write", "admin"}

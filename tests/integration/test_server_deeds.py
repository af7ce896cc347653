"""What a server's keys, audit log, redaction and kept answers let through, and what they do not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from remanence import Memory
from remanence.api.verbs.table import verb_of
from remanence.errors import Forbidden
from remanence.model.clock import FixedClock
from remanence.model.document import Shelf
from remanence.model.scope import Reach
from remanence.server.idempotency import Once
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http


class Caller:
    """A client with one key."""

    def __init__(self, server: Served, key: str) -> None:
        self._url = server.url
        self._headers = {"authorization": f"Bearer {key}"}

    def __call__(self, method: str, path: str, body: Any = None, **query: Any) -> httpx.Response:
        return http.request(
            method,
            self._url + path,
            json=body,
            params=query or None,
            headers=self._headers,
            timeout=HANG_S,
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


class TestMadeKeys:
    def test_a_key_is_no_more_than_its_maker(self, server: Served) -> None:
        ends = datetime(2999, 1, 1, tzinfo=UTC)
        maker = Caller(server, server.key("admin", expires_at=ends, rate_limit=500))
        for wanted in ({}, {"expires_at": "3001-01-01T00:00:00Z", "rate_limit": 0}):
            body = {"name": "more", "grants": ["read"], **wanted}
            about = maker("POST", "/v1/admin/keys", body).json()["about"]
            assert datetime.fromisoformat(about["expires_at"]) == ends
            assert about["rate_limit"] == 500
        less = {"expires_at": "2998-01-01T00:00:00Z", "rate_limit": 5, "trust": 0.5}
        body = {"name": "less", "grants": ["read"], **less}
        about = maker("POST", "/v1/admin/keys", body).json()["about"]
        assert about["expires_at"].startswith("2998")
        assert (about["rate_limit"], about["trust"]) == (5, 0.5)

    def test_the_servers_own_limit_counts(self) -> None:
        with serving(rate_limit=50) as server:
            maker = Caller(server, server.key("admin"))
            for wanted, given in ((None, None), (0, 50), (80, 50), (20, 20)):
                body = {"name": "one", "grants": ["read"], "rate_limit": wanted}
                about = maker("POST", "/v1/admin/keys", body).json()["about"]
                assert about["rate_limit"] == given


class TestAudit:
    def test_it_tells_what_a_deed_concerns_and_no_value(self, server: Served, full: Caller) -> None:
        asked = {"all_users": True, "filters": {"project": "hush"}}
        full("POST", "/v1/memories/forget", asked)
        purge = {"source": "web", "actor": "ben", "since": "2026-01-01T00:00:00Z"}
        full("POST", "/v1/memories/purge", purge)
        purged, forgotten = full("GET", "/v1/admin/audit").json()["entries"][:2]
        own = {"actor": prefix_of(server, "test")}
        assert forgotten["about"] == {"all_users": True, "filters": ["project"], **own}
        assert purged["about"]["source"] == "web"
        assert purged["about"]["actor"] == "ben"
        assert purged["about"]["since"].startswith("2026-01-01")

    def test_grave_deeds_that_are_refused_are_told(
        self, server: Served, humble: Caller, full: Caller
    ) -> None:
        for _ in range(3):
            assert humble("POST", "/v1/memories/forget", {"user_id": "ana"}).status_code == 403
        assert humble("POST", "/v1/blocks/human/append", {"text": "no"}).status_code == 403
        door, key = server.app.state.door, server.app.state.keys.list()[0]
        with pytest.raises(Forbidden):
            door.perform(key.caller(), verb_of("purge"), verb_of("purge").request(source="web"))
        told = [
            one
            for one in full("GET", "/v1/admin/audit").json()["entries"]
            if one["deed"] == "refused"
        ]
        assert [one["who"] for one in told] == [prefix_of(server, "scraper")] * 2
        assert [one["about"] for one in told] == [
            {"operation": "purge", "source": "web", "all_users": True},
            {"operation": "forget", "user_id": "ana"},
        ]


class TestRedaction:
    def test_names_in_metadata_hide_nothing(self) -> None:
        mail = "eve@example.com"
        with serving(redact="email") as server:
            url = f"{server.url}/v1/memories"
            told = {"name": mail, "key": [mail], "deep": {"label": mail}, "app_id": mail}
            item = {"text": "a", "external_id": mail, "metadata": told, "speaker": mail}
            made = [
                http.post(url, json=item).json(),
                http.post(f"{url}/batch", json={"memories": [item]}).json()["memories"][0],
            ]
            said = {"role": "user", "content": "Hi", "id": mail, "metadata": told}
            answer = http.post(f"{server.url}/v1/messages", json={"messages": [said]})
            made += answer.json()["memories"]
            for one in made:
                assert one["external_id"] == mail
                assert one["metadata"].pop("app_id") == mail
                assert mail not in str(one["metadata"])


def test_answers_that_ran_out_are_swept_for_every_tenant(tmp_path: Path) -> None:
    clock = FixedClock(datetime(2026, 3, 1, tzinfo=UTC))
    with Memory(str(tmp_path / "memory.db"), clock=clock) as memory:
        store = memory.parts.store
        once = Once(store.documents, clock)

        def kept(tenant: str) -> int:
            return len(store.documents.shelved(Reach(tenant=tenant), Shelf.ANSWER, limit=1_000))

        for tenant in ("one", "two", "three"):
            once.run(tenant, "first", b"asked", lambda: b"answer")
        clock.at += timedelta(hours=2)
        for n in range(60):
            once.run("one", f"key {n}", b"asked", lambda: b"answer")
        assert [kept(tenant) for tenant in ("one", "two", "three")] == [60, 0, 0]


@pytest.mark.parametrize(
    ("wrote", "erased"),
    [
        (
            ("/v1/working/set", {"key": "k", "value": "v", "session_id": "s"}),
            ("POST", "/v1/working/clear", {"json": {"session_id": "s"}}),
        ),
        (
            ("/v1/snapshots", {"name": "one", "note": "v"}),
            ("DELETE", "/v1/snapshots", {"params": {"name": "one"}}),
        ),
    ],
)
def test_whatever_erases_takes_kept_answers_along(server: Served, wrote: Any, erased: Any) -> None:
    path, body = wrote
    http.post(server.url + path, json=body, headers={"idempotency-key": "k"}).raise_for_status()
    documents, reach = server.memory.parts.store.documents, Reach(tenant="default")
    assert len(documents.shelved(reach, Shelf.ANSWER, limit=9)) == 1
    method, path, told = erased
    http.request(method, server.url + path, **told).raise_for_status()
    assert documents.shelved(reach, Shelf.ANSWER, limit=9) == []

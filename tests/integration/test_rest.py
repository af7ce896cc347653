"""What the HTTP API promises: pages, repeats, versions, request ids, the short paths, errors."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from remanence import Memory
from remanence.api.service import MemoryService
from remanence.api.values import Misfit
from remanence.errors import DeadlineExceeded, QuotaExceeded, RemanenceError
from remanence.server.problems import MEDIA_TYPE, SILENT, STATUSES, TITLES
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http

UNKNOWN = "00000000-0000-7000-8000-000000000000"
PROBLEM = {"type", "title", "status", "detail", "request_id"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(Memory(tmp_path_factory.mktemp("rest") / "memory.db")) as served:
        yield served


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with client_of(server) as http:
        yield http


@pytest.fixture(scope="module")
def texts(server: Served) -> list[str]:
    said = [f"page {number}" for number in range(7)]
    for text in said:
        server.memory.add(text, user_id="pages")
    return said


def ok(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def problem(answer: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == MEDIA_TYPE
    told: dict[str, Any] = answer.json()
    assert told.keys() == PROBLEM
    assert (told["status"], told["type"]) == (status, f"urn:remanence:{kind}")
    assert told["request_id"] == answer.headers["x-request-id"]
    return told


class TestPages:
    def test_pages_follow_on_each_other(self, client: httpx.Client, texts: list[str]) -> None:
        for asked in (self.by_post, self.by_get):
            pages = [asked(client, offset) for offset in (0, 3, 6, 9)]
            assert [len(page) for page in pages] == [3, 3, 1, 0]
            assert [text for page in pages for text in page] == texts

    @staticmethod
    def by_post(client: httpx.Client, offset: int) -> list[str]:
        asked = {"user_id": "pages", "limit": 3, "offset": offset, "newest_first": False}
        return [one["text"] for one in ok(client.post("/v1/memories/find", json=asked))["memories"]]

    @staticmethod
    def by_get(client: httpx.Client, offset: int) -> list[str]:
        asked = f"user_id=pages&limit=3&offset={offset}&newest_first=false"
        return [one["text"] for one in ok(client.get(f"/v1/memories?{asked}"))["memories"]]

    def test_a_list_in_a_query_is_given_item_by_item(
        self, client: httpx.Client, texts: list[str]
    ) -> None:
        asked = "user_id=pages&kinds=episodic&kinds=semantic"
        found = ok(client.get(f"/v1/memories?{asked}"))["memories"]
        assert len(found) == len(texts)

    def test_what_is_asked_twice_or_is_unknown_is_malformed(self, client: httpx.Client) -> None:
        for query in ("limit=1&limit=2", "colour=blue", "limit=few", "newest_first=perhaps"):
            problem(client.get(f"/v1/memories?{query}"), 400, "malformed")


class TestDeleting:
    def test_what_was_deleted_is_not_there(self, client: httpx.Client) -> None:
        id = ok(client.post("/v1/memories", json={"text": "not for long"}))["id"]
        problem(client.delete(f"/v1/memories/{id}", params={"erase": "false"}), 400, "malformed")
        assert ok(client.delete(f"/v1/memories/{id}"))["erased"]
        for path in ("", "/history", "/related", "/sources"):
            problem(client.get(f"/v1/memories/{id}{path}"), 404, "not-found")
        [receipt] = ok(client.get("/v1/erasures", params={"limit": 1}))["erasures"]
        assert receipt["ids"] == [id]

    def test_what_was_forgotten_can_come_back(self, client: httpx.Client) -> None:
        id = ok(client.post("/v1/memories", json={"text": "for a while"}))["id"]
        ok(client.post("/v1/memories/forget", json={"id": [id]}))
        assert ok(client.get(f"/v1/memories/{id}"))["state"] == "archived"
        assert ok(client.patch(f"/v1/memories/{id}", json={"state": "active"}))["id"] == id


class TestRepeats:
    def test_a_memory_is_added_once(self, client: httpx.Client) -> None:
        self.check(client, "/v1/memories", {"text": "once only", "user_id": "repeats"})
        assert ok(client.post("/v1/memories/count", json={"user_id": "repeats"}))["count"] == 1

    def test_so_is_anything_else_that_is_written(self, client: httpx.Client) -> None:
        told = {"name": "Repeats", "type": "person", "user_id": "repeats"}
        self.check(client, "/v1/graph/entities", told)
        self.check(client, "/v1/blocks", {"label": "repeats", "value": "kept"})
        block = client.post("/v1/blocks/repeats/append", json={"text": "x"}, headers=key("app"))
        again = client.post("/v1/blocks/repeats/append", json={"text": "x"}, headers=key("app"))
        assert ok(block) == ok(again)
        assert again.headers["etag"] == block.headers["etag"]
        assert ok(client.get("/v1/blocks/repeats"))["version"] == 2
        for more in ({}, {"if-match": '"2"'}):  # a key that is taken is no version that passed
            told = {"json": {"text": "y"}, "headers": key("app") | more}
            problem(client.post("/v1/blocks/repeats/append", **told), 409, "conflict")

    @staticmethod
    def check(client: httpx.Client, path: str, body: dict[str, Any]) -> None:
        given = key(f"key-of-{path}")
        first = client.post(path, json=body, headers=given)
        assert ok(client.post(path, json=body, headers=given)) == ok(first)
        other = {**body, "user_id": "somebody else"}
        problem(client.post(path, json=other, headers=given), 409, "conflict")

    def test_many_at_once_write_once(self, client: httpx.Client, server: Served) -> None:
        body = {"label": "race", "value": "v"}

        def create(_: int) -> int:
            return http.post(f"{server.url}/v1/blocks", json=body, headers=key("r")).status_code

        with ThreadPoolExecutor(8) as threads:
            statuses = list(threads.map(create, range(16)))
        assert set(statuses) <= {200, 409}
        assert 200 in statuses
        assert ok(client.get("/v1/blocks/race"))["version"] == 1

    def test_what_failed_may_be_tried_again(self, client: httpx.Client) -> None:
        body = {"text": "late"}
        problem(
            client.post("/v1/blocks/later/append", json=body, headers=key("l")), 404, "not-found"
        )
        ok(client.post("/v1/blocks", json={"label": "later"}))
        assert ok(client.post("/v1/blocks/later/append", json=body, headers=key("l")))

    def test_a_key_is_of_its_caller(self, tmp_path: Path) -> None:
        with serving(Memory(tmp_path / "memory.db")) as server:
            for tenant in ("one", "two"):
                headers = {"authorization": f"Bearer {server.key(tenant=tenant)}", **key("same")}
                body = {"label": "note", "value": tenant}
                made = ok(http.post(f"{server.url}/v1/blocks", json=body, headers=headers))
                assert made["value"] == tenant

    def test_a_key_that_is_taken_is_named_as_it_was_sent(self, tmp_path: Path) -> None:
        with serving(Memory(tmp_path / "memory.db")) as server:
            headers = {"authorization": f"Bearer {server.key()}", **key("order-17")}

            def add(text: str) -> httpx.Response:
                url = f"{server.url}/v1/memories"
                return http.post(url, json={"text": text}, headers=headers)

            made = ok(add("once"))
            taken = problem(add("other"), 409, "conflict")
            assert taken["detail"].startswith("The key 'order-17' was used for another request")
            server.memory.forget(made["id"], erase=True)
            erased = problem(add("once"), 409, "conflict")
            assert erased["detail"].startswith("What the key 'order-17' wrote was erased")

    def test_a_key_must_be_printable(self, client: httpx.Client) -> None:
        for wrong in (b"", b"with space", b"x" * 129, "ü".encode()):
            headers = {b"idempotency-key": wrong}
            answer = client.post("/v1/memories", json={"text": "a"}, headers=headers)
            problem(answer, 400, "malformed")

    def test_it_outlives_the_server(self, tmp_path: Path) -> None:
        body, answers = {"label": "kept", "value": "over a restart"}, []
        for _ in range(2):
            with serving(Memory(tmp_path / "memory.db")) as server:
                answer = http.post(f"{server.url}/v1/blocks", json=body, headers=key("kept"))
                answers.append(ok(answer))
        assert answers[0] == answers[1]

    def test_an_erasure_takes_the_answers_along(self, tmp_path: Path) -> None:
        """The answer to an update holds the text; when that is erased, no byte of it is left."""
        secret = "the vault opens with swordfish"
        with serving(Memory(tmp_path / "memory.db")) as server, client_of(server) as http:
            made = ok(http.post("/v1/memories", json={"text": "to be changed"}))
            path = f"/v1/memories/{made['id']}"
            ok(http.patch(path, json={"text": secret}, headers=key("secret")))
            ok(http.post("/v1/blocks", json={"label": "b", "value": secret}, headers=key("b")))
            assert secret.encode() in everything(tmp_path)
            ok(http.delete("/v1/blocks/b", params={"erase": "true"}))
            ok(http.delete(path))
        assert b"swordfish" not in everything(tmp_path)


def client_of(server: Served) -> httpx.Client:
    return http.Client(base_url=server.url, timeout=HANG_S)


def key(name: str) -> dict[str, str]:
    return {"idempotency-key": name}


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


class TestVersions:
    @pytest.fixture
    def block(self, client: httpx.Client, request: pytest.FixtureRequest) -> str:
        label = re.sub(r"\W", "-", request.node.name)
        answer = client.post("/v1/blocks", json={"label": label, "value": "first"})
        assert ok(answer)["version"] == 1
        assert answer.headers["etag"] == '"1"'
        return f"/v1/blocks/{label}"

    def test_what_the_caller_has_is_not_sent_again(self, client: httpx.Client, block: str) -> None:
        for tag in ('"1"', 'W/"1"', '"7", "1"', "*"):
            answer = client.get(block, headers={"if-none-match": tag})
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["etag"] == '"1"'
        for tag in ('"2"', '"10"', "nonsense", '""'):
            answer = client.get(block, headers={"if-none-match": tag})
            assert ok(answer)["value"] == "first"

    def test_a_change_needs_the_version_it_was_made_for(
        self, client: httpx.Client, block: str
    ) -> None:
        changed = client.put(block, json={"value": "second"}, headers={"if-match": '"1"'})
        assert ok(changed)["version"] == 2
        assert changed.headers["etag"] == '"2"'
        for send in (self.rethink, self.append, self.configure, self.delete):
            problem(send(client, block, '"1"'), 412, "version-passed")
        assert ok(client.get(block))["value"] == "second"
        for send in (self.rethink, self.append, self.configure):
            current = client.get(block).headers["etag"]
            ok(send(client, block, current))
        ok(self.rethink(client, block, "*"))
        ok(self.delete(client, block, client.get(block).headers["etag"]))
        problem(client.get(block), 404, "not-found")

    @staticmethod
    def rethink(client: httpx.Client, block: str, tag: str) -> httpx.Response:
        return client.put(block, json={"value": "other"}, headers={"if-match": tag})

    @staticmethod
    def append(client: httpx.Client, block: str, tag: str) -> httpx.Response:
        return client.post(f"{block}/append", json={"text": "more"}, headers={"if-match": tag})

    @staticmethod
    def configure(client: httpx.Client, block: str, tag: str) -> httpx.Response:
        return client.patch(block, json={"description": "about"}, headers={"if-match": tag})

    @staticmethod
    def delete(client: httpx.Client, block: str, tag: str) -> httpx.Response:
        return client.delete(block, headers={"if-match": tag})

    def test_a_tag_that_is_none_is_malformed(self, client: httpx.Client, block: str) -> None:
        for tag in ("", '"one"', '"1", "2"', '"-1"'):
            problem(self.rethink(client, block, tag), 400, "malformed")
        both = client.put(block, json={"value": "x", "version": 2}, headers={"if-match": '"1"'})
        problem(both, 422, "invalid-input")
        assert ok(client.get(block))["version"] == 1

    def test_a_version_to_bring_back_is_not_that_of_the_block(
        self, client: httpx.Client, block: str
    ) -> None:
        ok(client.put(block, json={"value": "second"}))
        tag = {"if-match": '"2"'}
        restored = ok(client.post(f"{block}/restore", json={"version": 1}, headers=tag))
        assert (restored["value"], restored["version"]) == ("first", 3)

    def test_of_two_that_race_one_wins(self, server: Served, block: str) -> None:
        start = threading.Barrier(8)

        def write(number: int) -> int:
            start.wait()
            body, tag = {"value": f"by {number}"}, {"if-match": '"1"'}
            return http.put(server.url + block, json=body, headers=tag).status_code

        with ThreadPoolExecutor(8) as threads:
            statuses = sorted(threads.map(write, range(8)))
        assert statuses == [200, *[412] * 7]


class TestRequestIds:
    def test_one_that_is_given_comes_back(self, client: httpx.Client) -> None:
        for path in ("/health", "/v1/stats", "/v1/memories/none", "/nowhere"):
            answer = client.get(path, headers={"x-request-id": "given-1.a_b"})
            assert answer.headers.get_list("x-request-id") == ["given-1.a_b"]

    def test_else_one_is_made(self, client: httpx.Client) -> None:
        for given in ({}, {"x-request-id": "no spaces"}, {"x-request-id": "x" * 65}):
            made = {client.get("/health", headers=given).headers["x-request-id"] for _ in range(2)}
            assert len(made) == 2
            assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in made)


class TestShortPaths:
    def test_store_retrieve_consolidate_stats(self, client: httpx.Client) -> None:
        body = {"context": "Ana moved to Lisbon", "metadata": {"by": "x"}, "user_id": "short"}
        stored = ok(client.post("/memory/store", json=body))
        assert stored.keys() == {"id"}
        asked = {"q": "Where did Ana move?", "user_id": "short"}
        found = ok(client.get("/memory/retrieve", params=asked))
        assert found.keys() == {"memories"}
        (hit,) = found["memories"]
        assert hit.keys() == {"id", "content", "score", "metadata"}
        assert (hit["id"], hit["content"]) == (stored["id"], "Ana moved to Lisbon")
        assert 0 <= hit["score"] <= 1
        assert hit["metadata"]["by"] == "x"
        assert hit["metadata"]["importance"] == 0.5
        assert ok(client.post("/memory/consolidate"))["runs"]
        assert ok(client.get("/memory/stats"))["memories"] >= 1

    def test_k_says_how_many(self, client: httpx.Client, server: Served) -> None:
        server.memory.add_many([f"the {n}th boat" for n in range(8)], user_id="boats")
        for asked, many in (("", 5), ("&k=2", 2), ("&k=100", 8)):
            found = ok(client.get(f"/memory/retrieve?q=boat&user_id=boats{asked}"))
            assert len(found["memories"]) == many

    def test_a_store_is_repeated_safely(self, client: httpx.Client) -> None:
        body = {"context": "stored once", "user_id": "short once"}
        ids = {ok(client.post("/memory/store", json=body, headers=key("s")))["id"] for _ in "ab"}
        assert len(ids) == 1

    def test_what_is_missing_or_unknown_is_malformed(self, client: httpx.Client) -> None:
        for body in ({}, {"text": "a"}, {"context": "a", "text": "b"}, {"context": 1}):
            problem(client.post("/memory/store", json=body), 400, "malformed")
        for query in ("", "?q=a&k=x", "?q=a&limit=3", f"?q={'a' * 4_001}"):
            problem(client.get(f"/memory/retrieve{query}"), 400, "malformed")
        problem(client.get("/memory/stats?x=1"), 400, "malformed")
        problem(client.post("/memory/store", json={"context": " "}), 422, "invalid-input")


class TestBatch:
    def test_several_are_added_together_or_not_at_all(self, client: httpx.Client) -> None:
        items = [{"text": "b1"}, {"text": "b2", "kind": "semantic"}]
        body = {"memories": items, "user_id": "batch"}
        made = ok(client.post("/v1/memories/batch", json=body))["memories"]
        assert [one["text"] for one in made] == ["b1", "b2"]
        wrong = {"memories": [{"text": "b3"}, {"text": ""}], "user_id": "batch"}
        problem(client.post("/v1/memories/batch", json=wrong), 422, "invalid-input")
        assert ok(client.post("/v1/memories/count", json={"user_id": "batch"}))["count"] == 2


class TestErrors:
    def test_an_unknown_route(self, client: httpx.Client) -> None:
        for path in ("/", "/v1", "/v1/nowhere", "/v1/stats/", "/V1/stats"):
            problem(client.get(path), 404, "no-such-route")

    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("PUT", "/v1/memories", {"GET", "POST"}),
            ("POST", f"/v1/memories/{UNKNOWN}", {"DELETE", "GET", "PATCH"}),
            ("OPTIONS", "/v1/memories/purge", {"POST"}),
            ("TRACE", "/v1/stats", {"GET"}),
            ("DELETE", "/v1/admin/keys", {"GET", "POST"}),
            ("PATCH", "/memory/store", {"POST"}),
        ],
    )
    def test_a_method_that_is_not_there(
        self, client: httpx.Client, method: str, path: str, allowed: set[str]
    ) -> None:
        answer = client.request(method, path)
        problem(answer, 405, "http")
        (told,) = answer.headers.get_list("allow")
        assert set(told.split(", ")) == allowed

    def test_an_unknown_field_or_a_wrong_type_is_malformed(self, client: httpx.Client) -> None:
        for body in ({"text": "a", "colour": "blue"}, {"text": 1}, {"text": "a", "pinned": "yes"}):
            problem(client.post("/v1/memories", json=body), 400, "malformed")
        assert "colour" in client.post("/v1/memories", json={"colour": 1}).json()["detail"]

    def test_a_value_that_cannot_be_is_refused(self, client: httpx.Client) -> None:
        for body in ({"text": ""}, {"text": "a", "trust": 2}, {"text": "a", "kind": "mood"}):
            problem(client.post("/v1/memories", json=body), 422, "invalid-input")

    def test_an_empty_list_is_not_one_that_was_left_out(self, client: httpx.Client) -> None:
        user = {"user_id": "empty lists"}
        ok(client.post("/v1/memories", json={"text": "It stays.", **user}))
        for how in ({"erase": True}, {"dry_run": True}, {}):
            none = {"id": [], **user, **how}
            problem(client.post("/v1/memories/forget", json=none), 422, "invalid-input")
        assert ok(client.post("/v1/memories/find", json={"states": [], **user}))["memories"] == []
        assert ok(client.post("/v1/memories/find", json={"kinds": [], **user}))["memories"] != []
        assert ok(client.post("/v1/sleep/runs", json={"steps": [], **user}))["runs"] == []
        assert ok(client.post("/v1/memories/count", json={"states": None, **user}))["count"] == 1
        assert ok(client.post("/v1/memories/forget", json={"id": None, **user}))["ids"] != []

    def test_not_here(self, client: httpx.Client) -> None:
        problem(client.get(f"/v1/memories/{UNKNOWN}"), 404, "not-found")
        problem(client.get("/v1/memories/no-id-at-all"), 404, "not-found")

    @pytest.mark.parametrize("error", STATUSES, ids=lambda kind: kind.__name__)
    def test_each_error_has_its_status(
        self, client: httpx.Client, server: Served, error: type[Exception]
    ) -> None:
        """Whatever a verb raises, the caller is told in the one form."""
        status, kind = STATUSES[error]

        def fails(*_: Any, **__: Any) -> Any:
            raise error("It failed at /srv/other-tenant.db")

        with patch.object(MemoryService, "stats", fails):
            answer = client.get("/v1/stats")
        told = problem(answer, status, kind)
        assert told["title"] == TITLES[kind]
        again = status in (429, 503) and error is not DeadlineExceeded  # it would take as long
        assert ("retry-after" in answer.headers) == again
        silent = issubclass(error, SILENT) and error is not QuotaExceeded
        assert ("other-tenant" in told["detail"]) == (not silent)

    def test_what_nobody_foresaw_says_nothing(self, client: httpx.Client, server: Served) -> None:
        def fails(*_: Any, **__: Any) -> Any:
            raise KeyError("a secret of the inside")

        with patch.object(MemoryService, "stats", fails):
            told = problem(client.get("/v1/stats"), 500, "unexpected")
        assert "secret" not in str(told)

    def test_the_table_knows_every_error(self) -> None:
        assert {Misfit, RemanenceError} < set(STATUSES)
        assert {kind for _, kind in STATUSES.values()} | {"unexpected"} == set(TITLES)

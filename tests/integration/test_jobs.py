"""Work that takes long over HTTP: begun without waiting, seen from everywhere, cancelled."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from remanence.api.memory import Memory
from remanence.api.service import MemoryService
from remanence.errors import Cancelled
from remanence.model import deadline
from remanence.model.document import Shelf
from remanence.model.scope import Reach
from remanence.server import jobs
from remanence.testing.patience import HANG_S, until
from remanence.testing.serving import Served, serving
from support import http

ASYNC = {"prefer": "respond-async"}
LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def served(database: str) -> Iterator[Served]:
    with serving(Memory(database, embedder="none")) as server:
        yield server


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with http.Client(base_url=served.url, timeout=HANG_S) as client:
        yield client


class Held:
    """An operation of the memory that goes on until it is let go, and heeds being called off."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()
        before = getattr(MemoryService, name)

        def held(memory: MemoryService, *given: Any, **named: Any) -> Any:
            self.began.set()
            while not self.go_on.wait(0.01):
                deadline.check()
            return before(memory, *given, **named)

        monkeypatch.setattr(MemoryService, name, held)


def ended(client: httpx.Client, id: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def over() -> bool:
        found.update(client.get(f"/v1/jobs/{id}").raise_for_status().json())
        return bool(found["state"] != "running")

    until(over)
    return found


def test_a_job_is_begun_and_its_answer_is_fetched(client: httpx.Client) -> None:
    client.post("/v1/memories", json={"text": "Ana sails"}).raise_for_status()
    begun = client.post("/v1/memories/find", json={}, headers=ASYNC)
    assert begun.status_code == 202
    assert begun.headers["preference-applied"] == "respond-async"
    job = ended(client, begun.json()["id"])
    assert begun.headers["location"] == f"/v1/jobs/{job['id']}"
    assert (job["state"], job["operation"]) == ("done", "find")
    assert job["result"]["memories"][0]["text"] == "Ana sails"
    listed = client.get("/v1/jobs").json()["jobs"]
    assert [one["id"] for one in listed] == [job["id"]]
    assert listed[0]["result"] is None


def test_what_takes_long_is_a_job_though_somebody_waits(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, "forget")
    client.post("/v1/memories", json={"text": "Ana sails", "user_id": "ana"})
    answers: list[httpx.Response] = []

    def forget() -> None:
        asked = {"user_id": "ana", "erase": True}
        answers.append(client.post("/v1/memories/forget", json=asked))

    thread = threading.Thread(target=forget)
    thread.start()
    assert held.began.wait(HANG_S)
    [job] = client.get("/v1/jobs").json()["jobs"]
    assert (job["operation"], job["state"], job["by"]) == ("forget", "running", "local")
    cancelled = client.delete(f"/v1/jobs/{job['id']}").raise_for_status().json()
    assert cancelled["cancelling"]
    thread.join(HANG_S)
    assert answers[0].status_code == 409
    assert answers[0].json()["type"] == "urn:remanence:cancelled"
    assert "nothing was changed" in answers[0].json()["detail"]
    assert ended(client, job["id"])["state"] == "cancelled"
    assert client.post("/v1/memories/count", json={"user_id": "ana"}).json()["count"] == 1


def test_a_cancelled_erasure_takes_no_more_later(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had begun is not finished behind the back of who called it off."""
    memory = served.memory
    for n in range(3):
        memory.add(f"Ana sails {n}", user_id="ana")
    end, documents = deadline.Deadline(), memory.parts.store.documents

    def put(*given: Any, **named: Any) -> Any:
        made = type(documents).put(documents, *given, **named)
        end.cancel()
        return made

    monkeypatch.setattr(documents, "put", put)
    with pytest.raises(Cancelled, match="stays"), deadline.within(end):
        memory.forget(user_id="ana", erase=True)
    monkeypatch.undo()
    assert memory.count(user_id="ana") == 3
    memory.forget(memory.add("other", user_id="bea").id, erase=True)  # settles what was cut off
    assert memory.count(user_id="ana") == 3


def test_an_import_is_a_job_with_its_progress(client: httpx.Client) -> None:
    for n in range(3):
        client.post("/v1/memories", json={"text": f"Ana sails {n}"}).raise_for_status()
    told = client.get("/v1/export").content
    begun = client.post("/v1/import", content=told, headers={**LINES, **ASYNC})
    assert begun.status_code == 202
    job = ended(client, begun.json()["id"])
    assert (job["state"], job["done"], job["total"]) == ("done", 3, 3)
    assert job["result"]["skipped"] == 3
    states = {one["operation"]: one["state"] for one in client.get("/v1/jobs").json()["jobs"]}
    assert states == {"import": "done", "export": "done"}


def test_a_job_that_fails_says_why(client: httpx.Client) -> None:
    begun = client.post("/v1/import", content=_header() + b'{"type":"x"}\n', headers=LINES | ASYNC)
    job = ended(client, begun.json()["id"])
    assert job["state"] == "failed"
    assert job["error"]["status"] == 422
    assert "Line 2" in job["error"]["detail"]


def test_what_may_not_be_done_is_refused_before_it_is_a_job(served: Served) -> None:
    key = served.key("read")
    with http.Client(base_url=served.url, headers={"authorization": f"Bearer {key}"}) as reader:
        assert reader.post("/v1/memories", json={"text": "x"}, headers=ASYNC).status_code == 403
        assert reader.get("/v1/jobs").json() == {"jobs": []}


def test_an_answer_is_for_who_may_read(served: Served, client: httpx.Client) -> None:
    client.post("/v1/memories", json={"text": "Ana sails"}).raise_for_status()
    id = client.post("/v1/memories/find", json={}, headers=ASYNC).json()["id"]
    ended(client, id)
    grants = {"reads": ["read"], "writes": ["write"], "other": ["read"]}
    keys = {
        who: served.key(*given, name=who, tenant="else" if who == "other" else "default")
        for who, given in grants.items()
    }

    def asked(who: str, method: str = "GET") -> httpx.Response:
        headers = {"authorization": f"Bearer {keys[who]}"}
        return http.request(method, f"{served.url}/v1/jobs/{id}", headers=headers, timeout=HANG_S)

    assert asked("reads").json()["result"]["memories"]
    assert asked("writes").status_code == asked("other").status_code == 404
    assert asked("reads", "DELETE").status_code == 403
    assert asked("other", "DELETE").status_code == 404


def test_answers_of_jobs_go_with_what_is_erased(client: httpx.Client) -> None:
    said = client.post("/v1/memories", json={"text": "Ana sails", "user_id": "ana"}).json()
    id = client.post("/v1/memories/find", json={"user_id": "ana"}, headers=ASYNC).json()["id"]
    assert ended(client, id)["result"]["memories"]
    gone = client.post(
        "/v1/memories/forget", json={"user_id": "ana", "erase": True}, headers=ASYNC
    ).json()
    job = ended(client, gone["id"])
    assert job["result"]["receipt"]["status"] == "completed"
    assert "sails" not in json.dumps(job)
    assert said["id"] in json.dumps(job)
    assert client.get(f"/v1/jobs/{id}").json()["result"] is None


def test_another_process_sees_and_cancels_a_job(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, "reembed")
    with (
        serving(Memory(database, embedder="none")) as one,
        serving(Memory(database, embedder="none")) as two,
    ):
        begun = http.post(f"{one.url}/v1/admin/reembed", json={}, headers=ASYNC)
        assert held.began.wait(HANG_S)
        path = f"/v1/jobs/{begun.json()['id']}"
        assert http.get(two.url + path, timeout=HANG_S).json()["state"] == "running"
        assert http.delete(two.url + path, timeout=HANG_S).json()["cancelling"]
        with http.Client(base_url=two.url, timeout=HANG_S) as other:
            assert ended(other, begun.json()["id"])["state"] == "cancelled"


def test_a_job_under_way_is_interrupted_when_the_server_ends(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, "reembed")
    with serving(Memory(database, embedder="none")) as server:
        begun = http.post(f"{server.url}/v1/admin/reembed", json={}, headers=ASYNC)
        assert held.began.wait(HANG_S)
    with serving(Memory(database, embedder="none")) as server:
        found = http.get(f"{server.url}/v1/jobs/{begun.json()['id']}", timeout=HANG_S).json()
    assert found["state"] == "interrupted"


def _header() -> bytes:
    with serving() as other:
        return http.get(f"{other.url}/v1/export").content.split(b"\n")[0] + b"\n"


def test_why_anothers_job_failed_is_for_who_may_read(served: Served, client: httpx.Client) -> None:
    """It may quote what the other sent."""
    own, reader, writer = (
        {"authorization": f"Bearer {served.key(*scopes, name=name)}"}
        for name, *scopes in (("own", "write"), ("reader", "read", "write"), ("writer", "write"))
    )
    head = {"type": "remanence-export", "version": 3}
    body = "\n".join(json.dumps(one) for one in (head, {"type": "a secret word"}, {"type": "end"}))
    failed = client.post("/v1/import", content=body, headers=LINES | own)
    assert "a secret word" in failed.json()["detail"]

    def told(key: dict[str, str]) -> str:
        [job] = client.get("/v1/jobs", headers=key).json()["jobs"]
        assert (job["state"], job["error"]["status"]) == ("failed", 422)
        return json.dumps(job) + client.get(f"/v1/jobs/{job['id']}", headers=key).text

    assert told(own).count("a secret word") == told(reader).count("a secret word") == 2
    assert "a secret word" not in told(writer)


def test_no_key_crowds_out_the_jobs_of_others_or_fills_the_store(
    served: Served, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "HELD", 3)
    monkeypatch.setattr(jobs, "LISTED", 4)
    reader, writer = (
        {"authorization": f"Bearer {served.key(scope, name=scope)}"} for scope in ("read", "write")
    )

    def begun(key: dict[str, str], path: str, body: Any) -> str:
        told = client.post(path, json=body, headers=ASYNC | key).raise_for_status().json()
        until(lambda: client.get(told_at(told), headers=key).json()["state"] == "done")
        return str(told["id"])

    def told_at(job: dict[str, Any]) -> str:
        return f"/v1/jobs/{job['id']}"

    own = begun(reader, "/v1/memories/find", {})
    made = [begun(writer, "/v1/memories", {"text": f"Ana sails {n}"}) for n in range(8)]
    assert [one["id"] for one in client.get("/v1/jobs", headers=reader).json()["jobs"]] == [own]
    listed = client.get("/v1/jobs", headers=writer).json()["jobs"]
    assert [one["id"] for one in listed] == made[:-5:-1]
    assert client.get(f"/v1/jobs/{made[0]}", headers=writer).status_code == 404
    store, reach = served.memory.parts.store, Reach(tenant=served.memory.tenant)
    answers = list(store.documents.walk_shelf(reach, Shelf.ANSWER))
    assert len(answers) == len(listed) + 1

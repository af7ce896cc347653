"""A server whose PostgreSQL is raced, killed, or not there yet: it recovers by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from remanence.errors import Conflict, InvalidInput, StoreError, StoreUnavailable
from remanence.server.health import FEW, Writes
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import add, memory
from support import http
from support.server_process import ServerProcess
from support.services.postgres import Postgres
from support.soak import times

pytestmark = [pytest.mark.soak, pytest.mark.timeout(times(7_200, 1_200))]
KEYS = times(1_000, 100)
RACERS = 4
PLAIN = 60
WAITS_S = 120.0
PATIENCE_S = "3"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_write_fails_after_raced_keys(postgres_url: str, workers: str) -> None:
    with (
        ServerProcess(postgres_url, "--workers", workers, rate_limit="0") as server,
        http.Client(base_url=server.url, timeout=60) as client,
        ThreadPoolExecutor(RACERS) as pool,
    ):
        start = threading.Barrier(RACERS)

        def race(key: str) -> int:
            start.wait()
            return written(client, key, key).status_code

        for number in range(KEYS // int(workers)):
            answers = list(pool.map(race, [f"key-{number}"] * RACERS))
            # 409: the first call with the key is still at work.
            assert set(answers) <= {200, 201, 409}, answers
        plain = list(pool.map(lambda n: written(client, f"plain {n}").status_code, range(PLAIN)))
        assert set(plain) <= {200, 201}, plain
        assert client.get("/ready").status_code == 200


def test_a_server_recovers_when_its_database_comes_back(
    private_postgres: Callable[..., Postgres],
) -> None:
    database = private_postgres()
    with (
        ServerProcess(database.database(), server_timeout_s=PATIENCE_S, rate_limit="0") as server,
        http.Client(base_url=server.url, timeout=60) as client,
    ):
        assert written(client, "before").is_success
        assert client.get("/ready").status_code == 200
        database.kill()
        assert_unavailable(written(client, "meanwhile"))
        wait_for(lambda: client.get("/ready").status_code == 503)
        database.restart()
        wait_for(lambda: client.get("/ready").status_code == 200)
        after = [written(client, f"after {n}").status_code for n in range(20)]
        assert set(after) <= {200, 201}, after


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_waits_for_a_database_that_is_not_there_yet(
    private_postgres: Callable[..., Postgres], workers: str
) -> None:
    database = private_postgres()
    url = database.database()
    database.kill()
    with (
        ServerProcess(
            url, "--workers", workers, server_timeout_s=PATIENCE_S, rate_limit="0"
        ) as server,
        http.Client(base_url=server.url, timeout=60) as client,
    ):
        assert client.get("/ready").status_code == 503
        assert_unavailable(written(client, "too early"))
        assert_guarded(client)
        database.restart()
        # Every new connection may meet another worker.
        wait_for(lambda: all(http.get(f"{server.url}/ready").is_success for _ in range(10)))
        assert written(client, "now").is_success
        assert_guarded(client)


def test_ready_goes_by_what_writes_did() -> None:
    store, writes = SqliteStore(":memory:"), Writes()
    add(store, memory("x"))
    writes.check(store, "t")
    for _ in range(FEW):
        writes.saw("find", StoreUnavailable("a read"))
        writes.saw("add", InvalidInput("a caller's"))
        writes.saw("add", Conflict("a caller's"))
    writes.check(store, "t")
    for _ in range(FEW):
        writes.saw("add", StoreError("the store's"))
    with pytest.raises(StoreUnavailable, match=f"last {FEW} writes"):
        writes.check(store, "t")
    writes.saw("add", None)
    writes.check(store, "t")
    store.close()


def written(client: httpx.Client, text: str, key: str | None = None) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post("/v1/memories", json={"text": text}, headers=headers)


def assert_unavailable(answer: httpx.Response) -> None:
    told: dict[str, Any] = answer.json()
    assert answer.status_code == 503, told
    assert answer.headers["content-type"] == "application/problem+json"
    assert told["type"] == "urn:remanence:store-unavailable"
    assert answer.headers["retry-after"]


def assert_guarded(client: httpx.Client) -> None:
    """Whether its store is there or not, a server is called by its names and its pages alone."""
    for path, method in (("/health", "GET"), ("/ready", "GET"), ("/v1/memories", "POST")):
        answer = client.request(method, path, headers={"Host": "evil.example"})
        assert answer.status_code == 421, (path, answer.text)
        page = client.request(method, path, headers={"Origin": "https://evil.example"})
        assert page.status_code == 403, (path, page.text)
        framed = client.request(method, path, headers={"Sec-Fetch-Site": "cross-site"})
        assert framed.status_code == 403, (path, framed.text)
        asked = client.request(method, path, headers={"X-Request-ID": "mine"})
        for one in (answer, page, framed, asked):
            assert one.headers["x-content-type-options"] == "nosniff"
            assert one.headers["x-frame-options"] == "DENY"
            assert "frame-ancestors" in one.headers["content-security-policy"]
            assert one.headers["cache-control"] == "no-store"
        assert asked.headers["x-request-id"] == "mine"


def wait_for(state: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAITS_S
    while not state():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)

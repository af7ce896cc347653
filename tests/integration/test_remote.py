"""A client and a real server: verbs, errors, keys, retries, long runs, threads."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from remanence import AsyncRemoteMemory, Memory, RemoteMemory, errors
from remanence.api.verbs.sleep import StepPlan
from remanence.api.verbs.table import VERBS
from remanence.model.erasure import Forgotten
from remanence.model.hit import Hits
from remanence.testing.serving import Served, serving

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("remote") / "memory.db"
    with Memory(path) as memory, serving(memory) as running:
        yield running


@pytest.fixture
def remote(served: Served) -> Iterator[RemoteMemory]:
    with RemoteMemory(served.url) as opened:
        yield opened


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)[:200]


def test_answers_are_the_memorys_own(remote: RemoteMemory, served: Served, user: str) -> None:
    record = remote.add("Ana moved to Lisbon", user_id=user, metadata={"n": 1})
    assert served.memory.get(record.id) == record == remote.get(record.id)
    hits = remote.search("where does Ana live?", user_id=user, now=record.created_at)
    own = served.memory.search("where does Ana live?", user_id=user, now=record.created_at)
    assert isinstance(hits, Hits)
    assert (list(hits), hits.understood, hits.degraded) == (list(own), own.understood, own.degraded)
    assert remote.feedback(hits[0], useful=True, query="where?") is None  # type: ignore[func-returns-value]
    assert remote.stats().memories == served.memory.stats().memories
    assert remote.similarity("tea", "tea") == pytest.approx(1)


def test_what_is_erased_has_a_receipt(remote: RemoteMemory, user: str) -> None:
    record = remote.add("my address", user_id=user)
    gone = remote.forget(record.id, erase=True)
    assert isinstance(gone, Forgotten)
    assert [one.id for one in gone] == [record.id]
    assert gone.receipt is not None
    assert remote.erasures.get(gone.receipt.id) == gone.receipt
    assert remote.erasures.verify(gone.receipt)
    with pytest.raises(errors.NotFound):
        remote.get(record.id)


def test_layers(remote: RemoteMemory, user: str) -> None:
    assert remote.blocks.append("human", "Her name is Ana.", user_id=user).value
    assert "Ana" in remote.blocks.render(user_id=user)
    assert remote.working.get("task", session_id="s", user_id=user, default="idle") == "idle"
    remote.working.set("task", None, session_id="s", user_id=user)
    assert remote.working.get("task", session_id="s", user_id=user, default="idle") is None
    fact = remote.facts.add("Ana", "lives in", "Porto", user_id=user)
    assert remote.facts.about("Ana", user_id=user) == [fact]
    assert remote.snapshot("before", user_id=user).name == "before"
    assert remote.snapshots.delete("before", user_id=user) is None  # type: ignore[func-returns-value]
    assert all(isinstance(one, StepPlan) for one in remote.sleep.plan(user_id=user))


@pytest.mark.parametrize("name", [one.name for one in VERBS if one.local])
def test_what_needs_the_machine_says_so(remote: RemoteMemory, name: str) -> None:
    layer, _, verb = name.rpartition(".")
    with pytest.raises(errors.InvalidInput, match="only where the memory is"):
        getattr(getattr(remote, layer) if layer else remote, verb)()


def test_errors_are_the_memorys_own(remote: RemoteMemory, served: Served, user: str) -> None:
    record = remote.add("Ana", user_id=user)
    calls: list[tuple[type[Exception], Any]] = [
        (errors.NotFound, lambda memory: memory.get("nonsense")),
        (errors.InvalidInput, lambda memory: memory.add("")),
        (errors.InvalidInput, lambda memory: memory.search("a", limit=0)),
        (errors.InvalidInput, lambda memory: memory.update(record.id)),
        (errors.NotFound, lambda memory: memory.sessions.get("none")),
        (errors.Conflict, lambda memory: memory.blocks.rethink("human", "x", version=7)),
    ]
    for error, call in calls:
        told = []
        for memory in (remote, served.memory):
            with pytest.raises(error) as raised:
                call(memory)
            told.append(str(raised.value))
        assert told[0] == told[1]


def test_progress_of_a_long_run(remote: RemoteMemory, served: Served, user: str) -> None:
    for n in range(3):
        remote.add(f"note {n}", user_id=user)
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))

    learnt = remote.facts.learn(user_id=user, progress=progress)
    assert learnt == served.memory.facts.learn(user_id=user)
    assert told[-1] == (3, 3)


class Lossy(httpx.HTTPTransport):
    """A real line that loses the first answers, after the server has given them."""

    def __init__(self, lost: int) -> None:
        super().__init__()
        self.left = lost

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if self.left:
            self.left -= 1
            response.read()
            response.close()
            raise httpx.ReadError("the answer was lost")
        return response


def test_a_write_whose_answer_is_lost_is_done_once(served: Served, user: str) -> None:
    with RemoteMemory(served.url, transport=Lossy(2)) as remote:
        record = remote.add("once only", user_id=user)
        assert remote.find(user_id=user) == [record]
    with RemoteMemory(served.url, transport=Lossy(2)) as remote:
        edited = remote.blocks.append("human", "once only", user_id=user)
        assert (edited.value, edited.version) == ("once only", 1)
        assert remote.blocks.get("human", user_id=user) == edited


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with (
            RemoteMemory(url, key="secret-key", retries=1) as remote,
            pytest.raises(errors.ServerUnavailable, match=url) as told,
        ):
            remote.count()
    assert "secret-key" not in str(told.value)


def test_a_server_without_tls_says_so(served: Served) -> None:
    url = served.url.replace("http:", "https:")
    with (
        RemoteMemory(url, retries=0) as remote,
        pytest.raises(errors.ServerUnavailable, match="speaks http, not https"),
    ):
        remote.count()


def test_the_address_of_the_api_will_do(served: Served) -> None:
    for url in (f"{served.url}/v1", f"{served.url}/v1/"):
        with RemoteMemory(url) as remote:
            assert remote.count() == served.memory.count()


def test_a_route_that_is_not_there_names_the_address(served: Served) -> None:
    url = f"{served.url}/elsewhere"
    with (
        RemoteMemory(url) as remote,
        pytest.raises(errors.ServerUnavailable, match=f"{url} answered 404"),
    ):
        remote.count()


def test_a_server_that_does_not_answer_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            RemoteMemory(url, timeout_s=0.05, retries=1) as remote,
            pytest.raises(errors.ServerUnavailable, match="timed out"),
        ):
            remote.count()


def test_threads_share_a_client(remote: RemoteMemory, user: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: remote.add(f"note {n}", user_id=user), range(40)))
    assert len({record.id for record in made}) == 40 == remote.count(user_id=user)


def test_the_same_awaited(served: Served, user: str) -> None:
    async def work() -> None:
        async with AsyncRemoteMemory(served.url) as remote:
            made = await asyncio.gather(*(remote.add(f"note {n}", user_id=user) for n in range(20)))
            assert await remote.count(user_id=user) == 20
            assert await remote.get(made[3].id) == made[3]
            block = await remote.blocks.append("human", "Ana", user_id=user)
            assert block.value == "Ana"
            told: list[int] = []
            await remote.facts.learn(user_id=user, progress=lambda done, total: told.append(done))
            assert told[-1] == 20
            with pytest.raises(errors.NotFound):
                await remote.get("nonsense")
            with pytest.raises(errors.InvalidInput, match="only where"):
                await remote.backup("file")
        with pytest.raises(errors.Closed):
            await remote.count()

    asyncio.run(work())


def test_keys_and_walls(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory, serving(memory) as served:
        reader, writer = served.key("read", name="reader"), served.key("write", "read", name="pen")
        stranger = served.key("read", "write", tenant="other", name="other")
        with RemoteMemory(served.url) as nobody, pytest.raises(errors.Unauthenticated):
            nobody.count()
        with RemoteMemory(served.url, key="rem_wrong") as wrong:
            with pytest.raises(errors.Unauthenticated) as told:
                wrong.count()
            assert "rem_wrong" not in str(told.value)
        with (
            RemoteMemory(served.url, key=writer) as pen,
            RemoteMemory(served.url, key=reader) as eye,
        ):
            record = pen.add("ours")
            assert record.actor is not None
            assert record.actor.startswith("key:")
            assert eye.get(record.id) == record
            with pytest.raises(errors.Forbidden, match="write"):
                eye.add("not mine to write")
            with pytest.raises(errors.Forbidden):
                pen.compact()
        with RemoteMemory(served.url, key=stranger) as other:
            assert other.count() == 0
            with pytest.raises(errors.NotFound):
                other.get(record.id)


def test_times_and_texts_of_every_sort_come_back(remote: RemoteMemory, user: str) -> None:
    when = datetime(1999, 12, 31, 23, 59, 59, 123456, tzinfo=UTC)
    text = 'Zeile 1\nZeile 2\t"quoted" \\ 里斯本 👩‍💻 \u2028 </script> %2F ?&=#'
    record = remote.add(text, user_id=user, happened_at=when, source=text)
    assert (record.text, record.happened_at, record.source) == (text, when, text)
    assert remote.search("里斯本", user_id=user)[0].memory == record
    fact = remote.facts.add("里斯本 & Co?", "is #1 of", 'a/b "c"', user_id=user)
    assert remote.facts.about("里斯本 & Co?", user_id=user) == [fact]


def test_a_client_loads_no_server_and_no_model() -> None:
    code = "import sys, remanence.api.remote; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {"starlette", "uvicorn", "onnxruntime", "apsw", "tokenizers"} & loaded

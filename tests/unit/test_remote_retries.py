"""When a client asks again, how long it waits, and what it says when it gives up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from remanence.api.remote import AsyncRemoteMemory, RemoteMemory
from remanence.api.remote.line import LONGEST_WAIT_S, Patience
from remanence.api.remote.message import KINDS, Reply, error_of
from remanence.errors import (
    Closed,
    Conflict,
    NotFound,
    RateLimited,
    RemanenceError,
    ServerUnavailable,
    StoreBusy,
)
from remanence.server.problems import STATUSES, TITLES

ID = "01a1e2cb-b6ad-7735-99d1-76be77e72110"
Answer = httpx.Response | Exception


class Script(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers one request after another as it is written."""

    def __init__(self, *answers: Answer) -> None:
        self.left: Iterator[Answer] = iter(answers)
        self.seen: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = next(self.left)
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.handle_request(request)


def problem(status: int, kind: str, **headers: str) -> httpx.Response:
    body = {"type": f"urn:remanence:{kind}", "title": "t", "status": status, "detail": "because"}
    return httpx.Response(status, json=body, headers=headers)


def count(number: int = 3) -> httpx.Response:
    return httpx.Response(200, json={"count": number})


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have waited."""
    waited: list[float] = []

    async def at_once(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("remanence.api.remote.line.time.sleep", waited.append)
    monkeypatch.setattr("remanence.api.remote.line.asyncio.sleep", at_once)
    return waited


def in_turn(ask: Callable[[RemoteMemory], Any], *answers: Answer) -> tuple[Any, Script]:
    """What a client gives, the one and the other way, with a script for each."""
    script, other = Script(*answers), Script(*answers)

    async def awaited() -> Any:
        async with AsyncRemoteMemory("http://host", transport=other) as memory:
            return await ask(memory)  # type: ignore[arg-type]

    with RemoteMemory("http://host", transport=script) as memory:
        try:
            found = ask(memory)
        except RemanenceError as error:
            with pytest.raises(type(error), match=str(error)[:20]):
                asyncio.run(awaited())
            raise
    assert asyncio.run(awaited()) == found
    assert len(other.seen) == len(script.seen)
    return found, script


@pytest.mark.parametrize(
    "first",
    [
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.ReadTimeout("too long"),
        httpx.RemoteProtocolError("cut"),
        problem(503, "store-busy"),
        problem(429, "rate-limited"),
        httpx.Response(502, text="Bad Gateway"),
    ],
    ids=str,
)
def test_what_passes_is_asked_again(first: Answer, waits: list[float]) -> None:
    found, script = in_turn(lambda memory: memory.count(), first, first, count())
    assert found == 3
    assert len(script.seen) == 3
    assert 0.05 <= waits[0] <= 0.1 <= waits[1] <= 0.2


def test_a_write_is_repeated_under_the_same_key() -> None:
    _, script = in_turn(
        lambda memory: memory.working.clear(session_id="s"), httpx.ReadError("reset"), count()
    )
    first, second = (request.headers["Idempotency-Key"] for request in script.seen)
    assert first == second


def test_the_server_says_how_long_to_wait(waits: list[float]) -> None:
    in_turn(
        lambda memory: memory.count(), problem(429, "rate-limited", **{"Retry-After": "7"}), count()
    )
    assert waits == [7, 7]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (problem(404, "not-found"), NotFound),
        (problem(409, "conflict"), Conflict),
        (problem(500, "unexpected"), ServerUnavailable),
        (httpx.UnsupportedProtocol("odd"), ServerUnavailable),
    ],
    ids=str,
)
def test_what_lasts_is_not(answer: Answer, error: type[Exception]) -> None:
    with pytest.raises(error):
        in_turn(lambda memory: memory.count(), answer)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (problem(429, "rate-limited"), RateLimited),
        (problem(503, "store-busy"), StoreBusy),
        (httpx.Response(503, text="<html>"), ServerUnavailable),
        (httpx.ConnectError("refused"), ServerUnavailable),
    ],
    ids=str,
)
def test_after_the_last_try_the_error_is_told(
    answer: Answer, error: type[Exception], waits: list[float]
) -> None:
    with pytest.raises(error, match=r"because|http://host"):
        in_turn(lambda memory: memory.count(), *[answer] * 4)
    assert len(waits) == 6


@pytest.mark.parametrize("heard", [True, False])
def test_what_erases_is_not_repeated_once_it_may_be_done(heard: bool) -> None:
    """The server keeps no answer of it, so a second call could only say that nothing is there."""
    lost = httpx.ReadError("reset") if heard else httpx.ConnectError("refused")
    answers = (lost, httpx.Response(200, json={"done": True}))
    if heard:
        with pytest.raises(ServerUnavailable):
            in_turn(lambda memory: memory.sessions.erase("s"), *answers)
    else:
        assert in_turn(lambda memory: memory.sessions.erase("s"), *answers)[0] is True


def test_jitter_keeps_between_half_and_all() -> None:
    gone = httpx.ConnectError("refused")
    low, high = (Patience(9, chance=lambda share=share: share) for share in (0.0, 1.0))  # type: ignore[misc]
    assert [low.wait(gone, n) for n in (1, 2, 3)] == [0.05, 0.1, 0.2]
    assert [high.wait(gone, n) for n in (1, 2, 3)] == [0.1, 0.2, 0.4]
    assert high.wait(gone, 9) == 25.6
    assert high.wait(gone, 10) is None
    long = Reply(status=429, headers={"retry-after": "3600"})
    assert high.wait(long, 1) == LONGEST_WAIT_S
    odd = Reply(status=429, headers={"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"})
    assert high.wait(odd, 1) == 0.1


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>hello</html>"),
        httpx.Response(200, json={"count": "many"}),
        httpx.Response(200, json=[1, 2]),
        httpx.Response(204),
        httpx.Response(307, headers={"Location": "http://elsewhere"}),
        httpx.Response(404, json={"detail": "Not Found"}),
        problem(404, "no-such-route"),
    ],
    ids=str,
)
def test_what_is_no_remanence_server_is_told_apart(answer: httpx.Response) -> None:
    with pytest.raises(ServerUnavailable):
        in_turn(lambda memory: memory.count(), answer)


def test_a_default_is_for_what_is_not_there() -> None:
    found, _ = in_turn(
        lambda memory: memory.working.get("k", session_id="s", default="none"),
        problem(404, "not-found"),
    )
    assert found == "none"


def events(*parts: tuple[str, Any]) -> httpx.Response:
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in parts)
    headers = {"Content-Type": "text/event-stream; charset=utf-8"}
    return httpx.Response(200, text=f": hello\n\n{text}", headers=headers)


def test_progress_is_told_as_it_comes() -> None:
    told: list[tuple[int, int]] = []
    found, script = in_turn(
        lambda memory: memory.reembed(lambda done, total: told.append((done, total))),
        events(
            ("progress", {"done": 1, "total": 4}),
            ("progress", {"done": 2, "total": None, "what": "vectors"}),
            ("result", {"count": 4}),
        ),
    )
    assert found == 4
    assert told == [(1, 4), (2, 0)] * 2
    assert script.seen[0].headers["Accept"] == "text/event-stream"


def test_a_problem_in_a_stream_is_raised() -> None:
    busy = {"type": "urn:remanence:store-busy", "status": 503, "detail": "because"}
    with pytest.raises(StoreBusy, match="because"):
        in_turn(lambda memory: memory.reembed(print), events(("error", busy)))


def test_a_stream_that_is_cut_is_not_begun_again() -> None:
    with pytest.raises(ServerUnavailable, match="before the answer came"):
        in_turn(lambda memory: memory.reembed(print), events(("progress", {"done": 1})))


def test_a_stream_that_talks_nonsense() -> None:
    with pytest.raises(ServerUnavailable, match="progress"):
        in_turn(lambda memory: memory.reembed(print), events(("progress", "half")))


def test_a_closed_line_says_so() -> None:
    memory = RemoteMemory("http://host", transport=Script())
    memory.close()
    memory.close()
    with pytest.raises(Closed):
        memory.count()


def test_every_kind_of_problem_is_an_error_here() -> None:
    told = {kind: error for error, (_, kind) in STATUSES.items()}
    assert set(TITLES) <= set(KINDS)
    for kind in told:
        assert isinstance(error_of(f"urn:remanence:{kind}", "because"), RemanenceError)
    lost = {"malformed", "too-large", "overloaded", "shutting-down", "embedder-unavailable"}
    for kind, error in told.items():
        if kind not in lost:
            assert issubclass(error, KINDS[kind]), kind
    assert type(error_of("urn:remanence:of-tomorrow", "because")) is RemanenceError

"""The proxy when things go wrong: upstreams, stores and clients that fail, and who may do what."""

from __future__ import annotations

import json
import math
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import httpx
import openai
import pytest

from remanence import Memory
from remanence.errors import ConfigError
from remanence.testing.chat_server import ChatServer, Turn, fails, says, streams
from remanence.testing.patience import HANG_S, until
from remanence.testing.serving import Served, serving
from support import http

SISTER = "My sister's name is Marta and she lives in Porto."
ASKED = {"role": "user", "content": "What is my sister's name?"}
KEYS = ("authorization", "x-api-key", "cookie", "proxy-authorization")


@pytest.fixture
def upstream() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def served(upstream: ChatServer, database: Path) -> Iterator[Served]:
    with serving(
        Memory(database), upstream_url=upstream.url, upstream_key="up-secret", llm_timeout_s=HANG_S
    ) as server:
        yield server


def stored(memory: Memory, count: int, user: str | None = "ana") -> list[tuple[str, str]]:
    until(lambda: memory.count(kinds="message", user_id=user) >= count)
    found = memory.find(kinds="message", user_id=user, newest_first=False)
    return [(record.text, record.metadata.get("partial", "")) for record in found]


def post(served: Served, body: Any, headers: Any = None) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    url = f"{served.url}/v1/chat/completions"
    return http.post(url, content=content, headers=headers, trust_env=False, timeout=HANG_S)


def chat(text: str = "Hello", **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "user": "ana", **more}


# -- the upstream


def test_without_an_upstream_the_setting_is_named() -> None:
    with serving() as served:
        for answer in (
            post(served, chat()),
            http.get(f"{served.url}/v1/models", trust_env=False),
        ):
            assert answer.status_code == 422
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["type"] == "urn:remanence:not-configured"
            assert "upstream_url" in answer.json()["detail"]


@pytest.mark.parametrize("url", ["ftp://host/v1", "127.0.0.1:80", "http://", "http://[::1"])
def test_an_upstream_that_cannot_be_one_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="upstream_url"), serving(upstream_url=url):
        pass


def test_a_key_that_no_header_carries_is_refused_and_not_shown() -> None:
    with (
        pytest.raises(ConfigError, match="upstream_key") as told,
        serving(upstream_url="http://127.0.0.1:9/v1", upstream_key="secret\nx"),
    ):
        pass
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_errors_of_the_upstream_pass(
    status: int, stream: bool, served: Served, upstream: ChatServer
) -> None:
    upstream.then(fails(status, "not today", retry_after="7"), says("Now."))
    answer = post(served, chat("Refused", stream=stream))
    assert answer.status_code == status
    assert answer.content == upstream.sent[0]
    assert answer.headers["retry-after"] == "7"
    post(served, chat("Taken"))
    assert stored(served.memory, 2) == [("Taken", ""), ("Now.", "")]


def test_the_client_sees_the_error_of_the_upstream(served: Served, upstream: ChatServer) -> None:
    upstream.then(fails(429, "slow down"))
    client = openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0)
    with client, pytest.raises(openai.RateLimitError, match="slow down"):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])


def refused_with(
    served: Served, text: str = "Hi", key: str = "any", **headers: str
) -> openai.APIStatusError:
    url = f"{served.url}/v1"
    with (
        openai.OpenAI(base_url=url, api_key=key, max_retries=0, default_headers=headers) as client,
        pytest.raises(openai.APIStatusError) as told,
    ):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    return told.value


def test_the_client_sees_the_errors_of_the_proxy() -> None:
    with serving() as served:
        error = refused_with(served)
        assert "upstream_url" in str(error)
        assert (error.status_code, error.type, error.code) == (422, *["not-configured"] * 2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with serving(upstream_url=f"http://127.0.0.1:{port}/v1") as served:
        error = refused_with(served)
        assert (error.status_code, error.code) == (502, "language-model")
        assert "upstream_url" in str(error)


def test_the_client_sees_why_it_is_not_let_in(upstream: ChatServer) -> None:
    with serving(upstream_url=upstream.url, max_body_mb=0.5) as served:
        error = refused_with(served, "x" * 600_000)
        assert error.status_code == 413
        assert "larger than 0.5 MB" in str(error)
        reader = served.key("read", rate_limit=1)
        error = refused_with(served, key="wrong")
        assert (error.status_code, error.code) == (401, "unauthenticated")
        assert "key" in str(error)
        error = refused_with(served, key=reader, origin="http://evil.example")
        assert (error.status_code, error.code) == (403, "wrong-origin")
        assert "REMANENCE_ORIGINS" in str(error)
        http.get(f"{served.url}/v1/stats", headers={"x-api-key": reader}, trust_env=False)
        error = refused_with(served, key=reader)
        assert error.status_code == 429
        assert "Too many calls" in str(error)


def test_an_upstream_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with serving(upstream_url=f"http://127.0.0.1:{port}/v1") as served:
        for answer in (
            post(served, chat()),
            http.get(f"{served.url}/v1/models", trust_env=False),
        ):
            assert answer.status_code == 502
            assert answer.json()["type"] == "urn:remanence:language-model"
            assert "upstream_url" in answer.json()["detail"]
            assert str(port) not in answer.text


def test_an_upstream_that_says_nothing_is_given_up(upstream: ChatServer) -> None:
    upstream.then(Turn(hang=True))
    with serving(upstream_url=upstream.url, llm_timeout_s=0.3) as served:
        assert post(served, chat()).status_code == 502


def test_nobody_is_sent_elsewhere(served: Served, upstream: ChatServer) -> None:
    upstream.then(Turn(status=307, headers={"location": "http://127.0.0.1:9/"}, body=b""))
    answer = post(served, chat())
    assert answer.status_code == 502
    assert "upstream_url" in answer.json()["detail"]


def test_an_upstream_that_dies_midway(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Half of what I wanted to say", cut_after=420))
    with (
        http.Client(trust_env=False, timeout=HANG_S) as client,
        client.stream(
            "POST", f"{served.url}/v1/chat/completions", json=chat(stream=True)
        ) as answer,
    ):
        got: list[bytes] = []
        with pytest.raises(httpx.RemoteProtocolError):
            got.extend(answer.iter_raw())
    assert b"".join(got) == upstream.sent[0]
    user, assistant = stored(served.memory, 2)
    assert user == ("Hello", "")
    assert assistant[0]
    assert "Half of what I wanted to say".startswith(assistant[0])
    assert assistant[1] == "the upstream broke off"


def test_a_whole_answer_that_dies_midway_leaves_the_question(
    served: Served, upstream: ChatServer
) -> None:
    upstream.then(says("Half", cut_after=40), says("Whole."))
    with pytest.raises(httpx.RemoteProtocolError):
        post(served, chat("Once"))
    post(served, chat("Twice"))
    assert stored(served.memory, 3) == [("Once", ""), ("Twice", ""), ("Whole.", "")]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'data: {"choices": [{"delta": {"content": "Yes"}}]}\n\ndata: {broken\n\n', "Yes"),
        (b"no event at all", ""),
        (b'data: [1, 2]\n\ndata: null\ndata: {"choices": {}}\n\xff\xfe\n', ""),
        (b'data:{"choices":[{"index":0,"delta":{"content":"Tight"}}]}\ndata:[DONE]', "Tight"),
        (b'data: {"choices": [null, {"delta": "x"}, {"delta": {"content": "Y"}}]}\n', "Y"),
        (b'data: {"error": {"message": "overloaded"}}\n\n', ""),
        (b"data: " + b"[" * 100_000 + b"\n\n", ""),
        (b'data: [DONE]\n\ndata: {"choices": [{"delta": {"content": "Late"}}]}\n\n', ""),
    ],
)
def test_a_stream_of_junk_passes_and_what_it_says_is_stored(
    body: bytes, text: str, served: Served, upstream: ChatServer
) -> None:
    upstream.then(streams(body, bytes_at_once=max(1, len(body) // 9)), says("End."))
    answer = post(served, chat(stream=True))
    assert answer.content == body
    post(served, chat("Then"))
    want = [("Hello", ""), *([(text, "")] if text else []), ("Then", ""), ("End.", "")]
    assert sorted(stored(served.memory, len(want))) == sorted(want)


def test_cookies_and_page_rights_of_the_upstream_do_not_pass(
    served: Served, upstream: ChatServer
) -> None:
    headers = {
        "set-cookie": "a=b",
        "access-control-allow-origin": "*",
        "x-request-id": "theirs",
        "openai-version": "2020-10-01",
        "x-ratelimit-remaining-tokens": "12",
    }
    upstream.then(says("Hi.", headers=headers))
    answer = post(served, chat())
    assert not {"set-cookie", "access-control-allow-origin"} & set(answer.headers)
    assert answer.headers["x-request-id"] != "theirs"
    assert answer.headers["openai-version"] == "2020-10-01"
    assert answer.headers["x-ratelimit-remaining-tokens"] == "12"


# -- the client


def test_a_client_that_leaves_midway(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Half of what I wanted to say", hold_after=420))
    with (
        http.Client(trust_env=False, timeout=HANG_S) as client,
        client.stream(
            "POST", f"{served.url}/v1/chat/completions", json=chat(stream=True)
        ) as answer,
    ):
        next(answer.iter_raw())
    assert upstream.left.wait(HANG_S)
    user, assistant = stored(served.memory, 2)
    assert user == ("Hello", "")
    assert assistant[1] == "the client left"


def test_a_client_that_leaves_before_the_answer(served: Served, upstream: ChatServer) -> None:
    upstream.then(Turn(hang=True))
    with pytest.raises(httpx.ReadTimeout):
        http.post(f"{served.url}/v1/chat/completions", json=chat(), trust_env=False, timeout=1.5)
    assert stored(served.memory, 1) == [("Hello", "")]


def test_a_client_that_leaves_after_the_last_word_has_it_all(
    served: Served, upstream: ChatServer
) -> None:
    turn = says("All of it.")
    upstream.then(turn)
    whole = post(served, chat(stream=True)).content
    upstream.then(says("All of it.", hold_after=len(whole)))
    with (
        http.Client(trust_env=False, timeout=HANG_S) as client,
        client.stream(
            "POST", f"{served.url}/v1/chat/completions", json=chat("Again", stream=True)
        ) as answer,
    ):
        got = b""
        for chunk in answer.iter_raw():
            got += chunk
            if got == whole:
                break
    assert upstream.left.wait(HANG_S)
    assert stored(served.memory, 4)[2:] == [("Again", ""), ("All of it.", "")]


JUNK = [
    b"",
    b"{",
    b"[]",
    b'"text"',
    b"{} {}",
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    b'{"model": "m"}',
    b'{"messages": {}}',
    b'{"messages": "hi"}',
    b'{"messages": ["hi"]}',
    b'{"messages": [{"role": "user", "content": "a"},]}',
    b'{"messages": [], "messages": [{"role": "user", "content": "a"}]}',
    b'{"messages": [{"role": "system", "content": "a", "content": "b"}]}',
    b'{"messages": [], "temperature": NaN}',
    b'{"messages": [], "user": 5}',
    b'{"messages": ' + b"[" * 100_000,
    b'{"messages": [], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
]


@pytest.mark.parametrize("body", JUNK, ids=lambda body: repr(body[:40]))
def test_junk_is_refused_before_anything_is_sent(
    body: bytes, served: Served, upstream: ChatServer
) -> None:
    answer = post(served, body)
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:remanence:malformed"
    assert not upstream.requests


def test_a_number_without_end_passes(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Long."))
    body = b'{"user": "ana", "seed": 1%b, "messages": [{"role": "user", "content": "Hi"}]}'
    long = body % (b"0" * 4_000)
    assert post(served, long).status_code == 200
    assert upstream.requests[0].raw == long


def test_a_message_that_is_no_storable_text_passes(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Odd."))
    body = b'{"user": "ana", "messages": [{"role": "user", "content": "a\\u0000b \\ud800"}]}'
    answer = post(served, body)
    assert answer.status_code == 200
    assert "x-memory-error" not in answer.headers
    assert upstream.requests[0].raw == body
    assert stored(served.memory, 2)[0][0].startswith("ab")


@pytest.mark.parametrize("name", ["a\0b", "\ud800", " ", "\0"])
def test_a_name_that_is_no_storable_text_loses_no_exchange(
    name: str, served: Served, upstream: ChatServer
) -> None:
    upstream.then(says("Noted."))
    said = {"role": "user", "name": name, "content": "I play the oboe"}
    assert post(served, {"user": "ana", "messages": [said]}).is_success
    assert [one[0] for one in stored(served.memory, 2)] == ["I play the oboe", "Noted."]


@pytest.mark.parametrize(
    "headers",
    [
        [(b"x-memory-mode", b"sometimes")],
        [(b"x-memory-mode", b"")],
        [(b"x-memory-user-id", b"")],
        [(b"x-memory-user-id", "\u00a0".encode())],
        [(b"x-memory-user-id", b"ana"), (b"x-memory-user-id", b"bob")],
        [(b"x-memory-user-id", "José".encode("latin-1"))],
        [(b"x-memory-user-id", "a\u202eb".encode())],
        [(b"x-memory-session-id", b"s" * 1_025)],
        [(b"x-memory-agent-id", b"a\tb")],
    ],
)
def test_headers_that_say_nothing_clear_are_refused(
    headers: list[tuple[bytes, bytes]], served: Served, upstream: ChatServer
) -> None:
    answer = post(served, chat(), headers)
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:remanence:malformed"
    assert not upstream.requests


@pytest.mark.parametrize("user", ["José 日本", "b%6Fb", "a'; DROP TABLE x; --", "../../x", "a,b"])
def test_a_user_id_is_taken_as_it_is(user: str, served: Served, upstream: ChatServer) -> None:
    upstream.then(says("In the header."), says("In the field."))
    post(served, chat("One"), [(b"x-memory-user-id", user.encode())])
    post(served, chat("Two") | {"user": user})
    texts = [text for text, _ in stored(served.memory, 4, user)]
    assert sorted(texts) == ["In the field.", "In the header.", "One", "Two"]


@pytest.mark.parametrize("end", [b"\r\n ", b"\n", b"\r", b"\0"])
def test_no_header_is_smuggled_in(end: bytes, served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Hi."))
    host, _, port = served.url.removeprefix("http://").partition(":")
    body = json.dumps(chat()).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n"
    evil = b"X-Memory-Session-Id: a%bX-Evil: 1\r\nConnection: close\r\n\r\n" % end
    with socket.create_connection((host, int(port)), timeout=HANG_S) as raw:
        raw.sendall(head % len(body) + evil + body)
        got = b""
        while chunk := raw.recv(65_536):
            got += chunk
    assert b"x-evil" not in got.lower()
    assert not any("x-evil" in request.headers for request in upstream.requests)


# -- the memory


def let_in(served: Served) -> None:
    """As for whoever called a moment ago: the store that holds the keys is not asked again."""
    served.app.state.gate._open_until = math.inf


def test_a_chat_goes_on_without_its_memory(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("All the same."), says("Streamed."))
    let_in(served)
    served.memory.close()
    for stream in (False, True):
        answer = post(served, chat(stream=stream))
        assert answer.status_code == 200
        assert answer.content == upstream.sent[-1]
        assert answer.headers["x-memory-error"] == "shutting-down"
        assert upstream.requests[-1].body == chat(stream=stream)


def test_a_chat_goes_on_with_a_store_that_is_broken(
    served: Served, upstream: ChatServer, database: Path
) -> None:
    upstream.then(says("All the same."))
    let_in(served)
    with apsw.Connection(str(database)) as other:
        for table in ("memories", "documents"):
            other.execute(f"ALTER TABLE {table} RENAME TO {table}_gone")
    answer = post(served, chat())
    assert answer.content == upstream.sent[0]
    assert answer.headers["x-memory-error"] in ("store-unavailable", "failed", "unexpected")


def test_storing_delays_no_answer(upstream: ChatServer, database: Path) -> None:
    upstream.then(says("Warm."), says("At once."))
    patient = Memory(database, busy_timeout_s=2 * HANG_S)  # it would wait longer than the caller
    with serving(patient, upstream_url=upstream.url, upstream_key="up-secret") as served:
        post(served, chat("First"))
        stored(served.memory, 2)
        with closing(apsw.Connection(str(database))) as other:
            other.execute("BEGIN IMMEDIATE")  # nobody else writes now
            assert b"[DONE]" in post(served, chat("Second", stream=True)).content
            assert served.memory.count(kinds="message", user_id="ana") == 2
            other.execute("ROLLBACK")
        assert stored(served.memory, 4)[2:] == [("Second", ""), ("At once.", "")]


def test_nothing_said_is_lost_when_the_server_stops(upstream: ChatServer, database: Path) -> None:
    upstream.then(says("Warm."), *(says(f"Answer {n}.") for n in range(5)))
    with serving(Memory(database), upstream_url=upstream.url) as served:
        post(served, chat("First"))
        stored(served.memory, 2)
        other = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
        other.execute("BEGIN IMMEDIATE")
        for n in range(5):
            post(served, chat(f"Question {n}"), {"x-memory-mode": "write"})
        threading.Timer(1.0, other.close).start()  # which rolls back
    with Memory(database) as memory:
        texts = {text for text, _ in stored(memory, 12)}
    assert {f"Question {n}" for n in range(5)} | {f"Answer {n}." for n in range(5)} <= texts


# -- who may do what


def test_users_do_not_see_each_other(served: Served, upstream: ChatServer) -> None:
    upstream.then(*(says("Noted.") for _ in range(4)))
    post(served, chat(SISTER))
    stored(served.memory, 2)
    for user in ({"user": "bob"}, {"user": ""}, {"user": None}):
        post(served, {"messages": [ASKED], **user})
        assert "Marta" not in upstream.requests[-1].raw.decode()


def test_tenants_do_not_see_each_other(served: Served, upstream: ChatServer) -> None:
    upstream.then(*(says("Noted.") for _ in range(3)))
    one, two = served.key(tenant="one", name="one"), served.key(tenant="two", name="two")
    post(served, chat(SISTER), {"authorization": f"Bearer {one}"})
    stored(served.memory.for_tenant("one"), 2)
    post(served, {"messages": [ASKED], "user": "ana"}, {"authorization": f"Bearer {two}"})
    assert "Marta" not in upstream.requests[-1].raw.decode()
    post(served, {"messages": [ASKED], "user": "ana"}, {"x-api-key": one})
    assert "Marta" in upstream.requests[-1].raw.decode()


def test_no_key_of_ours_goes_up(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Hi."))
    key = served.key()
    client = openai.OpenAI(base_url=f"{served.url}/v1", api_key=key, max_retries=0)
    with client:
        client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "Hi"}],
            extra_headers={"Cookie": "a=b", "X-Api-Key": key, "X-Upstream-Url": "http://x/"},
        )
        client.models.list()
    for request in upstream.requests:
        assert request.headers["authorization"] == "Bearer up-secret"
        assert key not in str(request)
        sent = {"host", "accept", "accept-encoding", "user-agent", "authorization", "connection"}
        assert set(request.headers) <= sent | {"content-type", "content-length"}


def test_without_a_key_for_the_upstream_none_goes_up(upstream: ChatServer) -> None:
    upstream.then(says("Hi."))
    with serving(upstream_url=upstream.url) as served:
        key = served.key()
        post(served, chat(), {"authorization": f"Bearer {key}"})
    assert not set(KEYS) & set(upstream.requests[0].headers)


def test_nobody_gets_in_without_a_key(served: Served, upstream: ChatServer) -> None:
    served.key()
    assert post(served, chat()).status_code == 401
    assert http.get(f"{served.url}/v1/models", trust_env=False).status_code == 401
    assert not upstream.requests


@pytest.mark.parametrize(
    ("grant", "mode", "reads", "writes", "error"),
    [
        ("read", None, True, False, None),
        ("write", None, False, True, None),
        ("admin", None, True, True, None),
        ("read", "readwrite", True, False, "forbidden"),
        ("read", "write", False, False, "forbidden"),
        ("write", "write", False, True, None),
        ("read", "off", False, False, None),
    ],
)
def test_a_key_does_what_it_allows(
    grant: str,
    mode: str | None,
    reads: bool,
    writes: bool,
    error: str | None,
    served: Served,
    upstream: ChatServer,
) -> None:
    upstream.then(says("Marta."), says("End."))
    served.memory.add(SISTER, user_id="ana")
    headers = {"authorization": f"Bearer {served.key(grant)}"}
    headers |= {} if mode is None else {"x-memory-mode": mode}
    answer = post(served, {"messages": [ASKED], "user": "ana"}, headers)
    assert answer.status_code == 200
    assert answer.headers.get("x-memory-error") == error
    assert (SISTER in upstream.requests[0].raw.decode()) is reads
    all_of_it = served.key("read", "write", name="all")
    post(served, chat("Then"), {"authorization": f"Bearer {all_of_it}"})
    texts = [text for text, _ in stored(served.memory, 4 if writes else 2)]
    assert (ASKED["content"] in texts) is writes


def test_a_key_of_little_trust_writes_with_little_trust(
    served: Served, upstream: ChatServer
) -> None:
    upstream.then(says("Hi."))
    key = served.key("read", "write", trust=0.3)
    post(served, chat(), {"authorization": f"Bearer {key}"})
    stored(served.memory, 2)
    assert {record.trust for record in served.memory.find(user_id="ana")} == {0.3}

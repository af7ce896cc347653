"""A language model that is down, slow, busy, cut off or talks nonsense."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.backends.llm.openai_compatible import OpenAiCompatibleModel
from remanence.errors import LanguageModelError
from remanence.model.ports.language_model import Reply
from remanence.testing.chat_server import ChatRequest, ChatServer, Turn, calls, fails, says
from remanence.testing.patience import HANG_S
from remanence.tools.agent import Agent
from support.program import Program

ASKED = [{"role": "user", "content": "Where does Ana live?"}]
KEY = "sk-very-secret"


OPENED: list[OpenAiCompatibleModel] = []


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as scripted:
        yield scripted


@pytest.fixture(autouse=True)
def _models_are_closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def model(server: ChatServer | str, **options: Any) -> OpenAiCompatibleModel:
    url = server if isinstance(server, str) else server.url
    quick: dict[str, Any] = {"retries": 2, "backoff_s": 0.01, "timeout_s": 5, "api_key": KEY}
    OPENED.append(OpenAiCompatibleModel(url, "smollm2", **quick | options))
    return OPENED[-1]


def streamed(server: ChatServer, **options: Any) -> tuple[list[str], Reply]:
    *pieces, reply = model(server, **options).stream(ASKED)
    assert isinstance(reply, Reply)
    texts = [piece for piece in pieces if isinstance(piece, str)]
    assert len(texts) == len(pieces)
    assert "".join(texts) == reply.text
    return texts, reply


def test_a_good_answer_whole_and_streamed(server: ChatServer) -> None:
    server.then(says("In Lisbon."), says("In Lisbon."))
    assert model(server).reply(ASKED, max_tokens=50, temperature=0).text == "In Lisbon."
    pieces, reply = streamed(server)
    assert pieces == ["In", " Lisbon."]
    assert reply.finish == "stop"
    whole, stream = server.requests
    assert whole.path == "/v1/chat/completions"
    assert whole.headers["authorization"] == f"Bearer {KEY}"
    assert whole.body == {
        "model": "smollm2",
        "messages": ASKED,
        "stream": False,
        "max_tokens": 50,
        "temperature": 0,
    }
    assert stream.body == {"model": "smollm2", "messages": ASKED, "stream": True}


def test_no_key_no_header(server: ChatServer) -> None:
    server.then(says("Hi"))
    streamed(server, api_key=None)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_awkward_chunks(server: ChatServer, size: int) -> None:
    text = "Olá, Ana: 日本 🎉 “quoted” done."
    server.then(says(text, bytes_at_once=size, crlf=size % 2 == 1, comments=True))
    assert streamed(server)[1].text == text


@pytest.mark.parametrize("stream", [True, False])
def test_tool_calls_arrive_whole(server: ChatServer, stream: bool) -> None:
    server.then(
        calls("core_memory_append", {"label": "human", "content": "Zoë"}, "Noted.", bytes_at_once=9)
    )
    schema = {"type": "function", "function": {"name": "core_memory_append"}}
    asked = model(server)
    if stream:
        *_, reply = asked.stream(ASKED, tools=[schema])
    else:
        reply = asked.reply(ASKED, tools=[schema])
    assert isinstance(reply, Reply)
    assert reply.text == "Noted."
    [call] = reply.tool_calls
    assert json.loads(call.arguments) == {"label": "human", "content": "Zoë"}
    assert server.requests[0].body["tools"] == [schema]


def test_a_server_that_cannot_stream_is_read_whole(server: ChatServer) -> None:
    whole = {"choices": [{"message": {"content": "In Lisbon."}, "finish_reason": "stop"}]}
    server.then(Turn(body=json.dumps(whole).encode()))
    assert streamed(server) == (["In Lisbon."], Reply(text="In Lisbon."))


@pytest.mark.parametrize("status", [429, 502, 503])
def test_a_busy_endpoint_is_asked_again(server: ChatServer, status: int) -> None:
    server.then(fails(status), fails(status), says("Hello"))
    assert streamed(server)[1].text == "Hello"
    assert len(server.requests) == 3


def test_it_waits_as_long_as_it_is_told(server: ChatServer) -> None:
    server.then(fails(429, "slow down", retry_after="1"), says("Hello"))
    begun = time.monotonic()
    streamed(server)
    assert time.monotonic() - begun >= 1


def test_an_endpoint_that_stays_busy_is_given_up(server: ChatServer) -> None:
    server.then(*[fails(503, "overloaded")] * 3)
    with pytest.raises(LanguageModelError, match=r"503 .*overloaded"):
        streamed(server)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "advice"),
    [(400, "tokens"), (401, "llm_key"), (404, "llm_model"), (500, "its log"), (302, "answers 200")],
)
def test_a_refusal_is_final_and_explained(server: ChatServer, status: int, advice: str) -> None:
    server.then(fails(status, f"no such thing for {KEY}"))
    with pytest.raises(LanguageModelError, match=advice) as raised:
        streamed(server)
    assert "smollm2 at http://127.0.0.1" in str(raised.value)
    assert "no such thing for …" in str(raised.value)
    assert KEY not in str(raised.value)
    assert len(server.requests) == 1


def test_a_login_in_the_address_is_used_and_never_told(server: ChatServer) -> None:
    server.then(fails(404), fails(404))
    asked = model(server.url.replace("://", "://ana:hunter2@") + "?version=7", api_key=None)
    with pytest.raises(LanguageModelError) as raised:
        asked.reply(ASKED)
    assert "hunter2" not in str(raised.value)
    assert server.requests[0].headers["authorization"].startswith("Basic ")
    assert server.requests[0].path == "/v1/chat/completions?version=7"


def test_an_endpoint_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(LanguageModelError, match="Is it running"):
        model(f"http://127.0.0.1:{port}/v1").reply(ASKED)


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server.then(says("Hello"))
    assert streamed(server)[1].text == "Hello"


def test_a_model_that_never_answers_is_asked_once(server: ChatServer) -> None:
    server.then(Turn(hang=True), says("too late"))
    with pytest.raises(LanguageModelError, match=r"did not answer in 0.2 s; raise llm_timeout_s"):
        streamed(server, timeout_s=0.2)
    assert len(server.requests) == 1


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_a_cut_connection_is_never_a_whole_answer(server: ChatServer, share: float) -> None:
    text = "In Lisbon, near the river."
    server.then(says(text, cut_after=1 + int(share * len(_stream_of(text)))))
    pieces: list[str | Reply] = []
    stream = model(server).stream(ASKED)
    with pytest.raises(LanguageModelError, match="broke off"):
        pieces += stream
    assert all(isinstance(piece, str) for piece in pieces)
    assert len(server.requests) == 1


def _stream_of(text: str) -> bytes:
    from remanence.testing.chat_server import _content

    return _content(says(text), stream=True)


def test_a_stream_that_ends_without_a_word_why(server: ChatServer) -> None:
    server.then(says("In Lis", done=False))
    with pytest.raises(LanguageModelError, match="in the middle of its answer"):
        streamed(server)


def test_an_error_in_the_middle_of_a_stream(server: ChatServer) -> None:
    body = b'data: {"choices":[{"delta":{"content":"In"}}]}\n\ndata: {"error":"no memory"}\n\n'
    server.then(Turn(body=body, headers={"content-type": "text/event-stream"}))
    with pytest.raises(LanguageModelError, match="no memory"):
        streamed(server)


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        (b"<html>welcome</html>", "text/html", "did not answer with JSON"),
        (b"\xff\xfe\x00junk", "application/json", "did not answer with JSON"),
        (b"", "application/json", "did not answer with JSON"),
        (b"data: {junk\n\n", "text/event-stream", "did not answer with JSON"),
        (b"x" * 9_000_000, "application/json", "more than"),
        (b"data: " + b"x" * 9_000_000, "text/event-stream", "more than"),
    ],
    ids=["html", "bytes", "nothing", "junk event", "endless", "endless line"],
)
def test_nonsense_is_an_error(server: ChatServer, body: bytes, kind: str, told: str) -> None:
    server.then(Turn(body=body, headers={"content-type": kind}))
    with pytest.raises(LanguageModelError, match=told):
        streamed(server)


def test_signs_of_life_are_no_answer() -> None:
    """A server that keeps the connection open with comments and never says a word."""
    stop = threading.Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            while not stop.wait(0.02):
                try:
                    connection.sendall(b": still here\n\n")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with pytest.raises(LanguageModelError, match="said nothing for"):
            list(model(url, timeout_s=0.3).stream(ASKED))
        stop.set()
        thread.join()


def test_an_answer_that_nobody_wants_any_more_is_let_go(server: ChatServer) -> None:
    server.then(says("word " * 1000, bytes_at_once=50), says("next"))
    asked = model(server)
    stream = asked.stream(ASKED)
    assert next(stream) == "word"
    stream.close()  # type: ignore[attr-defined]
    assert asked.reply(ASKED).text == "next"


def test_a_closed_model_says_so(server: ChatServer) -> None:
    asked = model(server)
    asked.close()
    with pytest.raises(LanguageModelError, match="closed"):
        asked.reply(ASKED)


def test_several_threads_share_a_model(server: ChatServer) -> None:
    server.then(*[lambda request: says(f"to {request.last}")] * 20)
    asked, told = model(server), {}

    def ask(n: int) -> None:
        told[n] = asked.reply([{"role": "user", "content": str(n)}]).text

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == {n: f"to {n}" for n in range(20)}


ASK = """
import sys
from remanence import Memory
from remanence.tools.agent import Agent
from remanence.backends.llm.openai_compatible import OpenAiCompatibleModel

with Memory(sys.argv[1], embedder="no-such-model") as memory:
    model = OpenAiCompatibleModel(sys.argv[2], "scripted")
    for event in Agent(memory, model=model, user_id="ana", session_id="s1").stream("I am Ana"):
        pass
"""


def test_a_process_killed_in_the_middle_of_an_answer(server: ChatServer, tmp_path: Path) -> None:
    """The question and the tool's edit were acknowledged; nothing else is there."""
    asked = threading.Event()

    def waits(request: ChatRequest) -> Turn:
        asked.set()
        return Turn(hang=True)

    server.then(calls("core_memory_append", {"label": "human", "content": "Name: Ana"}), waits)
    with Program(ASK, tmp_path / "memory.db", server.url):
        assert asked.wait(HANG_S)
    with Memory(tmp_path / "memory.db", embedder="no-such-model") as memory:
        said = memory.find(kinds="message", user_id="ana", newest_first=False)
        assert [record.role for record in said] == ["user", "assistant", "tool"]
        assert said[0].text == "I am Ana"
        assert memory.blocks.get("human", user_id="ana").value == "Name: Ana"
        server.then(says("Hello Ana."))
        again = Agent(memory, model=model(server), user_id="ana", session_id="s1")
        assert again.ask("Are you there?").text == "Hello Ana."

"""A scripted OpenAI-compatible chat server on 127.0.0.1: it says, calls and fails as it is told."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias

from remanence.testing.patience import HANG_S

PATH = "/v1/chat/completions"
MODELS = "/v1/models"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What the server was asked."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    raw: bytes = b""

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        return list(self.body["messages"])

    @property
    def last(self) -> str:
        """The text of the newest message."""
        return str(self.messages[-1]["content"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer. With `body` it is sent as it is; else `text` and `calls` make a chat answer.

    A streamed answer goes out in writes of `bytes_at_once` bytes, whatever they cut through.
    `cut_after` closes the connection after so many bytes; `hold_after` waits there until the server
    is told to `go_on` or the client leaves; `hang` waits until the server ends.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    bytes_at_once: int | None = None
    cut_after: int | None = None
    hold_after: int | None = None
    hang: bool = False
    comments: bool = False
    crlf: bool = False
    done: bool = True


MODEL: Mapping[str, Any] = {"id": "scripted", "object": "model", "created": 0, "owned_by": "test"}
Script: TypeAlias = Turn | Callable[[ChatRequest], Turn]


def says(text: str, **more: Any) -> Turn:
    """The model answers with a text."""
    return Turn(text=text, **more)


def calls(name: str, arguments: Mapping[str, Any] | str, text: str = "", **more: Any) -> Turn:
    """The model wants a tool called; arguments as a text are sent as they are."""
    return calls_all([(name, arguments)], text, **more)


def calls_all(
    wanted: list[tuple[str, Mapping[str, Any] | str]], text: str = "", **more: Any
) -> Turn:
    """The model wants several tools called at once."""
    made = tuple((n, a if isinstance(a, str) else json.dumps(dict(a))) for n, a in wanted)
    return Turn(text=text, calls=made, **more)


def fails(status: int, message: str = "no", **headers: str) -> Turn:
    """An error as OpenAI's API reports it."""
    body = json.dumps({"error": {"message": message, "type": "scripted"}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Turn(status=status, body=body, headers=named)


def streams(body: bytes, **more: Any) -> Turn:
    """An event stream of these bytes, whatever they are."""
    return Turn(body=body, headers={"content-type": "text/event-stream"}, **more)


class ChatServer:
    """Serves while the `with` block lasts; `url` is the API's base, `requests` what came in.

    The script is answered turn by turn; when it has ended, every request fails. `models` is the
    answer to who asks for the models. `sent` are the bodies of the answers as far as they went
    out, `left` is set when a client hung up while an answer was held.

    >>> with ChatServer(says("Hello.")) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, *script: Script) -> None:
        self.requests: list[ChatRequest] = []
        self.sent: list[bytes] = []
        self.models = Turn(body=json.dumps({"object": "list", "data": [MODEL]}).encode())
        self.left = threading.Event()
        self._on = threading.Event()
        self._script = deque(script)
        self._ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def then(self, *script: Script) -> Self:
        """Add to the script."""
        self._script.extend(script)
        return self

    def go_on(self) -> None:
        """Let answers that are held go on."""
        self._on.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _turn(self, request: ChatRequest) -> Turn:
        self.requests.append(request)
        if request.path == MODELS:
            return self.models
        if request.path != PATH:
            return fails(404, f"there is nothing at {request.path}")
        if not self._script:
            return fails(500, "the script has ended")
        step = self._script.popleft()
        return step(request) if callable(step) else step

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                with suppress(ConnectionError):  # whoever hangs up is in the right
                    super().handle()

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"] or 0))
                body = json.loads(raw or b"{}")
                headers = {name.lower(): value for name, value in self.headers.items()}
                turn = owner._turn(ChatRequest(self.path, headers, body, raw))
                if turn.hang:
                    owner._ended.wait(HANG_S)
                    self.close_connection = True
                    return
                self._answer(turn, bool(body.get("stream")))

            def _answer(self, turn: Turn, stream: bool) -> None:
                streamed = stream and turn.body is None
                kind = "text/event-stream" if streamed else "application/json"
                content = turn.body if turn.body is not None else _content(turn, stream)
                self.send_response(turn.status)
                headers = {"content-type": kind, "transfer-encoding": "chunked", **turn.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self._send(content, turn)

            def _send(self, content: bytes, turn: Turn) -> None:
                whole = content if turn.cut_after is None else content[: turn.cut_after]
                owner.sent.append(b"")
                held = len(whole) if turn.hold_after is None else turn.hold_after
                self._pieces(whole[:held], turn)
                if turn.hold_after is not None and not self._held():
                    self.close_connection = True
                    return
                self._pieces(whole[held:], turn)
                if turn.cut_after is None:
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.close_connection = True

            def _pieces(self, content: bytes, turn: Turn) -> None:
                step = turn.bytes_at_once or max(1, len(content))
                for at in range(0, len(content), step):
                    piece = content[at : at + step]
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    self.wfile.flush()
                    owner.sent[-1] += piece

            def _held(self) -> bool:
                """Wait; False if the client hung up meanwhile, or the server ends."""
                while not owner._on.is_set() and not owner._ended.is_set():
                    if not select.select([self.connection], [], [], 0.02)[0]:
                        continue
                    if not self.connection.recv(1, socket.MSG_PEEK):
                        owner.left.set()
                        return False
                return owner._on.is_set()

            def log_message(self, format: str, *arguments: object) -> None: ...

        return Handler


def _content(turn: Turn, stream: bool) -> bytes:
    if not stream:
        return json.dumps(_choice(turn, "message", _message(turn))).encode()
    end = "\r\n" if turn.crlf else "\n"
    lines = [f"data: {json.dumps(event, ensure_ascii=False)}{end}{end}" for event in _events(turn)]
    if turn.comments:
        lines = [line for event in lines for line in (f": keep-alive{end}{end}", event)]
    if turn.done:
        lines.append(f"data: [DONE]{end}{end}")
    return "".join(lines).encode()


def _message(turn: Turn) -> Mapping[str, Any]:
    made = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(turn.calls)
    ]
    return {"role": "assistant", "content": turn.text or None} | (
        {"tool_calls": made} if made else {}
    )


def _events(turn: Turn) -> Iterator[Mapping[str, Any]]:
    """A word a piece; a call's name first, then its arguments in pieces, as real servers do."""
    yield _choice(turn, "delta", {"role": "assistant", "content": ""})
    words = turn.text.split(" ")
    for n, word in enumerate(words):
        yield _choice(turn, "delta", {"content": word if n == 0 else f" {word}"})
    for n, (name, arguments) in enumerate(turn.calls):
        begun = {"index": n, "id": f"call_{n}", "type": "function"}
        yield _called(turn, begun | {"function": {"name": name, "arguments": ""}})
        for at in range(0, len(arguments), 5):
            piece = {"index": n, "function": {"arguments": arguments[at : at + 5]}}
            yield _called(turn, piece)
    if turn.done:
        yield _choice(turn, "delta", {}, _finish(turn))


def _called(turn: Turn, part: Mapping[str, Any]) -> Mapping[str, Any]:
    return _choice(turn, "delta", {"tool_calls": [part]})


def _choice(
    turn: Turn, name: str, message: Mapping[str, Any], finish: str | None = None
) -> Mapping[str, Any]:
    why = _finish(turn) if name == "message" else finish
    kind = "chat.completion" if name == "message" else "chat.completion.chunk"
    choice = {"index": 0, name: message, "finish_reason": why}
    return {"id": "chat-1", "object": kind, "model": "scripted", "choices": [choice]}


def _finish(turn: Turn) -> str:
    return turn.finish or ("tool_calls" if turn.calls else "stop")

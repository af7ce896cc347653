"""An OpenAI-compatible embeddings endpoint on 127.0.0.1, for tests that want a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from remanence.model.ports.embedder import Embedder


@dataclass(frozen=True, slots=True)
class Answer:
    """What the endpoint sends back."""

    body: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """What it was asked."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class EmbeddingsServer:
    """Serves while the `with` block lasts; `url` is the API's base, `requests` what came in.

    >>> with EmbeddingsServer(lambda request: Answer("{}")) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.requests: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(answer))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self, answer: Callable[[Request], Answer]) -> type[BaseHTTPRequestHandler]:
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = json.loads(self.rfile.read(length))
                request = Request(self.path, dict(self.headers.items()), body)
                requests.append(request)
                self._send(answer(request))

            def _send(self, reply: Answer) -> None:
                body = reply.body.encode()
                self.send_response(reply.status)
                headers = {"content-type": "application/json", **reply.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None: ...

        return Handler


def embeddings_of(embedder: Embedder) -> Callable[[Request], Answer]:
    """An endpoint's answers, made by another embedder."""

    def answer(request: Request) -> Answer:
        vectors = [found.vector.tolist() for found in embedder.embed(request.body["input"])]
        return Answer(embeddings_json(vectors))

    return answer


def embeddings_json(vectors: list[list[float]]) -> str:
    """The body of a good answer."""
    rows = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    return json.dumps({"object": "list", "data": rows})

"""The one endpoint that chats are passed on to, and its answer on the way back."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from remanence.backends.llm.answers import DONE, MAX_ANSWER, MAX_LINE, content_of
from remanence.config import Settings
from remanence.errors import ConfigError, LanguageModelError
from remanence.model.validation import is_loopback

if TYPE_CHECKING:
    import httpx  # 5 MB, and most servers pass no chats on: loaded where there is an upstream

CHAT, MODELS = "/chat/completions", "/models"
CONNECT_S = 10.0
CONNECTIONS, IDLE = 512, 32
# Of an answer. Not its cookies, nor who may read it from a page: that is for this server to say.
PASSED = frozenset(
    {
        *("content-type", "content-encoding", "content-length", "cache-control"),
        *("retry-after", "retry-after-ms", "x-should-retry"),
    }
)
PASSED_FAMILIES = ("openai-", "x-ratelimit-")
_log = logging.getLogger(__name__)


class Upstream:
    """Sends requests to the endpoint of the settings, with its own key and no other.

    Nothing of a caller's headers goes there but what kind of answer they accept.
    """

    def __init__(self, settings: Settings) -> None:
        self._url = _checked_url(settings.upstream_url)
        self._key = _checked_key(settings.upstream_key)
        self._wait_s = settings.llm_timeout_s
        self._client: httpx.AsyncClient | None = None

    @property
    def named(self) -> bool:
        """Whether there is one."""
        return self._url is not None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Connections are kept while this lasts."""
        if self._url is None:
            yield
            return
        import httpx

        async with httpx.AsyncClient(
            timeout=self._timeout(),
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=IDLE),
            follow_redirects=False,
            trust_env=not is_loopback(self._url.host),
        ) as self._client:
            yield

    def request(
        self, method: str, path: str, accept: str, content: bytes | None = None
    ) -> httpx.Request:
        """A request to the endpoint."""
        import httpx

        assert self._url is not None
        headers = {"accept": accept, "accept-encoding": "identity", "user-agent": "remanence"}
        if content is not None:
            headers["content-type"] = "application/json"
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        url = self._url.copy_with(path=self._url.path + path)
        # As an extension, because a request that no client built has no limit of time.
        extensions = {"timeout": self._timeout().as_dict()}
        return httpx.Request(method, url, headers=headers, content=content, extensions=extensions)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The answer once its head is here; `LanguageModelError` if there is none."""
        import httpx

        if self._client is None:
            raise LanguageModelError("The server is starting or shutting down; try again.")
        try:
            response = await self._client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            _log.warning("The upstream does not answer: %r", error)
            raise LanguageModelError(
                f"The upstream does not answer ({type(error).__name__}). Does it run, is the "
                "setting upstream_url right? llm_timeout_s says how long to wait for it."
            ) from error
        if response.is_redirect:
            await response.aclose()
            raise LanguageModelError(
                "The upstream sends us elsewhere; set upstream_url to where it really is."
            )
        return response

    def _timeout(self) -> httpx.Timeout:
        import httpx

        return httpx.Timeout(self._wait_s, connect=min(CONNECT_S, self._wait_s))


def passed(headers: httpx.Headers) -> list[tuple[str, str]]:
    """The headers of an answer that are passed on."""
    return [
        (name, value)
        for name, value in headers.multi_items()
        if name.lower() in PASSED or name.lower().startswith(PASSED_FAMILIES)
    ]


def _checked_url(given: str) -> httpx.URL | None:
    if not given.strip():
        return None
    import httpx

    try:
        url = httpx.URL(given.strip())
        good = url.scheme in ("http", "https") and bool(url.host)
    except httpx.InvalidURL:
        good = False
    if not good:
        raise ConfigError("upstream_url must be like http://127.0.0.1:11434/v1.")
    return url.copy_with(path=url.path.rstrip("/").removesuffix(CHAT), fragment=None)


def _checked_key(key: str) -> str:
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError("upstream_key holds blanks or characters that no header can carry.")
    return key


LEFT = "the client left"
BROKE = "the upstream broke off"
# Why a model stops without having said all.
CUT_SHORT = ("length", "content_filter")


class StreamedAnswer:
    """One answer as far as it has come. Nothing in it can raise: it only listens."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.refused = False
        self.ending = LEFT
        self._streamed = False
        self._readable = True
        self._held = bytearray()
        self._texts: list[str] = []
        self._size = 0
        self._finish = ""
        self._done = False

    @property
    def accepted(self) -> bool:
        """Whether the exchange took place: the upstream did not refuse it."""
        return not self.refused and (self.status is None or 200 <= self.status < 300)

    @property
    def text(self) -> str:
        """What the assistant said in its first choice."""
        return "".join(self._texts)

    @property
    def partial(self) -> str:
        """Why the text is not all that was to be said; empty if it is."""
        if self._finish in CUT_SHORT:
            return self._finish
        return "" if self._done or self._finish else self.ending

    def begins(self, status: int, kind: str, encoding: str) -> None:
        """The head of the answer is here."""
        self.status = status
        self._streamed = "event-stream" in kind.lower()
        self._readable = encoding.lower() in ("", "identity")

    def take(self, chunk: bytes) -> None:
        """Bytes have passed."""
        if not self._readable:
            return
        self._held += chunk
        if self._streamed and b"\n" in chunk:
            *lines, rest = self._held.split(b"\n")
            self._held = rest
            for line in lines:
                self._line(bytes(line))
        if len(self._held) > MAX_LINE:
            self._readable = False
            self._held.clear()

    def ends(self) -> None:
        """All of it has passed."""
        self.ending = ""
        self.closes()

    def closes(self) -> None:
        """Nothing more will come."""
        held, self._held = bytes(self._held), bytearray()
        if held and self._streamed:
            self._line(held)
        elif held:
            self._read(held, "message")

    def _line(self, line: bytes) -> None:
        field, _, value = line.rstrip(b"\r").partition(b":")
        if field == b"data" and value.strip() == DONE.encode():
            self._done = True
        elif field == b"data" and not self._done:
            self._read(value, "delta")

    def _read(self, data: bytes, name: str) -> None:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return
        choices = found.get("choices") if isinstance(found, Mapping) else None
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and choice.get("index", 0) == 0:
                self._said(choice, name)

    def _said(self, choice: Mapping[str, Any], name: str) -> None:
        message, finish = choice.get(name), choice.get("finish_reason")
        text = content_of(message) if isinstance(message, Mapping) else ""
        self._size += len(text)
        if text and self._size <= MAX_ANSWER:
            self._texts.append(text)
        self._finish = finish if isinstance(finish, str) and finish else self._finish


class Relay(Response):
    """The upstream's answer as ours. `over` is told what was heard, however it ended."""

    def __init__(
        self,
        upstream: Upstream,
        asked: httpx.Request,
        headers: Mapping[str, str],
        over: Callable[[StreamedAnswer], None] | None = None,
    ) -> None:
        self._upstream = upstream
        self._asked = asked
        self._more = headers
        self._over = over
        super().__init__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask the upstream and pass its answer on; when the client leaves, so do we."""
        heard = StreamedAnswer()
        try:
            await unless_gone(receive, self._relayed(send, heard))
        except LanguageModelError:
            heard.refused = True
            raise
        finally:
            heard.closes()
            if self._over is not None:
                self._over(heard)

    async def _relayed(self, send: Send, heard: StreamedAnswer) -> None:
        response = await self._upstream.send(self._asked)
        try:
            headers = response.headers
            heard.begins(
                response.status_code,
                headers.get("content-type", ""),
                headers.get("content-encoding", ""),
            )
            await send(self._start(response))
            await self._body(response, send, heard)
        finally:
            await response.aclose()

    async def _body(self, response: httpx.Response, send: Send, heard: StreamedAnswer) -> None:
        import httpx

        try:
            async for chunk in response.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                heard.take(chunk)
        except httpx.HTTPError as error:
            # An answer that is not ended makes the server close the connection: so the client
            # sees what we saw, and takes half an answer for no whole one.
            _log.warning("The upstream broke off: %r", error)
            heard.ending = BROKE
            return
        heard.ends()
        await send({"type": "http.response.body", "body": b""})

    def _start(self, response: httpx.Response) -> dict[str, Any]:
        headers = [*passed(response.headers), *self._more.items()]
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        return {"type": "http.response.start", "status": response.status_code, "headers": raw}


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do the work, and give it up when the client leaves."""
    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        done = doing.done()
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)
    if done:
        doing.result()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

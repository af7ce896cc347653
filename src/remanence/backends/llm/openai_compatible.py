"""A language model behind an OpenAI-compatible endpoint: Ollama, llama.cpp, vLLM or hosted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from remanence.backends.llm.answers import (
    DONE,
    MAX_LINE,
    Joined,
    data_lines,
    error_text,
    whole_reply,
)
from remanence.errors import InvalidInput, LanguageModelError
from remanence.model.ports.language_model import ChatMessage, Reply, ToolSchema

if TYPE_CHECKING:
    from httpx import Client, Response

_PATH = "/chat/completions"
_LONGEST_WAIT_S = 30.0
_PASSING = (429, 502, 503)
_ADVICE = {
    400: "the model may not take so many tokens, or no tools",
    401: "check the API key (llm_key)",
    402: "the account has nothing left to spend",
    403: "the API key (llm_key) has no right to this model",
    404: "check the address (llm_url, it usually ends in /v1) and the name of the model "
    "(llm_model)",
    413: "the messages are too long for it",
    429: "it has had enough requests for now",
}


class OpenAiCompatibleModel:
    """Answers from `POST {url}/chat/completions`, whole or streamed.

    `url` is the API's base, e.g. "http://localhost:11434/v1". `timeout_s` bounds every wait: for
    the connection, for the first word, for the next. Connection errors, 429, 502 and 503 are tried
    again `retries` times, but only as long as nothing of an answer has come.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        retries: int = 3,
        backoff_s: float = 0.5,
    ) -> None:
        self._url = _endpoint(url)
        self._shown = _without_login(self._url)
        self._model = model
        self._key = _checked_key(api_key)
        self._timeout_s = timeout_s
        self._waits = [backoff_s * 2**attempt for attempt in range(retries)]
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """The model's name as the endpoint knows it."""
        return self._model

    def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSchema] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """The whole answer at once."""
        request = self._request(messages, tools, max_tokens, temperature, stream=False)
        *_, last = self._answer(request)
        assert isinstance(last, Reply)
        return last

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSchema] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Iterator[str | Reply]:
        """Pieces of text as they come, then the `Reply`; closing the iterator ends the answer."""
        request = self._request(messages, tools, max_tokens, temperature, stream=True)
        return self._answer(request)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._closed = True
            client, self._client = self._client, None
        if client:
            client.close()

    def _request(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSchema],
        max_tokens: int | None,
        temperature: float | None,
        *,
        stream: bool,
    ) -> bytes:
        wanted = {"max_tokens": max_tokens, "temperature": temperature, "tools": list(tools)}
        asked = {name: value for name, value in wanted.items() if value not in (None, [])}
        body = {"model": self._model, "messages": list(messages), "stream": stream, **asked}
        try:
            return json.dumps(body, default=dict).encode()
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"messages and tools must be plain JSON data: {error}") from error

    def _answer(self, request: bytes) -> Iterator[str | Reply]:
        with self._telling(), self._opened(request) as response:
            if "event-stream" in response.headers.get("content-type", ""):
                yield from self._streamed(response)
            else:
                reply = whole_reply(_body(response))
                if reply.text:
                    yield reply.text
                yield reply

    def _streamed(self, response: Response) -> Iterator[str | Reply]:
        joined = Joined()
        spoke = time.monotonic()
        for event in data_lines(response.iter_raw()):
            if event == DONE:
                break
            if not event:
                self._check_silence(spoke)
                continue
            if text := joined.take(event):
                yield text
            spoke = time.monotonic()
        else:
            if not joined.finished:
                raise LanguageModelError("broke off in the middle of its answer; try again")
        yield joined.reply()

    def _check_silence(self, since: float) -> None:
        """Signs of life keep a connection open for ever; a model that says nothing is given up."""
        if time.monotonic() - since > self._timeout_s:
            raise LanguageModelError(f"said nothing for {self._timeout_s:g} s; {_SLOW}")

    @contextmanager
    def _opened(self, request: bytes) -> Iterator[Response]:
        """The response once its headers are there and good; trying again is over then."""
        response = self._tried(request)
        try:
            yield response
        finally:
            response.close()

    def _tried(self, request: bytes) -> Response:
        for wait in self._waits:
            try:
                return self._once(request)
            except _Passing as error:
                time.sleep(min(error.wait_s or wait, _LONGEST_WAIT_S))
        return self._once(request)

    def _once(self, request: bytes) -> Response:
        import httpx

        client = self._open()
        try:
            response = client.send(
                client.build_request("POST", self._url, content=request), stream=True
            )
        except httpx.ReadTimeout as error:
            raise LanguageModelError(f"did not answer in {self._timeout_s:g} s; {_SLOW}") from error
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise _Passing(
                f"cannot be reached: {reason}. Is it running, is llm_url right?"
            ) from error
        if response.status_code == 200:
            return response
        try:
            raise _refusal(response)
        finally:
            response.close()

    def _open(self) -> Client:
        import httpx

        with self._lock:
            if self._closed:
                raise LanguageModelError("was closed; make a new one")
            if self._client is None:
                headers = {"content-type": "application/json", "accept-encoding": "identity"}
                if self._key:
                    headers["authorization"] = f"Bearer {self._key}"
                self._client = httpx.Client(
                    headers=headers, timeout=self._timeout_s, trust_env=not _is_local(self._url)
                )
            return self._client

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Every failure as a `LanguageModelError` that names the endpoint and never the key."""
        import httpx

        try:
            yield
        except httpx.ReadTimeout as error:
            told = f"said nothing for {self._timeout_s:g} s; {_SLOW}"
            raise LanguageModelError(self._told(told)) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            told = f"broke off: {str(error) or type(error).__name__}"
            raise LanguageModelError(self._told(told)) from error
        except LanguageModelError as error:
            raise LanguageModelError(self._told(str(error))) from error.__cause__

    def _told(self, what: str) -> str:
        told = f"{self._model} at {self._shown} {what}"
        return told.replace(self._key, "…") if self._key else told


_SLOW = "raise llm_timeout_s if the model is only slow"


class _Passing(LanguageModelError):
    """Worth another try, after `wait_s` where the endpoint says so."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.wait_s = wait_s


def _refusal(response: Response) -> LanguageModelError:
    status = response.status_code
    fallback = "an OpenAI-compatible API answers 200 here" if status < 400 else "see its log"
    message = f"answered {status} ({_ADVICE.get(status, fallback)}): {_complaint(response)}"
    if status in _PASSING:
        after = response.headers.get("retry-after", "")
        return _Passing(message, float(after) if after.isdecimal() else 0.0)
    return LanguageModelError(message)


def _complaint(response: Response) -> str:
    """What the endpoint says about its refusal, in a line."""
    import httpx

    try:
        body = _body(response)
    except (httpx.HTTPError, LanguageModelError):
        return "without a word"
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    told = error_text(found.get("error", found)) if isinstance(found, Mapping) else body
    return " ".join(told.split())[:300] or "without a word"


def _body(response: Response) -> str:
    held = bytearray()
    for chunk in response.iter_raw():
        held += chunk
        if len(held) > MAX_LINE:
            raise LanguageModelError(f"answered with more than {MAX_LINE:,} bytes")
    return held.decode("utf-8", "replace")


def _endpoint(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise InvalidInput(
            "The language model's address must be like http://127.0.0.1:11434/v1; "
            f"got {_without_login(url)[:80]!r}."
        )
    path = parts.path.rstrip("/").removesuffix(_PATH) + _PATH
    return urlunsplit(parts._replace(path=path, fragment=""))


def _without_login(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def _checked_key(key: str | None) -> str | None:
    """A key that a header can carry; else the client's own error would print it."""
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise InvalidInput("The API key (llm_key) holds blanks or characters no header can carry.")
    return key or None


def _is_local(url: str) -> bool:
    """Whether it is this machine, which no proxy of the environment stands before."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False

"""A call as an HTTP request, and what comes back, at once or in events, as a value or an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from types import NoneType
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

from remanence import errors
from remanence.api.answers import Wrapped
from remanence.api.remote.call import Call, Otherwise
from remanence.api.values import Misfit, read
from remanence.api.verb import AnyVerb
from remanence.errors import InvalidInput, NotFound, RemanenceError, ServerUnavailable
from remanence.model.block import block_label
from remanence.model.memory import Json
from remanence.model.progress import Progress

PREFIX = "urn:remanence:"
KINDS: Mapping[str, type[errors.RemanenceError]] = {
    "malformed": errors.InvalidInput,
    "too-large": errors.InvalidInput,
    "overloaded": errors.ServerUnavailable,
    "version-passed": errors.Conflict,
    "invalid-input": errors.InvalidInput,
    "not-found": errors.NotFound,
    "conflict": errors.Conflict,
    "unauthenticated": errors.Unauthenticated,
    "forbidden": errors.Forbidden,
    "rate-limited": errors.RateLimited,
    "deadline": errors.DeadlineExceeded,
    "cancelled": errors.Cancelled,
    "store-busy": errors.StoreBusy,
    "quota": errors.QuotaExceeded,
    "store-full": errors.StoreFull,
    "store-unavailable": errors.StoreUnavailable,
    "index-unavailable": errors.IndexUnavailable,
    "embedder-unavailable": errors.EmbedderUnavailable,
    "language-model": errors.LanguageModelError,
    "shutting-down": errors.ServerUnavailable,
    "not-configured": errors.ConfigError,
    "failed": errors.RemanenceError,
    "unexpected": errors.ServerUnavailable,
    "no-such-route": errors.ServerUnavailable,
    "wrong-host": errors.ServerUnavailable,
    "wrong-origin": errors.Forbidden,
    "http": errors.ServerUnavailable,
}


def error_of(type: str, detail: str) -> errors.RemanenceError:
    """The error for a problem of this type, `urn:remanence:KIND`; one unknown here is the root."""
    return KINDS.get(type.removeprefix(PREFIX), errors.RemanenceError)(detail)


JSON = "application/json"
EVENTS = "text/event-stream"
RESULT, PROBLEM, PROGRESS = "result", "error", "progress"
FAILED = 500  # a problem told as an event has its own status in its body
LONGEST_TARGET = 32_000  # servers read headers of 64 KB at most
_WITH_IDS = {"facts": "fact", "sleep": "run", "erasures": "receipt"}
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}", re.ASCII)
_HEADER = re.compile(r"[!-~]{1,200}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An HTTP request: where, how, with what. `target` is the path with its query."""

    method: str
    target: str
    headers: Mapping[str, str]
    content: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An HTTP answer, read to its end."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""


def message_of(call: Call) -> Message:
    """How a call is asked; a write carries a key, so that asking twice does it once."""
    verb = call.verb
    path = _path(verb, call.data)
    rest = {name: value for name, value in call.data.items() if name not in verb.in_path}
    headers = {"Accept": JSON if call.progress is None else EVENTS}
    if verb.writes:
        headers["Idempotency-Key"] = _key(call.data.get("idempotency_key"))
    if verb.in_query:
        target = path + _query(rest)
        if len(target) > LONGEST_TARGET:
            raise InvalidInput(f"The arguments of {verb.name} are too long for a server.")
        return Message(method=verb.method, target=target, headers=headers)
    return Message(
        method=verb.method,
        target=path,
        headers=headers | {"Content-Type": JSON},
        content=json.dumps(rest, separators=(",", ":"), allow_nan=False).encode(),
    )


def answer_of(call: Call, reply: Reply, url: str) -> Any:
    """What the verb gives, or the typed error that the server tells of."""
    body = _json(reply, url)
    if not 200 <= reply.status < 300:
        error = problem(body, reply.status, url)
        if isinstance(error, NotFound) and call.default is not Otherwise.RAISE:
            return call.default
        raise error
    try:
        answer: Any = read(call.verb.response, body)
        if call.verb.signature.return_annotation is NoneType:
            return None
        return answer.taken() if isinstance(answer, Wrapped) else answer
    except (Misfit, InvalidInput) as error:
        raise ServerUnavailable(
            f"{url} answered {call.verb.name} with something else: {error} "
            "Is it a Remanence server of this version?"
        ) from error


def problem(body: Json, status: int, url: str) -> RemanenceError:
    """The error that a server tells of in the form of RFC 9457."""
    told = body if isinstance(body, dict) else {}
    kind = str(told.get("type", ""))
    if not kind.startswith(PREFIX):
        return ServerUnavailable(
            f"{url} answered {status} and no error of Remanence's; check the address."
        )
    error = error_of(kind, str(told.get("detail") or told.get("title") or f"{url} said {status}."))
    if isinstance(error, ServerUnavailable) and url not in str(error):
        return type(error)(f"{url} answered {status}: {error}")
    return error


def _json(reply: Reply, url: str) -> Json:
    try:
        found: Json = json.loads(reply.content)
    except (ValueError, RecursionError) as error:
        start = reply.content[:80].decode("utf-8", "replace")
        raise ServerUnavailable(
            f"{url} answered {reply.status} with {start!r}, which is no JSON; check the address."
        ) from error
    return found


def _path(verb: AnyVerb, data: Mapping[str, Json]) -> str:
    path = verb.path
    for name in verb.in_path:
        path = path.replace(f"{{{name}}}", _segment(verb.layer, name, data[name]))
    return path


def _segment(layer: str, name: str, value: Json) -> str:
    """A value as a part of a path; what could lead elsewhere is no id that anything has."""
    if name == "label":
        label = block_label(value)
        return label.replace(".", "%2E")  # `..` would be taken for a step up
    if not isinstance(value, str) or not _ID.fullmatch(value):
        what = _WITH_IDS.get(layer, "memory")
        raise NotFound(f"There is no {what} {str(value)[:64]!r} here; check the id.")
    return value


def _query(data: Mapping[str, Json]) -> str:
    try:
        text = urlencode([*_pairs(data)], quote_via=quote)
    except UnicodeEncodeError as error:
        raise InvalidInput("A value holds half a character (a lone surrogate).") from error
    return f"?{text}" if text else ""


def _pairs(data: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name, value in data.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                yield name, one if isinstance(one, str) else json.dumps(one)


def _key(given: Json) -> str:
    """The caller's own key, or its digest where a header cannot hold it; else a new one."""
    if not isinstance(given, str):
        return str(uuid4())
    if _HEADER.fullmatch(given):
        return given
    return blake2b(given.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Events:
    """Takes the lines of an event stream; `reply` is there once the answer has come."""

    def __init__(self, progress: Progress) -> None:
        self.reply: Reply | None = None
        self._progress = progress
        self._name = "message"
        self._data: list[str] = []

    def take(self, line: str) -> None:
        """One line; an empty one ends an event."""
        if not line:
            self._close()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)

    def _close(self) -> None:
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "message", []
        if name == PROGRESS:
            self._progress(*_figures(data))
        elif name in (RESULT, PROBLEM):
            status = 200 if name == RESULT else FAILED
            self.reply = Reply(status=status, content=data.encode())


def _figures(data: str) -> tuple[int, int]:
    try:
        told = json.loads(data)
        return int(told["done"]), int(told.get("total") or 0)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ServerUnavailable(f"The server told of its progress with {data[:80]!r}.") from error

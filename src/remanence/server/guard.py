"""What every request passes before anything of it is read: host, page, key, rate, room, size."""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

import orjson
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remanence.config import Settings
from remanence.errors import AccessError, RateLimited, Unauthenticated
from remanence.operations.reading import Misfit
from remanence.server.access.addresses import NOWHERE, caller_address
from remanence.server.access.caller import Caller
from remanence.server.access.gate import Ended, Gate, mark_of, shown_by
from remanence.server.access.limits import Backoff, Limits, Shares
from remanence.server.access.request import request_id
from remanence.server.problems import MEDIA_TYPE, Overloaded, Problem, TooLarge, problem_of
from remanence.server.proxy import refusing

# Anybody may ask whether the server is up, and what it can do.
OPEN_PATHS = frozenset({"/health", "/ready", "/openapi.json"})
# What a person may open by a link on somebody else's page; data is not among them.
PAGES = OPEN_PATHS | {"/", "/docs"}
# Bodies that are read as a stream, a line at a time, whatever their size.
STREAMED = frozenset({"/v1/import"})
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MB = 1024 * 1024
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
JSON = "application/json"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_PAGES = frozenset({"same-origin", "none"})  # `none`: a person typed it in
# What else every answer says, unless it has said so itself.
_GUARDED: Mapping[bytes, bytes] = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
_FORBIDDEN, _MISDIRECTED = 403, 421
_LONGEST_NAME = 80
_LEFT = 499  # in logs alone: whoever asked had gone before the whole question was here
_log = logging.getLogger("remanence.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A request that is over, as the log and the figures have it; nothing of what it said."""

    method: str
    path: str
    status: int
    seconds: float
    caller: str
    tenant: str
    request_id: str


class Witness(Protocol):
    """Told of every request."""

    def saw(self, seen: Seen) -> None:
        """One request is over."""

    def refused(self, reason: str) -> None:
        """One request was not let in."""


class Entrance:
    """By which names the server may be called, and from which pages."""

    def __init__(self, settings: Settings) -> None:
        self._hosts = allowed_hosts(settings)
        self._origins = allowed_origins(settings)

    def refusal(
        self, scope: Scope, headers: Mapping[str, str], id: str
    ) -> tuple[str, Problem] | None:
        """What a request is not let in for, in a word and as a problem."""
        if not host_allowed(headers.get("host", ""), self._hosts):
            return "host", _wrong_host(headers.get("host", ""), id)
        if not self._page_allowed(scope, headers):
            return "origin", _wrong_origin(id)
        return None

    def _page_allowed(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        """Whether no page asks, or one of this server's own, or one of those that may.

        Where no `Origin` is, browsers say by other headers who asks: images, forms, links, frames.
        """
        origin, host, site = (headers.get(name) for name in ("origin", "host", "sec-fetch-site"))
        if origin is not None and origin in self._origins:
            return True
        if origin not in (None, f"http://{host}", f"https://{host}"):
            return False
        if site is None or site.lower() in _OWN_PAGES:
            return True
        opened = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
        reads = scope["method"] in ("GET", "HEAD")
        return reads and opened == ("navigate", "document") and scope["path"] in PAGES


class Ajar:
    """ASGI middleware around a server that is not open yet: what needs no store is checked."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._entrance = Entrance(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer why not."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _headers(scope)
        id = _id_of(headers)
        scope.setdefault("state", {})["request_id"] = id

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _guarded(list(message.get("headers", ())), id)
            await send(message)

        wrong = self._entrance.refusal(scope, headers, id)
        if wrong is None:
            await self._app(scope, receive, answer)
        else:
            await _refuse(wrong[1], answer, scope["path"])


class Guard:
    """ASGI middleware around the whole server."""

    def __init__(
        self, app: ASGIApp, *, settings: Settings, gate: Gate, limits: Limits, witness: Witness
    ) -> None:
        self._app = app
        self._gate = gate
        self._limits = limits
        self._witness = witness
        self._entrance = Entrance(settings)
        self._max_body = int(settings.max_body_mb * MB)
        self._proxies = settings.proxy_networks
        self._requests = Shares(settings.connections, "requests under way")
        self._bodies = Shares(settings.bodies_mb * MB, "bodies", least=self._max_body)
        self._addresses, self._guesses = Backoff(settings.wrong_keys), Backoff(settings.wrong_keys)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="gate")
        # An issuer of tokens that is slow to name its keys holds up no key of ours.
        self._tokens = ThreadPoolExecutor(2, thread_name_prefix="tokens")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status, begun = time.perf_counter(), 500, False
        headers = _headers(scope)
        id = _id_of(headers)
        token = request_id.set(id)
        state = scope.setdefault("state", {})
        state["request_id"] = id
        held = _Held(self._requests, self._bodies)

        async def answer(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = _guarded(list(message.get("headers", ())), id)
            await send(message)

        try:
            refused = await self._refusal(scope, headers, state, held)
            if refused is not None:
                await _refuse(refused, answer, scope["path"])
                return
            await self._app(scope, self._counted(scope, receive, held), answer)
        except ClientDisconnect:
            status = _LEFT
        except Exception as error:
            if begun:
                raise  # too late to say so: the answer is cut off
            _log.error("%s failed: %s", _template(scope), error, exc_info=error)
            await _refuse(problem_of(error, id), answer, scope["path"])
        finally:
            held.end()
            request_id.reset(token)
            caller: Caller | None = state.get("caller")
            self._witness.saw(
                Seen(
                    method=scope["method"],
                    path=_template(scope),
                    status=status,
                    seconds=time.perf_counter() - started,
                    caller=caller.name if caller else "",
                    tenant=caller.tenant if caller else "",
                    request_id=id,
                )
            )

    async def _refusal(
        self, scope: Scope, headers: Mapping[str, str], state: dict[str, Any], held: _Held
    ) -> Problem | None:
        """Why a request is not let in; nothing of its body has been read yet."""
        id = state["request_id"]
        if (wrong := self._entrance.refusal(scope, headers, id)) is not None:
            reason, problem = wrong
            self._witness.refused(reason)
            return problem
        try:
            address = caller_address(_peer(scope), headers, self._proxies)
            if scope["path"] in OPEN_PATHS:
                held.begin("", address)
            else:
                caller = state["caller"] = await self._admitted(address, headers)
                self._check_rate(caller)
                held.begin(caller.tenant, caller.name)
            self._check_length(scope, headers)
            _check_kind(scope, headers)
        except (AccessError, Overloaded, TooLarge, Misfit) as error:
            self._witness.refused(_reason(error))
            return problem_of(error, id)
        except Exception as error:  # the store that holds the keys may not answer
            return problem_of(error, id)
        return None

    async def _admitted(self, address: str, headers: Mapping[str, str]) -> Caller:
        """Who calls. A right key is let in whoever shows wrong ones from the same address."""
        known = self._gate.remembered(headers)
        if known is not None:
            return known
        import asyncio

        shown = shown_by(headers) or ""
        guess = (address, mark_of(shown))
        if wait := self._guesses.wait(guess):
            raise TooManyWrong(wait)
        pool = self._tokens if "." in shown else self._threads
        try:
            loop = asyncio.get_running_loop()
            caller = await loop.run_in_executor(pool, self._gate.admit, headers)
        except Unauthenticated as error:
            if shown and not isinstance(error, Ended):
                self._guesses.failed(guess)
                if early := self._addresses.failed(address):
                    raise TooManyWrong(early) from error
            raise
        self._guesses.forget(guess)
        return caller

    def _check_rate(self, caller: Caller) -> None:
        wait = self._limits.take(caller.name, caller.rate_limit)
        if wait > 0:
            error = RateLimited(f"Too many calls with this key; try again in {math.ceil(wait)} s.")
            error.retry_s = wait
            raise error

    def _check_length(self, scope: Scope, headers: Mapping[str, str]) -> None:
        told = headers.get("content-length", "0")
        if scope["path"] not in STREAMED and told.isdigit() and int(told) > self._max_body:
            raise self._too_large()

    def _counted(self, scope: Scope, receive: Receive, held: _Held) -> Receive:
        """The body as it comes: up to the limit of one, and as long as there is room for it."""
        if scope["path"] in STREAMED:
            return receive
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            came = len(message.get("body", b""))
            seen += came
            if seen > self._max_body:
                raise self._too_large()
            if came:
                held.keep(came)
            return message

        return counted

    def _too_large(self) -> TooLarge:
        return TooLarge(
            f"The body is larger than {self._max_body / MB:g} MB; send less at a time, or stream "
            "it to /v1/import."
        )


class TooManyWrong(RateLimited):
    """Too many wrong keys came from the same address."""

    def __init__(self, wait: float) -> None:
        super().__init__(
            f"Too many wrong keys came from your address; try again in {math.ceil(wait)} s. A key "
            "that works is let in meanwhile."
        )
        self.retry_s = wait


class _Held:
    """What one request holds of what all share, until it is over."""

    def __init__(self, requests: Shares, bodies: Shares) -> None:
        self._requests = requests
        self._bodies = bodies
        self._whose: tuple[str, str] | None = None
        self._bytes = 0

    def begin(self, tenant: str, name: str) -> None:
        """Take a place."""
        self._requests.take(tenant, name)
        self._whose = (tenant, name)

    def keep(self, came: int) -> None:
        """Some of its body has come."""
        if self._whose is not None:
            self._bodies.take(*self._whose, came)
            self._bytes += came

    def end(self) -> None:
        """Give back all of it."""
        if self._whose is not None:
            self._requests.give(*self._whose)
            self._bodies.give(*self._whose, self._bytes)


def allowed_hosts(settings: Settings) -> tuple[str, ...]:
    """The names that the server goes by; `*.name` stands for all below one."""
    bound = () if settings.host in ("0.0.0.0", "::") else (_bracketed(settings.host),)  # noqa: S104
    return tuple(dict.fromkeys((*LOOPBACK, *bound, *_listed(settings.hosts))))


def allowed_origins(settings: Settings) -> frozenset[str]:
    """The web pages that may call the server."""
    return frozenset(_listed(settings.origins))


def host_allowed(host: str, allowed: Iterable[str]) -> bool:
    """Whether a `Host` header names this server, on whatever port."""
    name = _HOST.fullmatch(host.strip().lower())
    if name is None:
        return False
    return any(
        name[1] == one or (one.startswith("*.") and name[1].endswith(one[1:])) for one in allowed
    )


_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")


def _wrong_host(host: str, id: str) -> Problem:
    name = _HOST.fullmatch(host.strip().lower())
    called = f"the name {name[1]}" if name and len(name[1]) <= _LONGEST_NAME else "that name"
    return Problem(
        type="wrong-host",
        title="Wrong host",
        status=_MISDIRECTED,
        detail=f"This server does not go by {called}; if it should, put the name into the setting "
        "`hosts` (REMANENCE_HOSTS).",
        request_id=id,
    )


def _wrong_origin(id: str) -> Problem:
    return Problem(
        type="wrong-origin",
        title="Pages of another origin may not call this server",
        status=_FORBIDDEN,
        detail="If the page that asked may call this server, put its origin into the setting "
        "`origins` (REMANENCE_ORIGINS).",
        request_id=id,
    )


def _listed(text: str) -> list[str]:
    return [part for part in (one.strip().lower() for one in text.split(",")) if part]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.lower()


def _headers(scope: Scope) -> dict[str, str]:
    """The headers by name; of one that comes twice, both, so that none is overlooked."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _id_of(headers: Mapping[str, str]) -> str:
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid4().hex


def _guarded(headers: list[tuple[bytes, bytes]], id: str) -> list[tuple[bytes, bytes]]:
    said = {name.lower() for name, _ in headers}
    more = [(name, value) for name, value in _GUARDED.items() if name not in said]
    return [*headers, (b"x-request-id", id.encode()), *more]


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return NOWHERE if client is None else str(client[0])


def _reason(error: Exception) -> str:
    """What is counted: a wrong key is one, also where it came too early to be looked at."""
    kind = Unauthenticated() if isinstance(error, TooManyWrong) else error
    return problem_of(kind).type


def _check_kind(scope: Scope, headers: Mapping[str, str]) -> None:
    """Refuse a body that a form or a page can send without asking; the routes know the others."""
    if scope["method"] in _READING or scope["path"] in STREAMED or not _has_body(headers):
        return
    from_page = "origin" in headers or "sec-fetch-site" in headers
    told = headers.get("content-type", "" if from_page else JSON)
    if told.partition(";")[0].strip().lower() != JSON:
        raise Misfit(f"The body must be JSON, with the content type {JSON}.")


def _has_body(headers: Mapping[str, str]) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""


def _template(scope: Scope) -> str:
    """The route's path with its parameters' names, so that no id is in a log or a figure."""
    route = scope.get("route")
    return str(getattr(route, "path", None) or "unknown")


async def _refuse(problem: Problem, send: Send, path: str) -> None:
    headers = [(b"content-type", MEDIA_TYPE.encode())]
    if problem.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="remanence"'))
    if problem.retry_s is not None:
        headers.append((b"retry-after", str(math.ceil(problem.retry_s)).encode()))
    if problem.status == 413:
        headers.append((b"connection", b"close"))
    body = orjson.dumps(refusing.told(problem) if path in refusing.PATHS else problem.body())
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

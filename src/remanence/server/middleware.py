"""What every request passes before anything of it is read: host, page, key, rate, room, size."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from remanence.api.values import Misfit
from remanence.config import Settings
from remanence.errors import AccessError, RateLimited, Unauthenticated
from remanence.server import problems
from remanence.server.access.audit import Audit
from remanence.server.access.caller import Caller, request_id
from remanence.server.access.gate import NOWHERE, Ended, Gate, caller_address, mark_of, shown_by
from remanence.server.access.limits import Backoff, Limits, Shares
from remanence.server.executor import whose
from remanence.server.logs import LoggedRequest, log_request
from remanence.server.observation import MB, Metrics

# Anybody may ask whether the server is up, and what it can do.
OPEN_PATHS = frozenset({"/health", "/ready", "/openapi.json"})
# What a person may open by a link on somebody else's page; data is not among them.
PAGES = OPEN_PATHS | {"/", "/docs"}
# Bodies that are read as a stream, a line at a time, whatever their size.
STREAMED = frozenset({"/v1/import"})
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
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
_LONGEST_NAME = 80
_LEFT = 499  # in logs alone: whoever asked had gone before the whole question was here
_log = logging.getLogger("remanence.server")


class Entrance:
    """By which names the server may be called, and from which pages."""

    def __init__(self, settings: Settings) -> None:
        hosts = allowed_hosts(settings)
        self._hosts = frozenset(hosts)
        self._below = tuple(one[1:] for one in hosts if one.startswith("*."))
        self._origins = allowed_origins(settings)

    def check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Refuse a request to another host, or from a page that may not call this server."""
        found = _HOST.fullmatch(headers.get("host", "").strip().lower())
        host = found[1] if found else ""
        if not host or (host not in self._hosts and not host.endswith(self._below)):
            raise _wrong_host(host)
        from_page = "origin" in headers or "sec-fetch-site" in headers
        if from_page and not self._page_allowed(scope, headers):
            raise _wrong_origin()

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


@dataclass(slots=True)
class Exchange:
    """One request and its answer on their way, and what it holds of what all share."""

    id: str
    headers: Mapping[str, str]
    received: Receive
    sent: Send
    most: int = 0  # bytes of a body
    bodies: Shares | None = None
    whose: tuple[str, str] | None = None  # tenant and name, once it has a place
    came: int = 0
    status: int = 500
    begun: bool = False

    async def receive(self) -> Message:
        """The body as it comes: up to the limit of one, and as long as there is room for it."""
        message = await self.received()
        came = len(message.get("body", b""))
        if self.came + came > self.most:
            raise _too_large(self.most)
        if came and self.whose is not None and self.bodies is not None:
            self.bodies.take(*self.whose, came)
        self.came += came
        return message

    async def send(self, message: Message) -> None:
        """The answer as it goes; what every answer says is added to its head."""
        if message["type"] == "http.response.start":
            self.status, self.begun = message["status"], True
            said = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name, value) for name, value in _GUARDED.items() if name not in said]
            own = (b"x-request-id", self.id.encode())
            message["headers"] = [*message.get("headers", ()), own, *more]
        await self.sent(message)


class Guard:
    """The ASGI app of the whole server: lets requests in, has their routes answer them, and tells
    every error as a problem."""

    def __init__(
        self, app: Starlette, settings: Settings, gate: Gate, *, metrics: Metrics, audit: Audit
    ) -> None:
        self._app = app
        self._gate = gate
        self._metrics = metrics
        self._audit = audit
        self._rate = settings.rate_limit
        self._limits = Limits(self._rate)
        self._entrance = Entrance(settings)
        self._max_body = int(settings.max_body_mb * MB)
        self._proxies = settings.proxy_networks
        self._requests = Shares(settings.connections, "requests under way")
        self._bodies = Shares(settings.bodies_mb * MB, "bodies", least=self._max_body)
        self._addresses, self._guesses = Backoff(settings.wrong_keys), Backoff(settings.wrong_keys)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="gate")
        # An issuer of tokens that is slow to name its keys holds up no key of ours.
        self._tokens = ThreadPoolExecutor(2, thread_name_prefix="tokens")
        self._known: dict[tuple[str, str], Route] = {}  # by method and path, if that names nothing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._besides(scope, receive, send)
            return
        started, exchange = time.perf_counter(), exchange_of(scope, receive, send)
        exchange.most, exchange.bodies = self._max_body, self._bodies
        token = request_id.set(exchange.id)
        admitted = False
        try:
            await self._admit(scope, exchange)
            admitted = True
            path = scope["path"]
            route = self._known.get((scope["method"], path)) or self._found(scope)
            scope["route"] = route
            scope.setdefault("path_params", {})
            body = receive if path in STREAMED else exchange.receive
            await route.app(scope, body, exchange.send)
        except ClientDisconnect:
            exchange.status = _LEFT
        except Exception as error:
            if exchange.begun:
                raise  # too late to say so: the answer is cut off
            problem = problems.problem_of(error, exchange.id)
            if not admitted:
                self._count(error, problem)
            elif problem.status >= 500:
                fields = {"fields": {"id": exchange.id}}
                _log.error("%s failed", _template(scope), exc_info=error, extra=fields)
            await refuse(problem, scope, exchange)
        finally:
            request_id.reset(token)
            self._over(scope, exchange, time.perf_counter() - started)

    async def _besides(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            await self._app.router.lifespan(scope, receive, send)
        finally:
            self._threads.shutdown(wait=False)
            self._tokens.shutdown(wait=False)

    async def _admit(self, scope: Scope, exchange: Exchange) -> None:
        """Raise why a request is not let in; nothing of its body has been read yet."""
        headers = exchange.headers
        self._entrance.check(scope, headers)
        if scope["path"] in OPEN_PATHS:
            tenant, name = "", self._address(scope, headers)
            whose.set(None)
        else:
            caller = self._gate.remembered(headers) or await self._recognised(scope, headers)
            scope["state"]["caller"] = caller
            tenant, name = caller.tenant, caller.name
            whose.set(tenant)
            if self._rate if caller.rate_limit is None else caller.rate_limit:
                self._check_rate(caller)
        self._requests.take(tenant, name)
        exchange.whose = tenant, name
        if scope["method"] not in _READING and scope["path"] not in STREAMED:
            self._check_body(headers)

    async def _recognised(self, scope: Scope, headers: Mapping[str, str]) -> Caller:
        """Who calls. A right key is let in whoever shows wrong ones from the same address."""
        shown, address = shown_by(headers) or "", self._address(scope, headers)
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

    def _address(self, scope: Scope, headers: Mapping[str, str]) -> str:
        peer = scope.get("client")
        return caller_address(NOWHERE if peer is None else str(peer[0]), headers, self._proxies)

    def _check_rate(self, caller: Caller) -> None:
        wait = self._limits.take(caller.name, caller.rate_limit)
        if wait > 0:
            error = RateLimited(f"Too many calls with this key; try again in {math.ceil(wait)} s.")
            error.retry_s = wait
            raise error

    def _check_body(self, headers: Mapping[str, str]) -> None:
        """Refuse one that is too long, or that a form or a page can send without asking."""
        told = headers.get("content-length", "0")
        if told.isdigit() and int(told) > self._max_body:
            raise _too_large(self._max_body)
        if "transfer-encoding" not in headers and not told.strip("0"):
            return
        from_page = "origin" in headers or "sec-fetch-site" in headers
        kind = headers.get("content-type", "" if from_page else JSON)
        if kind != JSON and kind.partition(";")[0].strip().lower() != JSON:
            raise Misfit(f"The body must be JSON, with the content type {JSON}.")

    def _found(self, scope: Scope) -> Route:
        """The first route that fits, as Starlette finds it; `HTTPException` if none does."""
        fitting: list[Route] = []
        for route in self._app.routes:
            match, found = route.matches(scope)
            if match is Match.NONE or not isinstance(route, Route):
                continue
            if match is Match.FULL:
                scope.update(found)
                if "{" not in route.path and scope["method"] in (route.methods or ()):
                    self._known[scope["method"], scope["path"]] = route
                return route
            fitting.append(route)
        if not fitting:
            raise HTTPException(404)
        scope["route"] = fitting[0]
        same = [one.methods or () for one in fitting if one.path == fitting[0].path]
        allowed = sorted({method for methods in same for method in methods})
        raise HTTPException(405, headers={"allow": ", ".join(allowed)})

    def _count(self, error: Exception, problem: problems.Problem) -> None:
        """Count who was not let in; a wrong key is one, also where it came too early."""
        if isinstance(error, problems.Refusal):
            self._metrics.refused(error.reason)
        elif isinstance(error, AccessError | problems.Overloaded | problems.TooLarge | Misfit):
            reason = problems.UNAUTHENTICATED if isinstance(error, TooManyWrong) else problem.type
            self._metrics.refused(reason)
            if reason == problems.UNAUTHENTICATED:
                self._audit.refused(reason)

    def _over(self, scope: Scope, exchange: Exchange, seconds: float) -> None:
        if exchange.whose is not None:
            self._requests.give(*exchange.whose)
            if exchange.came and scope["path"] not in STREAMED:
                self._bodies.give(*exchange.whose, exchange.came)
        caller: Caller | None = scope["state"].get("caller")
        seen = LoggedRequest(
            method=scope["method"],
            path=_template(scope),
            status=exchange.status,
            seconds=seconds,
            caller=caller.name if caller else "",
            tenant=caller.tenant if caller else "",
            request_id=exchange.id,
        )
        self._metrics.saw_request(seen)
        log_request(seen)


class TooManyWrong(RateLimited):
    """Too many wrong keys came from the same address."""

    def __init__(self, wait: float) -> None:
        super().__init__(
            f"Too many wrong keys came from your address; try again in {math.ceil(wait)} s. A key "
            "that works is let in meanwhile."
        )
        self.retry_s = wait


def allowed_hosts(settings: Settings) -> tuple[str, ...]:
    """The names that the server goes by; `*.name` stands for all below one."""
    bound = () if settings.host in ("0.0.0.0", "::") else (_bracketed(settings.host),)  # noqa: S104
    return tuple(dict.fromkeys((*LOOPBACK, *bound, *_listed(settings.hosts))))


def allowed_origins(settings: Settings) -> frozenset[str]:
    """The web pages that may call the server."""
    return frozenset(_listed(settings.origins))


def _wrong_host(host: str) -> problems.Refusal:
    called = f"the name {host}" if host and len(host) <= _LONGEST_NAME else "that name"
    return problems.Refusal(
        "wrong-host",
        f"This server does not go by {called}; if it should, put the name into the setting "
        "`hosts` (REMANENCE_HOSTS).",
    )


def _wrong_origin() -> problems.Refusal:
    return problems.Refusal(
        "wrong-origin",
        "If the page that asked may call this server, put its origin into the setting "
        "`origins` (REMANENCE_ORIGINS).",
    )


def _listed(text: str) -> list[str]:
    return [part for part in (one.strip().lower() for one in text.split(",")) if part]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.lower()


def exchange_of(scope: Scope, receive: Receive, send: Send) -> Exchange:
    """A request with its headers by name and its id: the one that it brings, or a new one.

    Of a header that comes twice, both count, so that none is overlooked.
    """
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    id = headers.get("x-request-id")
    if id is None or not _REQUEST_ID.fullmatch(id):
        id = uuid4().hex
    scope.setdefault("state", {})["request_id"] = id
    return Exchange(id, headers, receive, send)


async def refuse(problem: problems.Problem, scope: Scope, exchange: Exchange) -> None:
    """Answer with what went wrong."""
    await problems.answer(problem, scope["path"])(scope, exchange.received, exchange.send)


def _too_large(most: int) -> problems.TooLarge:
    return problems.TooLarge(
        f"The body is larger than {most / MB:g} MB; send less at a time, or stream it to "
        "/v1/import."
    )


def _template(scope: Scope) -> str:
    """The route's path with its parameters' names, so that no id is in a log or a figure."""
    route = scope.get("route")
    return str(getattr(route, "path", None) or "unknown")

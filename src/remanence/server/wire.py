"""Connections with bounds: how many, how long each may take, and who goes when it is full.

All of it holds before a key is seen, so it is all that stands between a stranger and the memory
of the machine.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nsmallest
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from remanence.config import Settings
from remanence.server.access.gate import LOOPBACK, NOWHERE, Network, holder_of, is_among
from remanence.server.problems import RETRY_S, Problem, answer

MAX_HEAD = 64 * 1024  # bytes of a request's line and headers
PER_HEADER = 32  # counted on top for each, as many short ones cost more than their bytes
PIPELINED = 8  # requests that may wait for the answer to the one before them
LEAST = 16 * 1024  # bytes of a body or an answer that pass in each time that is set for them
AT_ONCE = 50  # a part of all connections: so many are closed together where nobody is known by them


@dataclass(slots=True)
class OpenConnections:
    """Those of one process. For a new one there is room as long as any other only waits."""

    settings: Settings
    many_callers: tuple[Network, ...] = ()  # addresses that stand for any number of callers
    _all: dict[Wire, None] = field(default_factory=dict)
    _by_holder: dict[str, dict[Wire, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.many_callers = (*LOOPBACK, *self.settings.proxy_networks)

    def enter(self, wire: Wire) -> bool:
        """Take in a new one; False if everybody else's are being answered."""
        if not wire.of_many and len(self._of(wire)) >= self.settings.connections_per_address:
            self._make_room(self._of(wire), 1)
        if len(self._all) >= self.settings.connections:
            self._make_room(self._all, max(1, self.settings.connections // AT_ONCE))
        full = not wire.of_many and len(self._of(wire)) >= self.settings.connections_per_address
        if full or len(self._all) >= self.settings.connections:
            return False
        self._all[wire] = self._by_holder.setdefault(wire.holder, {})[wire] = None
        return True

    def leave(self, wire: Wire) -> None:
        """One has ended."""
        self._all.pop(wire, None)
        own = self._of(wire)
        own.pop(wire, None)
        if not own:
            self._by_holder.pop(wire.holder, None)

    def _of(self, wire: Wire) -> dict[Wire, None]:
        return self._by_holder.get(wire.holder, {})

    def _make_room(self, among: Iterable[Wire], most: int) -> None:
        for wire in closable(among, most):
            self.leave(wire)
            wire.let_go()


def closable(wires: Iterable[Wire], most: int) -> list[Wire]:
    """Which to close for others: whoever is not known first, who has most of them, the oldest.

    Up to `most` of those by which nobody is known; of others, a single one. None that the server
    itself is at work for.
    """
    found = [wire for wire in wires if wire.use is not None]
    held = Counter(wire.who for wire in found)
    chosen = nsmallest(most, found, key=lambda wire: (wire.use, -held[wire.who], wire.quiet_since))
    strangers = [wire for wire in chosen if not wire.known]
    return strangers or chosen[:1]


class Wire(HttpToolsProtocol):
    """One connection."""

    _head = 0  # of this request so far
    _unread = 0  # bytes since the last head or piece of a body was whole
    _begun = False  # a head has begun and is not whole
    _receiving = False  # a body has begun and is not whole
    _came = 0  # bytes of the body since it was last looked at
    _over = False  # the answers that are due are given, and nothing more is read
    _wrong: HTTPStatus | None = None
    _due: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def __init__(self, *given: Any, connections: OpenConnections, **more: Any) -> None:
        super().__init__(*given, **more)
        self._connections = connections
        self._settings = connections.settings
        self.holder = NOWHERE
        self.of_many = True  # callers, who share the address of a proxy or of this machine
        self.quiet_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls; where there is no room at all, they are told so and let go."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # what is not sent waits where it is made
        if self.client is not None:
            self.holder = holder_of(self.client[0])
            self.of_many = is_among(self.client[0], self._connections.many_callers)
        self.quiet_since = self.loop.time()
        if self._connections.enter(self):
            self._wait(self._settings.head_timeout_s)
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side has gone, or was let go."""
        self._connections.leave(self)
        self._on_time()
        self._moved()
        super().connection_lost(exc)

    @property
    def caller(self) -> Any:
        """Who was let in by this connection, if anybody was."""
        return None if self.cycle is None else self.cycle.scope["state"].get("caller")

    @property
    def known(self) -> bool:
        """Whether anybody was."""
        return self.caller is not None

    @property
    def who(self) -> tuple[str, str]:
        """Whose it is: a key's, or an address's as long as none was shown."""
        caller = self.caller
        return ("", self.holder) if caller is None else (caller.tenant, caller.name)

    @property
    def use(self) -> int | None:
        """How little it would be missed, 0 least of all; None while the server works for it."""
        if self._stalled is not None:  # also where the answer is whole, and not yet sent
            return 4 if self.known else 1
        if self._answered():
            return 2 if self.known else 0
        return 3 if self._receiving and self.known else None

    def let_go(self) -> None:
        """End it, as somebody else needs the room."""
        if self._stalled is not None or not self._answered():
            self.transport.abort()  # closing would wait for the reader
        else:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Something came."""
        if self._over or self.transport.is_closing():
            return
        self._unread += len(data)
        super().data_received(data)
        if self._over or self.transport.is_closing():
            return
        if self._unread > MAX_HEAD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._due is None and (self.cycle is None or self.cycle.response_complete):
            # Not where the connection is merely kept for the next time.
            if self._begun or self.timeout_keep_alive_task is None:
                self._wait(self._settings.head_timeout_s)
        elif self._due is None and (self._receiving or self._begun):
            self._wait_for_more()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._head, self._begun = 0, True
        if len(self.pipeline) >= PIPELINED:
            raise ValueError("too many requests wait")  # the parser stops
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header. What trails a body like one is counted, and never taken for a header."""
        self._head += len(name) + len(value) + PER_HEADER
        if self._head > MAX_HEAD:
            self._stop_at_head()
        if self._begun:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._begun, self._unread = False, 0
        self._head += len(self.url)
        if self._head > MAX_HEAD:
            self._stop_at_head()
        if self._due is not None:
            self._on_time()
        bodies = (b"content-length", b"transfer-encoding")
        if self.parser.should_upgrade() and any(name in bodies for name, _ in self.headers):
            raise ValueError("the parser would lose the body")  # and the rest pass for less
        super().on_headers_complete()
        self._receiving = True
        if self.parser.should_upgrade():  # to what there is not; nothing more of it can be read
            self._end_after_answers()

    def on_body(self, body: bytes) -> None:
        """A piece of a body; how long one may be, the guard knows."""
        self._unread = 0
        self._came += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._unread = 0
        self._receiving = False
        if self._due is not None:
            self._on_time()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is whole; who goes on sending what nobody reads has a head's time to end."""
        self.quiet_since = self.loop.time()
        super().on_response_complete()
        if self._receiving and self.cycle.response_complete and not self.transport.is_closing():
            self._wait(self._settings.head_timeout_s)

    def send_400_response(self, msg: str) -> None:
        """What the parser could not take, or stopped at."""
        self._refuse(self._wrong or HTTPStatus.BAD_REQUEST)

    def pause_writing(self) -> None:
        """Something waits to be sent until the reader takes more."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """The reader has taken it."""
        self._moved()
        super().resume_writing()

    def _stop_at_head(self) -> None:
        self._wrong = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        raise ValueError("the head is too long")  # the parser stops, and 431 is sent

    def _answered(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self, seconds: float) -> None:
        self._on_time()
        self._due = self.loop.call_later(seconds, self._late)

    def _wait_for_more(self) -> None:
        self._came, settings = 0, self._settings
        self._wait(settings.body_timeout_s if self._receiving else settings.head_timeout_s)

    def _late(self) -> None:
        self._due = None
        if self.transport.is_closing():
            return
        if not self._answered():
            self._look_at_body()
        elif self._begun:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()

    def _look_at_body(self) -> None:
        """While a request is under way: whether its body comes, if anybody waits for it."""
        asked = not (self.flow.read_paused or self.cycle.waiting_for_100_continue or self.pipeline)
        if self._receiving and asked and self._came < LEAST:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self._wait_for_more()

    def _on_time(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _watch(self) -> None:
        self._moved()
        left = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(self._settings.send_timeout_s, self._stuck, left)

    def _stuck(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() >= LEAST:
            self._watch()
        else:
            self.transport.abort()  # closing would wait for the reader

    def _moved(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _refuse(self, status: HTTPStatus) -> None:
        """Say why, and hang up; where answers are due, give them instead of it."""
        incomplete = self._receiving and not self.cycle.response_started
        if self.pipeline or not (self._answered() or incomplete):
            self._end_after_answers()
            return
        self.transport.write(_refusal(status))
        self.transport.close()

    def _end_after_answers(self) -> None:
        self._over = True
        self.cycle.keep_alive = False


_WHY = {
    HTTPStatus.BAD_REQUEST: ("malformed", "What was sent is no HTTP/1.1 request."),
    HTTPStatus.REQUEST_TIMEOUT: (
        "too-slow",
        "The request came in too slowly; send it again, faster.",
    ),
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: (
        "head-too-large",
        f"The head of a request has {MAX_HEAD // 1024} KB at most.",
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        "overloaded",
        "Every connection is in use; try again in a moment.",
    ),
}


def _refusal(status: HTTPStatus) -> bytes:
    kind, detail = _WHY[status]
    wait = RETRY_S if status is HTTPStatus.SERVICE_UNAVAILABLE else None
    problem = Problem(type=kind, title=status.phrase, status=status, detail=detail, retry_s=wait)
    told = answer(problem)
    told.headers["cross-origin-resource-policy"] = "same-origin"
    told.headers["x-content-type-options"] = "nosniff"
    told.headers["connection"] = "close"
    head = [b"%s: %s" % pair for pair in told.raw_headers]
    first = f"HTTP/1.1 {status:d} {status.phrase}".encode()
    return b"\r\n".join([first, *head, b"", b""]) + bytes(told.body)

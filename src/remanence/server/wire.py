"""Connections with bounds: how long a head may be, how long it may take, how long a reader waits.

All of it holds before a key is seen, so it is all that stands between a stranger and the memory
of the machine.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 64 * 1024  # bytes of a request's line and headers
PER_HEADER = 32  # counted on top for each, as many short ones cost more than their bytes
HEAD_S = 10.0  # for a head to come in whole, from the first moment of a connection
STALLED_S = 60.0  # for a reader to take at least something of what is sent


class Wire(HttpToolsProtocol):
    """One connection. `limit_concurrency` bounds connections as they come, not only requests."""

    _head = 0  # of this request so far
    _unread = 0  # bytes since the last head or piece of a body was whole
    _begun = False  # a head has begun and is not whole
    _too_long = False
    _due: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls; one too many is told so and let go."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self._due = self.loop.call_later(HEAD_S, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side has gone, or was let go."""
        self._on_time()
        self._moved()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Something came."""
        if self.transport.is_closing():
            return
        self._unread += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unread > MAX_HEAD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._due is None and (self._begun or self._idle()):
            self._due = self.loop.call_later(HEAD_S, self._late)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._head, self._begun = 0, True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or what trails a body like one."""
        self._head += len(name) + len(value) + PER_HEADER
        if self._head > MAX_HEAD:
            self._too_long = True
            raise ValueError("the head is too long")  # the parser stops, and 431 is sent
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._begun, self._unread = False, 0
        self._head += len(self.url)
        if self._head > MAX_HEAD:
            self._too_long = True
            raise ValueError("the head is too long")
        self._on_time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body; how long one may be, the guard knows."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._unread = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What the parser could not take, or stopped at."""
        if self._too_long:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """More waits to be sent than the reader takes."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """The reader has taken most of it."""
        self._moved()
        super().resume_writing()

    def _idle(self) -> bool:
        """Whether nothing is being answered, nor a connection merely kept for the next time."""
        answered = self.cycle is None or self.cycle.response_complete
        return answered and self.timeout_keep_alive_task is None

    def _late(self) -> None:
        self._due = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._due = self.loop.call_later(HEAD_S, self._late)  # after the answer under way
        elif self._begun:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()

    def _on_time(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _watch(self) -> None:
        self._moved()
        left = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(STALLED_S, self._stuck, left)

    def _stuck(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._watch()
        else:
            self.transport.abort()  # closing would wait for the reader

    def _moved(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _refuse(self, status: HTTPStatus) -> None:
        """Say why, and hang up."""
        said = f"{status.phrase}.".encode()
        self.transport.write(
            b"HTTP/1.1 %d %s\r\ncontent-type: text/plain; charset=utf-8\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%s"
            % (status, status.phrase.encode(), len(said), said)
        )
        self.transport.close()

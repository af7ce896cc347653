"""Connections to one database: how they are opened, a few kept, some more, none across a fork."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from secrets import randbits
from typing import Any, TypedDict

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.adapt import AdaptersMap
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from remanence.errors import Closed, ConfigError, StoreBusy
from remanence.model import deadline, fork_safety
from remanence.store.quotas import Quotas
from remanence.store.words import Words

APPLICATION = "remanence"
TLS = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

_GRACE_S = 2.0
_CANCEL_S = 2.0
_STATEMENTS_KEPT = 300


class Habits(TypedDict, total=False):
    """What of `Settings` is not as usual."""

    pool_size: int
    overflow: int
    timeout_s: float
    statement_timeout_s: float
    tls: str
    migrate: bool
    words: Words
    quotas: Quotas


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How connections are opened."""

    url: str = field(repr=False)
    pool_size: int = 4
    overflow: int = 4
    timeout_s: float = 10.0
    statement_timeout_s: float = 30.0
    tls: str = "prefer"
    migrate: bool = True
    words: Words = field(default_factory=Words)
    quotas: Quotas = field(default_factory=Quotas)

    def __post_init__(self) -> None:
        if self.pool_size < 1 or self.overflow < 0:
            raise ConfigError("pool_size is 1 or more, overflow 0 or more.")
        if self.timeout_s <= 0 or self.statement_timeout_s <= 0:
            raise ConfigError("timeout_s and statement_timeout_s are more than 0.")
        if self.tls not in TLS:
            raise ConfigError(f"tls is one of {', '.join(TLS)}; not {self.tls!r}.")
        self._parts()

    @property
    def where(self) -> str:
        """The database in words, without login."""
        parts = self._parts()
        place = f"{parts.get('host') or 'localhost'}:{parts.get('port') or 5432}"
        return f"PostgreSQL {place}/{parts.get('dbname') or parts.get('user') or ''}"

    def conninfo(self) -> str:
        """What libpq is given; what the URL itself says comes first."""
        patience = max(2, math.ceil(self.timeout_s))
        ours: dict[str, Any] = {
            "application_name": APPLICATION,
            "client_encoding": "UTF8",
            "connect_timeout": patience,
            "keepalives_idle": 30,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "sslmode": self.tls,
            "tcp_user_timeout": patience * 1000,
        }
        return make_conninfo("", **(ours | self._parts() | {"application_name": APPLICATION}))

    def _parts(self) -> dict[str, Any]:
        try:
            return conninfo_to_dict(self.url)
        except psycopg.Error:
            # libpq's message would repeat what it could not read, which may be the password.
            raise ConfigError(
                "The store's URL cannot be read; write postgresql://user:password@host:5432/name."
            ) from None


class PatientConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that takes silence longer than its patience for a loss."""

    patience_s: float | None = None
    called_off = False  # the server was asked to stop a statement; when it hears that, nobody knows
    opened_by = 0  # the process
    writer = 0  # its name in the table `commits`
    marked: set[int]  # the tenants it has written for

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """As psycopg's, but not for ever."""
        if timeout is not None or self.patience_s is None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(_patiently(gen, self.patience_s, self._call_off), interval)
        except _Silence as error:
            self.pgconn.finish()
            raise psycopg.OperationalError("the server has fallen silent") from error

    def _call_off(self) -> None:
        """Have the server stop what it does, once the call it does it for is over."""
        if not self.called_off and deadline.over():
            self.called_off = True
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=_CANCEL_S)

    def execute(self, *given: Any, **options: Any) -> psycopg.Cursor[tuple[Any, ...]]:
        """As psycopg's. In a pipeline each statement is answered when it is done.

        The server would else keep its answers until the end, and seem silent all the while.
        """
        cursor = super().execute(*given, **options)
        if self.pgconn.pipeline_status:
            self.pgconn.send_flush_request()
        return cursor


class _Silence(Exception):
    """Nothing came for longer than the patience."""


def _patiently(gen: PQGen[RV], patience_s: float, waiting: Callable[[], None]) -> PQGen[RV]:
    """The same, until nothing has come or gone for so long; `waiting` is called now and then."""
    try:
        wanted = next(gen)
        while True:
            until = time.monotonic() + patience_s
            while not (ready := (yield wanted)):
                if time.monotonic() > until:
                    raise _Silence
                waiting()
                wanted = gen.send(ready)
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def connect(settings: Settings, types: AdaptersMap | None = None) -> PatientConnection:
    """A connection for short transactions: each is read-only and one snapshot unless it says so."""
    connection = _connected(settings, types)
    connection.patience_s = settings.statement_timeout_s + _GRACE_S
    _set(
        connection,
        statement_timeout=f"{int(settings.statement_timeout_s * 1000)}ms",
        lock_timeout=f"{int(settings.timeout_s * 1000)}ms",
        idle_in_transaction_session_timeout="5min",
        default_transaction_isolation="repeatable read",
        default_transaction_read_only="on",
        work_mem="32MB",
    )
    return connection


def connect_for_upkeep(settings: Settings, types: AdaptersMap | None = None) -> PatientConnection:
    """A connection for work that may take as long as it takes."""
    connection = _connected(settings, types)
    _set(connection, statement_timeout="0", idle_in_transaction_session_timeout="0")
    return connection


def _connected(settings: Settings, types: AdaptersMap | None) -> PatientConnection:
    connection = PatientConnection.connect(
        settings.conninfo(), autocommit=True, prepare_threshold=3, context=types
    )
    connection.prepared_max = _STATEMENTS_KEPT
    connection.opened_by = os.getpid()
    connection.writer, connection.marked = randbits(63), set()
    # A forked child inherits connections that it must not use, nor close, nor warn of.
    connection._pool = None
    return connection


def _set(connection: PatientConnection, **values: str) -> None:
    named = ", ".join("set_config(%s, %s, false)" for _ in values)
    given = [part for pair in values.items() for part in pair]
    connection.execute(f"SELECT {named}".encode(), given)


class Connections:
    """`pool_size` connections stay open; up to `overflow` more are opened and closed again."""

    def __init__(self, settings: Settings, types: AdaptersMap) -> None:
        self.settings = settings
        self._types = types
        self._gate = threading.Condition(threading.Lock())
        self._idle: list[PatientConnection] = []
        self._inherited: list[Any] = []
        self._opened = 0
        self._closed = False
        fork_safety.watch(self)

    @contextmanager
    def taken(self) -> Iterator[PatientConnection]:
        """A connection for one transaction; one that comes back unfit is dropped.

        One that a statement failed on is unfit: what came after it in the pipeline was skipped,
        preparations too, and psycopg believes that they were made.
        """
        connection = self._take()
        try:
            yield connection
        except psycopg.Error:
            connection.close()
            raise
        finally:
            self._give_back(connection)

    @contextmanager
    def fresh(self) -> Iterator[PatientConnection]:
        """A connection of one's own that waits as long as it takes."""
        self.check_open()
        connection = connect_for_upkeep(self.settings, self._types)
        try:
            yield connection
        finally:
            connection.close()

    def drop_idle(self) -> None:
        """Close what nobody uses: where one connection was lost, the others may be too."""
        with self._gate:
            stale, self._idle = self._idle, []
            self._opened -= len(stale)
        for connection in stale:
            connection.close()

    def close(self) -> None:
        """Close what is open; a connection in use closes when its user is done."""
        with self._gate:
            self._closed = True
            self._gate.notify_all()
        self.drop_idle()

    def check_open(self) -> None:
        """Refuse once closed."""
        if self._closed:
            raise Closed(f"{self.settings.where} is closed; open it again.")

    def before_fork(self) -> None:
        """Keep other threads from changing the pool meanwhile."""
        self._gate.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._gate.release()

    def after_fork_in_child(self) -> None:
        """Begin with none: those inherited are the parent's, and even a goodbye would reach it."""
        self._inherited += self._idle
        self._idle, self._opened = [], 0
        self._gate.release()
        self._gate = threading.Condition(threading.Lock())

    def _take(self) -> PatientConnection:
        until = time.monotonic() + deadline.left(self.settings.timeout_s)
        with self._gate:
            while True:
                self.check_open()
                if self._idle:
                    return self._idle.pop()
                if self._opened < self.settings.pool_size + self.settings.overflow:
                    self._opened += 1
                    break
                if not self._gate.wait(until - time.monotonic()):
                    deadline.check()
                    raise StoreBusy(
                        f"All {self._opened} connections to {self.settings.where} are in use; "
                        "try again, or raise pool_size or overflow."
                    )
        return self._open()

    def _open(self) -> PatientConnection:
        try:
            return connect(self.settings, self._types)
        except BaseException:
            self._count_out()
            raise

    def _give_back(self, connection: PatientConnection) -> None:
        if connection.opened_by != os.getpid():
            self._inherited.append(connection)
            return
        status = connection.info.transaction_status
        idle = status == psycopg.pq.TransactionStatus.IDLE and not connection.called_off
        with self._gate:
            keep = idle and not self._closed and len(self._idle) < self.settings.pool_size
            if keep:
                self._idle.append(connection)
                self._gate.notify()
        if not keep:
            with suppress(psycopg.Error):
                connection.close()
            self._count_out()

    def _count_out(self) -> None:
        with self._gate:
            self._opened -= 1
            self._gate.notify()

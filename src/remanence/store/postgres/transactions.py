"""Transactions that survive what a network and a server can do, and that happen exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from secrets import randbits
from typing import TypeVar

import psycopg

from remanence.errors import CommitUnknown, StoreBusy
from remanence.model import deadline
from remanence.store.postgres.arrays import texts
from remanence.store.postgres.faults import is_clash, is_lost, is_stale, translated
from remanence.store.postgres.opening import APPLICATION, Connections, PatientConnection
from remanence.store.postgres.session import Session, sql

T = TypeVar("T")

CHANNEL = "remanence"

_CLASHES = 3
_TOO_LONG = ("55P03", "57014")  # lock_timeout, statement_timeout
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.5


class Again(Exception):
    """Raised inside a write: what it found has changed; do it once more from the start."""


class _Doubtful(Exception):
    """The connection was lost in a commit: it may have happened or not."""

    def __init__(self, tenant: int, writer: int, token: int, result: object) -> None:
        super().__init__()
        self.tenant, self.writer, self.token, self.result = tenant, writer, token, result
        self.lost: psycopg.Error = psycopg.OperationalError("lost in a commit")


class Transactions:
    """Reads and writes, each of one tenant.

    What is given to them may run several times, and must change nothing but the database. A lost
    connection is replaced until `timeout_s` has passed; a commit that was cut off is looked up.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._where = connections.settings.where
        self._abandoned: set[int] = set()

    def read(self, tenant: int, work: Callable[[Session], T]) -> T:
        """Do it in one snapshot."""

        def once() -> T:
            with self._connections.taken() as connection, connection.pipeline():
                return work(Session(connection, tenant))

        with translated(self._where):
            return self._persistently(once)

    def write(
        self, find_tenant: Callable[[PatientConnection], int], work: Callable[[Session], T]
    ) -> T:
        """Do it in one durable transaction; `find_tenant` is asked inside it."""

        def once() -> T:
            with self._connections.taken() as connection:
                return self._write(connection, find_tenant, work)

        with translated(self._where):
            return self._persistently(once)

    def _persistently(self, once: Callable[[], T]) -> T:
        patience = _Patience(self._connections.settings.timeout_s)
        while True:
            try:
                return once()
            except Again:
                patience.clash()
            except _Doubtful as doubt:
                with deadline.unlimited():  # what was sent must be known before all else
                    happened = self._happened(doubt, patience)
                if happened:
                    deadline.committed()
                    return doubt.result  # type: ignore[return-value]
                patience.loss(doubt.lost)
            except psycopg.Error as error:
                if is_clash(error):
                    patience.clash(error)
                elif is_lost(error):
                    self._connections.drop_idle()
                    patience.loss(error)
                elif is_stale(error):
                    self._connections.drop_idle()
                    patience.clash(error)
                else:
                    raise

    def _write(
        self,
        connection: PatientConnection,
        find_tenant: Callable[[PatientConnection], int],
        work: Callable[[Session], T],
    ) -> T:
        attempt = _Attempt(connection)
        self._end_abandoned(connection)
        try:
            with connection.pipeline() as pipeline:
                connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
                session = Session(connection, find_tenant(connection))
                result = attempt.run(session, work)
                deadline.check()
                # Called off from here on, it either fails or was committed: both are told.
                connection.execute("COMMIT")
                pipeline.sync()
                attempt.committed = True
        except BaseException as error:
            _roll_back(connection)
            if not isinstance(error, psycopg.Error):
                raise
            if is_lost(error):
                self._abandoned.add(attempt.backend)
            if not attempt.committed:
                attempt.doubted(error)
                raise
        deadline.committed()
        self._ring(session)
        return result

    def _happened(self, doubt: _Doubtful, patience: _Patience) -> bool:
        """Whether that commit took place; waits for one that is still under way."""
        while True:
            try:
                with self._connections.taken() as connection:
                    self._end_abandoned(connection)
                    return _token(connection, doubt) == doubt.token
            except psycopg.Error as error:
                if not is_lost(error) and error.sqlstate not in _TOO_LONG:
                    raise
                self._connections.drop_idle()
                patience.doubt(error, self._where)

    def _end_abandoned(self, connection: PatientConnection) -> None:
        """A server that has not noticed the loss would hold the locks, or even still commit."""
        for backend in tuple(self._abandoned):
            asked = {"backend": backend, "application": APPLICATION}
            connection.execute(sql("end_backend").encode(), asked)
            self._abandoned.discard(backend)

    def _ring(self, session: Session) -> None:
        """Wake those who watch. After the commit: inside, it would make all commits queue up."""
        if session.touched:
            told = texts([f"{session.tenant}:{partition}" for partition in session.touched])
            with suppress(psycopg.Error):
                session.connection.execute(sql("ring"), {"channel": CHANNEL, "told": told})


class _Attempt:
    """One try at a write, and how far it came."""

    def __init__(self, connection: PatientConnection) -> None:
        self.backend = connection.info.backend_pid
        self.committed = False
        self._connection = connection
        self._token = randbits(63)
        self._doubt: _Doubtful | None = None

    def run(self, session: Session, work: Callable[[Session], T]) -> T:
        """Mark the write, do it, and be ready for the commit.

        The mark is known to be made before the commit is sent: its lock tells a commit that is
        under way from none.
        """
        writer = self._connection.writer
        mark = session.run("mark_commit", writer=writer, token=self._token)
        if session.tenant not in self._connection.marked:
            session.run("delete_old_marks")
            self._connection.marked.add(session.tenant)
        result = work(session)
        mark.fetchone()
        self._doubt = _Doubtful(session.tenant, writer, self._token, result)
        return result

    def doubted(self, error: psycopg.Error) -> None:
        """Raise the doubt that a loss leaves after the commit was sent."""
        if self._doubt is not None and is_lost(error):
            self._doubt.lost = error
            raise self._doubt from error


class _Patience:
    """How often to try again, and how long."""

    def __init__(self, timeout_s: float) -> None:
        self._deadline = time.monotonic() + timeout_s
        self._pause = _FIRST_PAUSE_S
        self._clashes = 0

    def clash(self, error: psycopg.Error | None = None) -> None:
        deadline.check()
        self._clashes += 1
        if self._clashes > _CLASHES:
            raise error or StoreBusy("Other writers were always faster; try again.")

    def loss(self, error: psycopg.Error) -> None:
        deadline.check()
        if not self._waited():
            raise error

    def doubt(self, error: psycopg.Error, where: str) -> None:
        if not self._waited():
            raise CommitUnknown(
                f"{where} was lost in a commit and has not come back: it is not known whether the "
                "write was kept. Look before you repeat it, or repeat it with its idempotency key."
            ) from error

    def _waited(self) -> bool:
        left = self._deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(self._pause, left))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
        return True


def _token(connection: PatientConnection, doubt: _Doubtful) -> object:
    """The last write of a lost connection that was committed, once none is under way."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE")
        session = Session(connection, doubt.tenant)
        session.run("await_commit", writer=doubt.writer)
        return session.value("commit_token", writer=doubt.writer)


def _roll_back(connection: PatientConnection) -> None:
    """End what our own error left open; what a statement failed in ends with its connection."""
    if connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS:
        with suppress(psycopg.Error), deadline.unlimited():
            connection.execute("ROLLBACK")

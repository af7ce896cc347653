"""Connections to one database: a few kept, some more under load, none across a fork."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.adapt import AdaptersMap

from remanence.errors import Closed, StoreBusy
from remanence.model import deadline, fork_safety
from remanence.store.postgres.opening import (
    PatientConnection,
    Settings,
    connect,
    connect_for_upkeep,
)


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

"""Notes of use: what was recalled and when, kept until a write can take them along."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime

from remanence.errors import StoreError
from remanence.ports.store import Archive

DUE = 1_000
HELD = 100_000


class Uses:
    """Queues uses, so that a search never writes. Thread-safe."""

    def __init__(self, archive: Archive, tenant: str) -> None:
        self._archive = archive
        self._tenant = tenant
        self._lock = threading.Lock()
        self._queued: list[tuple[str, datetime]] = []

    def note(self, ids: Iterable[str], at: datetime) -> None:
        """These memories were returned; past `HELD` notes the oldest are let go."""
        with self._lock:
            self._queued += [(id, at) for id in ids]
            del self._queued[:-HELD]

    def write_if_due(self) -> None:
        """Write the notes once there are many."""
        if len(self._queued) >= DUE:
            self.write()

    def write(self) -> None:
        """Write all notes; if that fails they stay queued."""
        with self._lock:
            taken, self._queued = self._queued, []
        if not taken:
            return
        try:
            self._archive.note_uses(self._tenant, taken)
        except StoreError:
            with self._lock:
                self._queued = taken + self._queued
            raise

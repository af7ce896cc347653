"""Notes of use: what was recalled, when and beside what, kept until somebody writes them down."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations

from remanence.errors import StoreError
from remanence.model.memory import Related
from remanence.model.ports.store import Store

DUE = 1_000
HELD = 20_000  # 4 MB
HELD_PAIRS = 10_000

TOGETHER = "used_together"
GAIN = 0.1  # of what is missing to 1, for each time
DAILY = 0.95  # what is left of it after a day without
FAINT = 0.01  # a link that has faded below this is none
QUESTIONS = 256  # whose useful memories are kept in mind
LEADING = 4  # how many of what a prompt recalled count as used with each other


class Uses:
    """Queues uses, so that a search never writes. Thread-safe."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._lock = threading.Lock()
        self._queued: list[tuple[str, datetime]] = []
        self._pairs: list[tuple[tuple[str, str], datetime]] = []
        self._useful: dict[str, list[str]] = {}

    def note(self, ids: Iterable[str], at: datetime) -> None:
        """These memories were returned; past `HELD` notes the oldest are let go."""
        with self._lock:
            self._queued += [(id, at) for id in ids]
            del self._queued[:-HELD]

    def note_together(self, ids: Sequence[str], at: datetime) -> None:
        """These memories served one purpose: each is drawn closer to the others."""
        pairs = combinations(sorted(set(ids[:LEADING])), 2)
        with self._lock:
            self._pairs += [(pair, at) for pair in pairs]
            del self._pairs[:-HELD_PAIRS]

    def note_useful(self, id: str, query: str, at: datetime) -> None:
        """This memory helped with a question: it belongs with what helped with it just before."""
        with self._lock:
            known = self._useful.pop(query, [])
            self._useful[query] = [*(one for one in known if one != id), id][-LEADING:]
            while len(self._useful) > QUESTIONS:
                del self._useful[next(iter(self._useful))]
            pairs = [(min(one, id), max(one, id)) for one in known if one != id]
            self._pairs += [(pair, at) for pair in pairs]
            del self._pairs[:-HELD_PAIRS]

    def write_if_due(self) -> None:
        """Write the notes once there are many."""
        if len(self._queued) >= DUE:
            self.write()

    def write(self) -> None:
        """Write all notes; if that fails they stay queued."""
        with self._lock:
            taken, self._queued = self._queued, []
            pairs, self._pairs = self._pairs, []
        try:
            if taken:
                self._store.archive.note_uses(self._tenant, taken)
                taken = []
            while pairs:
                at = pairs[0][1]
                now = [pair for pair, when in pairs if when == at]
                self._store.links.strengthen(
                    self._tenant, now, TOGETHER, at, gain=GAIN, daily=DAILY
                )
                pairs = [one for one in pairs if one[1] != at]
        except StoreError:
            with self._lock:
                self._queued = taken + self._queued
                self._pairs = pairs + self._pairs
            raise


def faded(found: Iterable[Related], now: datetime) -> list[Related]:
    """Links as strong as they are now, strongest first: what is used together no more fades."""
    weaker = [replace(one, strength=_left(one, now)) for one in found]
    return sorted(
        (one for one in weaker if one.type != TOGETHER or one.strength >= FAINT),
        key=lambda one: -one.strength,
    )


def _left(link: Related, now: datetime) -> float:
    if link.type != TOGETHER:
        return link.strength
    days = max((now - link.since).total_seconds(), 0.0) / 86_400
    return link.strength * float(DAILY**days)

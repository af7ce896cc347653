"""Time and ids, injected so that tests can simulate both."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    """Where `now` comes from."""

    def now(self) -> datetime:
        """The present, with a time zone."""


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        """The present in UTC."""
        return datetime.now(UTC)


class FixedClock:
    """A clock that stands still until it is moved; for tests and replays."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        """The moment the clock was set to."""
        return self.at


class IdMaker:
    """Makes UUIDv7 ids that never repeat and sort by creation, even when the clock jumps back."""

    def __init__(
        self,
        milliseconds: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._milliseconds = milliseconds
        self._entropy = entropy
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> UUID:
        """A new id."""
        random = int.from_bytes(self._entropy(10), "big")
        with self._lock:
            stamp = max(self._milliseconds() << 12 | random >> 68, self._last + 1)
            self._last = stamp
        high, low = stamp >> 12, stamp & 0xFFF
        value = (
            (high & (1 << 48) - 1) << 80 | 7 << 76 | low << 64 | 0b10 << 62 | random & (1 << 62) - 1
        )
        return UUID(int=value)

"""A breaker: it keeps callers away from a server that failed, so that it costs them nothing."""

from __future__ import annotations

from collections.abc import Callable

from remanence.forks import ForkSafeLock


class Breaker:
    """After a failure nobody enters for `rest_s`; then one caller tries for all. Thread-safe."""

    def __init__(self, rest_s: float, clock: Callable[[], float]) -> None:
        self._rest_s = rest_s
        self._clock = clock
        self._lock = ForkSafeLock()
        self._until: float | None = None
        self.why = ""

    def enter(self) -> bool:
        """Whether the caller may go on; it then says how it went with `succeed` or `fail`."""
        with self._lock:
            if self._until is None:
                return True
            now = self._clock()
            if now < self._until:
                return False
            self._until = now + self._rest_s
            return True

    def succeed(self) -> None:
        """The server answers: everybody may enter."""
        with self._lock:
            self._until, self.why = None, ""

    def fail(self, why: str) -> None:
        """The server does not: keep away from now on."""
        with self._lock:
            self._until, self.why = self._clock() + self._rest_s, why

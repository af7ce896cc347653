"""How often each caller may call, how much each may hold, and how long who guesses has to wait."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from remanence.errors import RateLimited
from remanence.server.problems import Overloaded

NAMES = 10_000  # callers whose buckets are kept; who called longest ago is dropped first
TENANT, KEY = 2, 4  # a tenant may hold half of what there is, a key a quarter
LONGEST_WAIT_S = 60.0
FORGOTTEN_S = 900.0  # after so long without a failure, the next is the first again


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Limits:
    """Counts the calls of each name. Thread-safe; each process counts for itself."""

    def __init__(self, per_minute: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, name: str, limit: int | None = None) -> float:
        """Count a call; seconds to wait before the next can pass, 0 if this one may.

        `limit` is the name's own, in calls a minute, in the place of the common one; 0: no limit.
        A call that must wait is not counted.
        """
        per_minute = self._per_minute if limit is None else limit
        if per_minute <= 0:
            return 0.0
        a_second = per_minute / 60
        with self._lock:
            bucket = self._filled(name, a_second, float(per_minute))
            if bucket.tokens < 1:
                return (1 - bucket.tokens) / a_second
            bucket.tokens -= 1
            return 0.0

    def _filled(self, name: str, a_second: float, most: float) -> _Bucket:
        now = self._monotonic()
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = _Bucket(most, now)
            while len(self._buckets) > NAMES:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(name)
        bucket.tokens = min(most, bucket.tokens + max(0.0, now - bucket.at) * a_second)
        bucket.at = now
        return bucket


class Shares:
    """What all callers hold together of something that has an end. Thread-safe.

    A key may hold a quarter and its tenant half, and nobody more than what is left for all
    others: so whoever comes next finds room, however many want all they can get.
    """

    def __init__(self, total: float, what: str, *, least: float = 1) -> None:
        self._total = max(total, 2 * least)
        self._key = max(self._total // KEY, least)
        self._tenant = max(self._total // TENANT, least)
        self._what = what
        self._lock = threading.Lock()
        self._held = 0.0
        self._keys: Counter[tuple[str, str]] = Counter()
        self._tenants: Counter[str] = Counter()

    def take(self, tenant: str, name: str, amount: int = 1) -> None:
        """Take some for a tenant's key; `RateLimited` or `Overloaded` where there is none."""
        with self._lock:
            key, own = self._keys[tenant, name] + amount, self._tenants[tenant] + amount
            if key > self._key or own > self._tenant:
                whose = "key" if key > self._key else "tenant"
                what = f"its share of {self._what}"
                raise RateLimited(f"This {whose} has {what}; wait for some to end.")
            if own > self._total - self._held:
                raise Overloaded(f"There is no room for more {self._what}; try again in a moment.")
            self._held += amount
            self._keys[tenant, name], self._tenants[tenant] = key, own

    def give(self, tenant: str, name: str, amount: int = 1) -> None:
        """Give some back."""
        with self._lock:
            self._held -= amount
            _less(self._keys, (tenant, name), amount)
            _less(self._tenants, tenant, amount)

    @property
    def in_use(self) -> float:
        """How much all callers hold."""
        return self._held

    @contextmanager
    def held(self, tenant: str, name: str) -> Iterator[None]:
        """One of them, while this lasts."""
        self.take(tenant, name)
        try:
            yield
        finally:
            self.give(tenant, name)


def _less(counts: Counter[Any], of: Hashable, amount: int) -> None:
    counts[of] -= amount
    if counts[of] <= 0:
        del counts[of]


@dataclass(slots=True)
class _Failures:
    count: int
    at: float
    until: float = 0.0


class Backoff:
    """Who fails again and again has to wait: a second, then two, four, … Thread-safe."""

    def __init__(self, free: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._free = free
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._failures: OrderedDict[Hashable, _Failures] = OrderedDict()

    def wait(self, who: Hashable) -> float:
        """Seconds until somebody's next try; 0: now."""
        with self._lock:
            known = self._failures.get(who)
            return 0.0 if known is None else max(0.0, known.until - self._monotonic())

    def failed(self, who: Hashable) -> float:
        """Count a failure; seconds that this one came too early, 0 if it did not."""
        with self._lock:
            now = self._monotonic()
            known = self._failures.get(who)
            if known is None or now - max(known.at, known.until) >= FORGOTTEN_S:
                known = self._failures[who] = _Failures(0, now)
                while len(self._failures) > NAMES:
                    self._failures.popitem(last=False)
            self._failures.move_to_end(who)
            if now < known.until:
                return known.until - now
            known.count, known.at = known.count + 1, now
            if known.count >= self._free:
                known.until = now + min(LONGEST_WAIT_S, 2.0 ** min(known.count - self._free, 30))
            return 0.0

    def forget(self, who: Hashable) -> None:
        """Somebody has succeeded."""
        with self._lock:
            self._failures.pop(who, None)

"""How often each caller may call: a bucket of a minute's calls that fills up again steadily."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

NAMES = 10_000  # callers whose buckets are kept; who called longest ago is dropped first


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

"""Bringing the engine's partitions to the store's position, one process at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from remanence.errors import Closed, IndexUnavailable
from remanence.index.follower.access import Access
from remanence.index.follower.engine import Engine, Points, points_of
from remanence.index.follower.source import FollowedSource
from remanence.model.embedding import Fingerprint
from remanence.ports.store import Change

FEW = 50  # feed entries after which a search looks whether the engine has moved on
MANY = 500  # more than these are not scored one by one
LOOK_S = 0.01
RECHECK_S = 0.25
FEED = 100
FILL = 1000
COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class Unseen:
    """Memories that an engine may not have as they are now; all of them if it was never filled."""

    keys: list[int]
    filled: bool


class Following:
    """Positions of partitions as this process last saw them, and the ways to move them.

    Two processes that apply the same changes at once could let an old point land after its
    removal; so whoever moves a partition is alone at it. A position is read again `RECHECK_S`
    after it was seen: for so long another process may have emptied the partition unnoticed.
    """

    def __init__(
        self, source: FollowedSource, fingerprint: Fingerprint, engine: Engine, collection: str
    ) -> None:
        self._source, self._fingerprint, self._collection = source, fingerprint, collection
        self._seen: dict[int, tuple[int, float]] = {}
        self.access = Access(engine, collection, fingerprint.dimension, self.forget)
        self.touched: set[int] = set()
        self.stopping = threading.Event()

    def unseen(self, partition: int) -> Unseen:
        """What the engine may not have as it is now.

        `IndexUnavailable` if these are too many to be scored one by one.
        """
        newest, at = self._source.position(partition), self._recent(partition)
        if not newest or at == newest:
            return Unseen([], filled=newest > 0)
        self.touched.add(partition)
        known = 0 <= at < newest
        changes = self._source.changes(partition, at, FEW + 1) if known else []
        if not known or len(changes) > FEW:
            return self._since_the_engine(partition)
        return Unseen(_keys(changes), filled=True)

    def _since_the_engine(self, partition: int) -> Unseen:
        """What is new after the position that the engine itself has by now, if it has any."""
        at = self._read(partition)
        changes = self._source.changes(partition, at or 0, MANY + 1)
        if len(changes) > MANY:
            lacks = "is being filled" if at is None else f"lacks more than {MANY} changes"
            raise _behind(f"partition {partition} {lacks}")
        return Unseen(_keys(changes), filled=at is not None)

    def bring(self, partition: int) -> bool:
        """Bring a partition up to date from however far; False if another process is at it."""
        self.touched.add(partition)
        newest = self._source.position(partition)
        if self._recent(partition) == newest or (self._read(partition) or 0) >= newest:
            return True
        with self._alone(partition) as mine:
            if mine:
                self._apply(partition)
        return mine

    def renew(self, partition: int) -> bool:
        """Fill a partition anew if it does not have as many points as the store has pieces."""
        with self._alone(partition) as mine:
            if mine:
                self._apply(partition)
                held = sum(1 for _ in self._source.scan_vectors(self._fingerprint, partition))
                with self.access.engine() as engine:
                    if engine.count(partition) != held:
                        self._fill(partition)
        return mine

    def behind(self) -> int:
        """Feed entries that the engine has not seen, of the partitions known here."""
        return sum(self._unseen(partition) for partition in tuple(self.touched))

    def forget(self) -> None:
        """Look at the engine again before believing what was seen of it."""
        self._seen = {partition: (at, 0.0) for partition, (at, _) in self._seen.items()}

    def _unseen(self, partition: int) -> int:
        at, _ = self._seen.get(partition, (0, 0.0))
        if at >= self._source.position(partition):
            return 0
        return len(self._source.changes(partition, at, COUNTED))

    def _recent(self, partition: int) -> int:
        at, when = self._seen.get(partition, (-1, 0.0))
        return at if time.monotonic() - when < RECHECK_S else -1

    def _read(self, partition: int) -> int | None:
        """The engine's position; None too if it is ahead of a store that was set back in time."""
        with self.access.engine() as engine:
            at = engine.position(partition)
        newest = self._source.position(partition)  # 0 also of one not named here yet
        if at is None or 0 < newest < at:
            at = None
            self._seen.pop(partition, None)
        else:
            self._note(partition, at)
        return at

    def _note(self, partition: int, at: int) -> None:
        self._seen[partition] = (at, time.monotonic())

    @contextmanager
    def _alone(self, partition: int) -> Iterator[bool]:
        with self._source.alone(f"follow:{self._collection}:{partition}") as mine:
            yield mine

    def _apply(self, partition: int) -> None:
        at = self._read(partition)
        if at is None:
            at = self._fill(partition)
        newest = self._source.position(partition)
        while changes := self._source.changes(partition, at, FEED):
            self._stop_if_asked()
            at = changes[-1].seq
            self._replace(partition, changes)
        if at < newest:
            with self.access.engine() as engine:
                engine.set_position(partition, newest)
            self._note(partition, newest)

    def _replace(self, partition: int, changes: list[Change]) -> None:
        keys = _keys(changes)
        pieces = self._source.pieces(self._fingerprint, partition, keys)
        points = self._points((piece.key, piece.part, piece.vector) for piece in pieces)
        with self.access.engine() as engine:
            engine.replace(partition, keys, points, changes[-1].seq)
        self._note(partition, changes[-1].seq)

    def _fill(self, partition: int) -> int:
        """Fill the partition from nothing; the position is one from before the reading began."""
        at, filled = self._source.position(partition), 0
        with self.access.engine() as engine:
            self._seen.pop(partition, None)
            engine.clear(partition)
            self._seen.pop(partition, None)  # a search may have seen it meanwhile
            scan = self._source.scan_vectors(self._fingerprint, partition)
            while len(points := self._points(islice(scan, FILL))):
                self._stop_if_asked()
                engine.upsert(partition, points)
                filled += len(points)
            if engine.count(partition) != filled:
                raise _behind(f"partition {partition} was emptied while it was being filled")
            engine.set_position(partition, at)
        self._note(partition, at)
        return at

    def _stop_if_asked(self) -> None:
        if self.stopping.is_set():
            raise Closed(
                "The index is closed; whoever next asks for the partition goes on with it."
            )

    def _points(self, found: Iterable[tuple[int, int, bytes]]) -> Points:
        return points_of(found, self._fingerprint.dimension)


def _keys(changes: Iterable[Change]) -> list[int]:
    return sorted({change.key for change in changes})


def _behind(why: str) -> IndexUnavailable:
    return IndexUnavailable(
        f"The vector index is behind the store: {why}. It catches up by itself; "
        "until then the store's own vectors are searched."
    )

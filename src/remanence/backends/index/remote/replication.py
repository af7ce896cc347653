"""Bringing the engine's partitions to the store's position, one process at a time, in a thread."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from remanence.backends.index.remote.engine import Engine, EngineDown, Points, Refused, points_of
from remanence.errors import Closed, IndexUnavailable, RemanenceError
from remanence.model.embedding import Fingerprint
from remanence.model.ports.store import Change, Store

FEW = 50  # feed entries after which a search looks whether the engine has moved on
MANY = 500  # more than these are not scored one by one
LOOK_S = 0.01
RECHECK_S = 0.25
FEED = 100
FILL = 1000
COUNTED = 100_000
PAUSE_S = 1.0
WATCH_S = 0.2
_log = logging.getLogger(__name__)


class Access:
    """Lets callers to the engine, one failure at most.

    While it is shut, callers are refused at once instead of waiting for a time-out each; `probe`
    opens it again. A request that is `Refused` by itself shuts nothing. `lost` is called at each
    failure: nothing known of the engine holds any more.
    """

    def __init__(
        self, engine: Engine, collection: str, dimension: int, lost: Callable[[], None]
    ) -> None:
        self._engine, self._collection, self._dimension = engine, collection, dimension
        self._lost = lost
        self._lock = threading.Lock()
        self._ensured = False
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why it is shut; empty while it is open."""
        return self._problem

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """The engine, ready for use; its failures become `IndexUnavailable`."""
        if self._problem:
            raise _unavailable(self._problem)
        try:
            self._ensure()
            yield self._engine
        except Refused as error:
            raise _unavailable(str(error)) from error
        except EngineDown as error:
            self._shut(str(error))
            raise _unavailable(str(error)) from error

    def probe(self) -> bool:
        """Try the engine, shut or not; whether it answers."""
        try:
            self._ensure()
        except EngineDown as error:
            self._shut(str(error))
            return False
        self._problem = ""
        return True

    def _ensure(self) -> None:
        if self._ensured:
            return
        with self._lock:
            if not self._ensured:
                self._engine.ensure(self._collection, self._dimension)
                self._ensured = True

    def _shut(self, problem: str) -> None:
        with self._lock:
            self._ensured = False
            self._problem = problem or "it failed without a word"
        self._lost()

    def remake(self) -> None:
        """Drop the collection and make it anew, empty."""
        with self.engine() as engine:
            engine.drop()
            self._lost()
            engine.ensure(self._collection, self._dimension)


def _unavailable(problem: str) -> IndexUnavailable:
    return IndexUnavailable(
        f"The vector index does not answer: {problem}. It is tried again every second and catches "
        "up by itself; until then the store's own vectors are searched."
    )


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
        self, source: Store, fingerprint: Fingerprint, engine: Engine, collection: str
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
        newest, at = self._source.recall.position(partition), self._recent(partition)
        if not newest or at == newest:
            return Unseen([], filled=newest > 0)
        self.touched.add(partition)
        known = 0 <= at < newest
        changes = self._source.recall.changes(partition, at, FEW + 1) if known else []
        if not known or len(changes) > FEW:
            return self._since_the_engine(partition)
        return Unseen(_keys(changes), filled=True)

    def _since_the_engine(self, partition: int) -> Unseen:
        """What is new after the position that the engine itself has by now, if it has any."""
        at = self._read(partition)
        changes = self._source.recall.changes(partition, at or 0, MANY + 1)
        if len(changes) > MANY:
            lacks = "is being filled" if at is None else f"lacks more than {MANY} changes"
            raise _behind(f"partition {partition} {lacks}")
        return Unseen(_keys(changes), filled=at is not None)

    def bring(self, partition: int) -> bool:
        """Bring a partition up to date from however far; False if another process is at it."""
        self.touched.add(partition)
        newest = self._source.recall.position(partition)
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
                held = sum(1 for _ in self._source.vectors.scan(self._fingerprint, partition))
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
        if at >= self._source.recall.position(partition):
            return 0
        return len(self._source.recall.changes(partition, at, COUNTED))

    def _recent(self, partition: int) -> int:
        at, when = self._seen.get(partition, (-1, 0.0))
        return at if time.monotonic() - when < RECHECK_S else -1

    def _read(self, partition: int) -> int | None:
        """The engine's position; None too if it is ahead of a store that was set back in time."""
        with self.access.engine() as engine:
            at = engine.position(partition)
        newest = self._source.recall.position(partition)  # 0 also of one not named here yet
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
        with self._source.upkeep.alone(f"follow:{self._collection}:{partition}") as mine:
            yield mine

    def _apply(self, partition: int) -> None:
        at = self._read(partition)
        if at is None:
            at = self._fill(partition)
        newest = self._source.recall.position(partition)
        while changes := self._source.recall.changes(partition, at, FEED):
            self._stop_if_asked()
            at = changes[-1].seq
            self._replace(partition, changes)
        if at < newest:
            with self.access.engine() as engine:
                engine.set_position(partition, newest)
            self._note(partition, newest)

    def _replace(self, partition: int, changes: list[Change]) -> None:
        keys = _keys(changes)
        pieces = self._source.vectors.pieces(self._fingerprint, partition, keys)
        points = self._points((piece.key, piece.part, piece.vector) for piece in pieces)
        with self.access.engine() as engine:
            engine.replace(partition, keys, points, changes[-1].seq)
        self._note(partition, changes[-1].seq)

    def _fill(self, partition: int) -> int:
        """Fill the partition from nothing; the position is one from before the reading began."""
        at, filled = self._source.recall.position(partition), 0
        with self.access.engine() as engine:
            self._seen.pop(partition, None)
            engine.clear(partition)
            self._seen.pop(partition, None)  # a search may have seen it meanwhile
            scan = self._source.vectors.scan(self._fingerprint, partition)
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


class Worker:
    """Runs from the first use to `stop`; a forked child makes one of its own."""

    def __init__(self, source: Store, following: Following) -> None:
        self._source, self._following = source, following
        self._lock = threading.Lock()
        self._owed: set[int] = set()
        self._doubted: set[int] = set()
        self._stopping = following.stopping
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if not begun."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="remanence-follower", daemon=True
                )
                self._thread.start()

    def owe(self, partition: int) -> None:
        """This partition must be brought up to date."""
        with self._lock:
            self._owed.add(partition)

    def doubt(self, partition: int) -> None:
        """The engine gave fewer points of this partition than the store has: look into it."""
        with self._lock:
            self._doubted.add(partition)

    @property
    def owed(self) -> set[int]:
        """Partitions that wait."""
        with self._lock:
            return self._owed | self._doubted

    def stop(self, within_s: float) -> None:
        """End the thread; what is owed is found again by whoever next asks for it."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(within_s)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._turn()
            except Closed:
                return
            except RemanenceError as error:
                _log.info("the vector index waits: %s", error)
                self._stopping.wait(PAUSE_S)

    def _turn(self) -> None:
        following = self._following
        if following.access.problem and not following.access.probe():
            self._stopping.wait(PAUSE_S)
            return
        failed: IndexUnavailable | None = None
        for waiting, act in ((self._owed, following.bring), (self._doubted, following.renew)):
            for partition in self._listed(waiting):
                if self._stopping.is_set():
                    return
                try:
                    if act(partition):
                        self._settle(waiting, partition)
                except IndexUnavailable as error:
                    failed = error
                    if following.access.problem:
                        break
        for partition in self._source.recall.watch(WATCH_S):
            self.owe(partition)
        if failed is not None:
            raise failed

    def _listed(self, waiting: set[int]) -> list[int]:
        with self._lock:
            return sorted(waiting)

    def _settle(self, waiting: set[int], partition: int) -> None:
        with self._lock:
            waiting.discard(partition)

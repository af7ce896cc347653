"""The way to the engine: shut after a failure, until the engine answers again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from remanence.errors import IndexUnavailable
from remanence.index.follower.engine import Engine, EngineDown, Refused


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

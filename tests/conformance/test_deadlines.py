"""A call that takes too long is stopped and undone, wherever it is; what was committed is not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from remanence.api.memory import Memory
from remanence.errors import Cancelled, DeadlineExceeded, StoreBusy
from remanence.model import deadline
from remanence.model.deadline import Deadline
from remanence.testing.patience import HANG_S


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "sqlite":
        database = str(tmp_path / "memory.db")
    else:
        database = str(request.getfixturevalue("postgres_url"))
    with Memory(database, embedder="none") as made:
        yield made


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def slow(memory: Memory) -> Callable[[], Any]:
    """A statement that goes on for as long as nobody stops it, on the store's own connection."""
    store: Any = memory.parts.store
    if store.upkeep.kind == "sqlite":
        endless = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        )

        def read() -> Any:
            with store._database.reading() as connection:
                return connection.execute(endless).fetchall()

        return read
    return lambda: store._database.read_names(
        lambda session: session.execute("SELECT pg_sleep(3600)", {}).fetchall()
    )


def test_a_statement_of_the_store_is_stopped(memory: Memory) -> None:
    memory.add("before")
    with (
        pytest.raises(DeadlineExceeded, match="nothing was changed"),
        deadline.within(Deadline(0.2)),
    ):
        slow(memory)()
    assert memory.count() == 1
    memory.add("after")
    assert memory.count() == 2


def test_a_statement_is_stopped_when_it_is_cancelled(memory: Memory) -> None:
    memory.add("before")
    end = Deadline()
    threading.Timer(0.2, end.cancel).start()
    with pytest.raises(Cancelled), deadline.within(end):
        slow(memory)()
    assert memory.add("after").text == "after"


def test_a_write_that_is_too_late_was_never_made(memory: Memory) -> None:
    """Time runs out inside the transaction, at whatever point of it."""
    memory.add("before")
    texts = [f"memory {n}" for n in range(20)]
    for step in range(1, 40):
        reads = iter(range(10**9))
        end = Deadline(step, monotonic=lambda reads=reads: float(next(reads)))  # type: ignore[misc]
        failed: list[bool] = []
        try:
            with deadline.within(end):
                memory.add_many(texts, idempotency_key="one key")
        except DeadlineExceeded as error:
            failed.append(error.committed)
        if not failed:
            break
        assert failed == [False]
        assert memory.count() == 1
    assert memory.count() in (1, 21)
    assert len(memory.add_many(texts, idempotency_key="one key")) == 20
    assert memory.count() == 21


def test_waiting_for_another_writer_counts(memory: Memory) -> None:
    memory.add("before")
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with holding(memory):
            held.set()
            go_on.wait(HANG_S)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(HANG_S)
    try:
        with pytest.raises(DeadlineExceeded), deadline.within(Deadline(0.3)):
            memory.update(memory.find()[0].id, text="after")
    finally:
        go_on.set()
        thread.join(HANG_S)
    assert memory.find()[0].text == "before"


def holding(memory: Memory) -> Any:
    """The write lock of a file; in a database, the rows of its memories."""
    store: Any = memory.parts.store
    if store.upkeep.kind == "sqlite":
        return store._database.writing()
    return RowsLocked(store)


class RowsLocked:
    """Every row of the memories, locked by a connection beside the store's."""

    def __init__(self, store: Any) -> None:
        self._connections = store._database.connections

    def __enter__(self) -> None:
        self._held = self._connections.fresh()
        self._connection = self._held.__enter__()
        self._connection.execute("BEGIN READ WRITE")
        self._connection.execute("SELECT set_config('remanence.tenant', '1', false)")
        self._connection.execute("SELECT pg_advisory_lock(k) FROM (VALUES (1)) AS t(k)")
        self._connection.execute("LOCK TABLE memories IN ACCESS EXCLUSIVE MODE")

    def __exit__(self, *_: object) -> None:
        self._connection.execute("ROLLBACK")
        self._held.__exit__(None, None, None)


def test_what_was_committed_is_not_called_off(memory: Memory) -> None:
    memory.add("before")
    clock = Clock()
    end = Deadline(10, monotonic=clock)
    with deadline.within(end):
        clock.now = 9.0
        memory.add("kept")
        clock.now = 15.0  # past the first end, not past the second
        assert memory.count() == 2
        clock.now = 25.0
        with pytest.raises(DeadlineExceeded, match="stays") as stopped:
            memory.add("too late")
    assert stopped.value.committed
    assert [one.text for one in memory.find()] == ["kept", "before"]


def test_without_a_deadline_a_busy_store_is_busy(tmp_path: Path) -> None:
    with Memory(str(tmp_path / "m.db"), embedder="none", busy_timeout_s=0.1) as memory:
        memory.add("before")
        held, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            with holding(memory):
                held.set()
                go_on.wait(HANG_S)

        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(HANG_S)
        with pytest.raises(StoreBusy):
            memory.add("after")
        go_on.set()
        thread.join(HANG_S)


def test_analysis_of_a_long_text_is_stopped() -> None:
    with Memory(":memory:", embedder="none") as memory:
        began = time.thread_time()
        with pytest.raises(DeadlineExceeded), deadline.within(Deadline(0.0)):
            memory.add("Ana Maria Bell met Bea. " * 20_000)
        assert memory.count() == 0
        assert time.thread_time() - began < HANG_S

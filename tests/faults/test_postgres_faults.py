"""A PostgreSQL server that is killed, and a network that hangs, cuts and forgets."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from remanence.errors import CommitUnknown, StoreFull, StoreUnavailable
from remanence.model.clock import SystemClock
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.server.idempotency import KeyTaken, Once
from remanence.store.postgres import PostgresStore
from remanence.store.postgres.session import Session
from remanence.testing.patience import HANG_S, until
from remanence.testing.store_suites.making import (
    NOW,
    add,
    block,
    healthy,
    memory,
    partition_of,
    pieces,
    put,
)
from support.services.postgres import Postgres

KILLS = 20
WRITERS = 4
BLOCK = 1 << 16
COMMIT = b"COMMIT\0"


class Writer(threading.Thread):
    """Adds memories, counts uses, puts a document; what was acknowledged must be so, and once."""

    def __init__(self, store: PostgresStore, number: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._store, self._tenant, self._stopped = store, f"t{number}", stop
        self.acknowledged: list[MemoryRecord] = []
        self.uses = 0
        self.puts = 0
        self.doubtful = 0
        self.failures: list[BaseException] = []
        self.counter = add(store, memory("counter", self._tenant))[0]

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                self.write()
        except BaseException as failure:
            self.failures.append(failure)

    def write(self) -> None:
        record = memory("tea", self._tenant, metadata={"n": len(self.acknowledged)})
        try:
            self.acknowledged += add(self._store, record, made=pieces())
            self._store.archive.note_uses(self._tenant, [(self.counter.id, NOW)])
            self.uses += 1
            told = {"value": {"n": self.puts}, "expected": self.puts, "keep": True}
            put(self._store, block("counter"), tenant=self._tenant, **told)
            self.puts += 1
        except StoreUnavailable:
            self.doubtful += 1

    def check(self) -> None:
        found = self._store.archive.get(self._tenant, [one.id for one in self.acknowledged])
        assert found == self.acknowledged
        (counter,) = self._store.archive.get(self._tenant, [self.counter.id])
        assert self.uses <= counter.uses <= self.uses + self.doubtful
        (document,) = self._store.documents.get(self._tenant, [block("counter")])
        editions = self._store.documents.editions(self._tenant, block("counter"))
        assert [one.value["n"] for one in editions] == list(range(self.puts))
        assert (document.version, document.value) == (self.puts, editions[-1].value)
        there = self._store.archive.count(Reach(tenant=self._tenant)) - 1
        assert len(self.acknowledged) <= there <= len(self.acknowledged) + self.doubtful


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(
    private_postgres: Callable[..., Postgres],
) -> None:
    server = private_postgres()
    store = PostgresStore(server.database(), timeout_s=HANG_S)
    stop = threading.Event()
    writers = [Writer(store, number, stop) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(KILLS):
        before = sum(len(writer.acknowledged) for writer in writers)
        until(
            lambda enough=before + 20: (
                any(writer.failures for writer in writers)  # type: ignore[misc]
                or sum(len(writer.acknowledged) for writer in writers) >= enough
            )
        )
        server.kill()
        server.restart()
    stop.set()
    for writer in writers:
        writer.join()
        assert writer.failures == []
        assert writer.doubtful == 0
        writer.check()
    assert healthy(store)
    store.close()


class Proxy:
    """Stands between store and server, and does to the bytes what a test wants."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._server = (parts.hostname, parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        login = parts.netloc.rpartition("@")[0]
        self.url = parts._replace(netloc=f"{login}@127.0.0.1:{port}", query="sslmode=disable")
        self.on_commit: list[Callable[[socket.socket, socket.socket, bytes], bool]] = []
        self.silent = threading.Event()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def reset_all(self) -> None:
        """Every connection ends at once, as when a machine loses its power."""
        for one in self._sockets:
            reset(one)
        self._sockets = []

    def close(self) -> None:
        reset(self._listener)
        self.reset_all()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                for ends in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        with suppress(OSError):
            while data := source.recv(BLOCK):
                if self.silent.is_set():
                    continue
                if asks and COMMIT in data and self.on_commit:
                    if not self.on_commit.pop()(source, target, data):
                        return
                    continue
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def reset(one: socket.socket) -> None:
    with suppress(OSError):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)  # wakes who reads from it; until then it is not closed
    one.close()


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    PostgresStore(postgres_url).close()
    made = Proxy(postgres_url)
    yield made
    made.close()


@pytest.fixture
def store(proxy: Proxy) -> Iterator[PostgresStore]:
    opened = PostgresStore(proxy.url.geturl(), timeout_s=2, statement_timeout_s=1)
    yield opened
    opened.close()


def test_connections_that_are_cut_are_replaced(store: PostgresStore, proxy: Proxy) -> None:
    (record,) = add(store, memory("before"))
    for number in range(5):
        proxy.reset_all()
        assert store.archive.get("t", [record.id]) == [record]
        proxy.reset_all()
        add(store, memory(f"after {number}"))
    assert store.archive.count(Reach(tenant="t")) == 6
    assert healthy(store)


def test_a_server_that_falls_silent_is_given_up_in_time(store: PostgresStore, proxy: Proxy) -> None:
    (record,) = add(store, memory("before"))
    partition = partition_of(store)
    proxy.silent.set()
    acts: list[Callable[[], object]] = [
        lambda: store.archive.get("t", [record.id]),
        lambda: store.recall.position(partition),
        lambda: add(store, memory("lost")),
        lambda: PostgresStore(proxy.url.geturl(), timeout_s=2),
    ]
    for act in acts:
        with pytest.raises(StoreUnavailable):
            act()
    proxy.silent.clear()
    proxy.reset_all()
    assert store.archive.get("t", [record.id]) == [record]
    assert store.archive.count(Reach(tenant="t")) == 1


def test_a_commit_whose_answer_is_lost_is_found_to_be_done(
    store: PostgresStore, proxy: Proxy
) -> None:
    add(store, memory("first"))

    def forward_and_cut(client: socket.socket, server: socket.socket, data: bytes) -> bool:
        server.sendall(data)
        reset(client)
        return False

    proxy.on_commit.append(forward_and_cut)
    record = memory("once")
    assert add(store, record, made=pieces()) == [record]
    assert proxy.on_commit == []
    assert store.archive.get("t", [record.id]) == [record]
    assert store.archive.count(Reach(tenant="t")) == 2
    assert healthy(store)


def test_a_commit_that_never_arrived_is_done_again(store: PostgresStore, proxy: Proxy) -> None:
    (first,) = add(store, memory("first"))

    def cut(client: socket.socket, server: socket.socket, data: bytes) -> bool:
        reset(client)
        reset(server)
        return False

    proxy.on_commit += [cut, cut]
    store.archive.note_uses("t", [(first.id, NOW)])
    assert proxy.on_commit == []
    assert store.archive.get("t", [first.id])[0].uses == 1
    proxy.on_commit.append(cut)
    record = memory("once")
    assert add(store, record) == [record]
    assert store.archive.count(Reach(tenant="t")) == 2


def test_a_commit_that_never_arrives_is_given_up_in_time(
    store: PostgresStore, proxy: Proxy
) -> None:
    add(store, memory("first"))

    def cut(client: socket.socket, server: socket.socket, data: bytes) -> bool:
        reset(client)
        reset(server)
        return False

    def let_it_be_looked_up(client: socket.socket, server: socket.socket, data: bytes) -> bool:
        server.sendall(data)
        return True

    proxy.on_commit += [let_it_be_looked_up, cut] * 500
    with pytest.raises(StoreUnavailable):
        add(store, memory("never"))
    assert len(proxy.on_commit) > 900
    proxy.on_commit.clear()
    assert store.archive.count(Reach(tenant="t")) == 1


def test_many_statements_may_take_longer_together(store: PostgresStore) -> None:
    """Each is within `statement_timeout_s`, all of them are sent at once."""
    add(store, memory("first"))

    def work(session: Session) -> None:
        for _ in range(5):
            session.execute("SELECT pg_sleep(0.8)", ())

    store._database.write("t", work)


def test_a_commit_that_is_still_under_way_is_waited_for(store: PostgresStore, proxy: Proxy) -> None:
    """The client is cut off first; the server gets the commit half a second later."""
    (first,) = add(store, memory("first"))

    def cut_and_forward_later(client: socket.socket, server: socket.socket, data: bytes) -> bool:
        reset(client)
        time.sleep(0.5)
        with suppress(OSError):
            server.sendall(data)
        return True

    proxy.on_commit.append(cut_and_forward_later)
    store.archive.note_uses("t", [(first.id, NOW)])
    assert store.archive.get("t", [first.id])[0].uses == 1


def test_a_commit_whose_outcome_cannot_be_known_says_so(store: PostgresStore, proxy: Proxy) -> None:
    add(store, memory("first"))

    def forward_and_fall_silent(client: socket.socket, server: socket.socket, data: bytes) -> bool:
        proxy.silent.set()
        server.sendall(data)
        return True

    proxy.on_commit.append(forward_and_fall_silent)
    with pytest.raises(StoreUnavailable, match="not known"):
        add(store, memory("perhaps"))
    proxy.silent.clear()
    proxy.reset_all()
    assert store.archive.count(Reach(tenant="t")) == 2


def test_a_key_stays_taken_where_nobody_knows_whether_its_write_was_kept(
    store: PostgresStore, proxy: Proxy
) -> None:
    once, done = Once(store.documents, SystemClock()), []

    def forward_and_fall_silent(client: socket.socket, server: socket.socket, data: bytes) -> bool:
        proxy.silent.set()
        server.sendall(data)
        return True

    def work() -> bytes:
        done.append("once more")
        proxy.on_commit.append(forward_and_fall_silent)
        try:
            add(store, memory("perhaps"))
        finally:  # it is back in time for whatever comes next
            proxy.silent.clear()
            proxy.reset_all()
        return b"{}"

    with pytest.raises(CommitUnknown):
        once.run("t", "a key", b"asked", work)
    with pytest.raises(KeyTaken, match="has no answer yet"):
        once.run("t", "a key", b"asked", work)
    assert (len(done), store.archive.count(Reach(tenant="t"))) == (1, 1)


def test_a_watcher_survives_a_cut(store: PostgresStore, proxy: Proxy) -> None:
    add(store, memory("a"))
    partition = partition_of(store)
    while store.recall.watch(0):
        pass
    proxy.reset_all()
    assert store.recall.watch(2) == [partition]
    while store.recall.watch(0):
        pass
    add(store, memory("b"))
    assert store.recall.watch(5) == [partition]


def test_a_server_that_comes_back_is_waited_for(private_postgres: Callable[..., Postgres]) -> None:
    server = private_postgres()
    store = PostgresStore(server.database(), timeout_s=HANG_S)
    (record,) = add(store, memory("before"))
    server.kill()
    restarting = threading.Timer(0.5, server.restart)
    restarting.start()
    assert store.archive.get("t", [record.id]) == [record]
    add(store, memory("after"))
    restarting.join()
    store.close()


def test_a_full_disk_is_named(postgres_url: str) -> None:
    """A server cannot be given a small disk here; its code for one is all there is to translate."""
    store = PostgresStore(postgres_url)
    add(store, memory("x"))

    def fill(session: Session) -> None:
        session.execute("DO $$ BEGIN RAISE 'no space' USING ERRCODE = '53100'; END $$", ())

    with pytest.raises(StoreFull, match="No space left"):
        store._database.write("t", fill)
    assert store.archive.count(Reach(tenant="t")) == 1
    store.close()

"""No text is analysed, embedded or read for facts while a write transaction is open."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import apsw
import pytest

from remanence import Memory
from remanence.model.clock import FixedClock
from remanence.model.memory import MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.write import Batch, Insert, Revise
from remanence.store.postgres import PostgresStore
from remanence.store.postgres.transactions import Transactions
from remanence.store.sqlite import SqliteStore, doctor
from remanence.store.sqlite.connections import Connections
from remanence.store.words import Analysis
from remanence.testing.store_suites.making import healthy
from remanence.tools.transfer.exports import export_memory
from remanence.tools.transfer.imports import import_memory
from support.services.postgres import Databases

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
ANALYTIC = (
    "remanence.language.",
    "remanence.language.english.extraction.",
    "remanence.backends.embedding.",
)
TALK = [
    {"role": "user", "content": "I moved to Lisbon in March with my sister Ana."},
    {"role": "assistant", "content": "How is work at Acme going?"},
    {"role": "user", "content": "I left Acme last week and I love the sea."},
]


class Watch:
    """What analytic functions were called on this thread inside a transaction, and outside."""

    def __init__(self) -> None:
        self.open = 0
        self.inside: list[str] = []
        self.outside: set[str] = set()
        self._thread = threading.get_ident()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        mine = threading.get_ident() == self._thread
        self.open += mine
        try:
            yield
        finally:
            self.open -= mine

    def called(self, frame: FrameType, event: str, _argument: Any) -> None:
        module = str(frame.f_globals.get("__name__"))
        if event == "call" and module.startswith(ANALYTIC):
            name = f"{module}.{frame.f_code.co_name}"
            if self.open:
                self.inside.append(name)
            else:
                self.outside.add(name)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Sees each Python function that is called, whoever imported it under which name."""
    watch = Watch()
    writing, write = Connections.writing, Transactions._write

    @contextmanager
    def watched_writing(self: Connections) -> Iterator[Any]:
        with writing(self) as connection, watch.transaction():
            yield connection

    def watched_write(self: Transactions, *arguments: Any) -> Any:
        with watch.transaction():
            return write(self, *arguments)

    monkeypatch.setattr(Connections, "writing", watched_writing)
    monkeypatch.setattr(Transactions, "_write", watched_write)
    yield watch
    sys.setprofile(None)


@pytest.fixture(scope="module")
def database(postgres: Databases) -> Iterator[str]:
    url = postgres.database()
    PostgresStore(url).close()
    yield url
    postgres.drop(url)


@pytest.fixture
def where(kept_in: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kept_in == "sqlite":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("database"))


@pytest.fixture
def store(where: str, kept_in: str) -> Iterator[Store]:
    opened = SqliteStore(where) if kept_in == "sqlite" else PostgresStore(where)
    yield opened
    opened.close()


def _verbs(memory: Memory) -> None:
    """Every way a text gets into a memory, is changed, and goes."""
    first = memory.add("Ana works at Acme since Monday.", metadata={"place": "Porto"})
    memory.add_many(["Tom bought 3 bikes in May 2023.", "Zoe is vegan."], idempotency_key="twice")
    memory.add_many(["Tom bought 3 bikes in May 2023.", "Zoe is vegan."], idempotency_key="twice")
    memory.add_messages(TALK, session_id="talk", user_id="sam")
    memory.update(first.id, text="Ana left Acme on Friday.")
    memory.update(first.id, happened_at=NOW - timedelta(days=40))
    memory.update(first.id, speaker="Ana", importance=0.9)
    memory.search("Where does Ana work?")
    memory.facts.add("Ana", "lives in", "Lisbon", text="Ana lives in Lisbon since 2019.")
    memory.graph.add("Acme", "organisation", observations=["Acme opened in May."])
    memory.graph.relate("Ana", "knows", "Tom")
    memory.blocks.append("human", "Ana likes tea on Mondays.")
    memory.blocks.replace("human", "tea", "coffee")
    memory.conversations.summarise("talk", user_id="sam")
    _layers(memory)
    memory.sleep.run(now=NOW + timedelta(days=30))
    memory.sleep.undo_night()
    copy = BytesIO()
    export_memory(memory, copy)
    memory.forget(first.id, erase=True)
    copy.seek(0)
    import_memory(memory, copy)


def _layers(memory: Memory) -> None:
    """What writes texts through the layers, or brings back those that were."""
    memory.snapshots.take("before", all_users=True)
    memory.conversations.append(TALK, session_id="more", user_id="sam", actor="mallory")
    memory.conversations.describe("more", user_id="sam", title="Ana in Lisbon since May")
    memory.conversations.window("more", user_id="sam")
    memory.conversations.forget("talk", user_id="sam")
    memory.working.set("plan", "Ana flies to Porto in June 2024", session_id="more")
    memory.working.promote("plan", session_id="more")
    fact = memory.facts.add("Tom", "works at", "Acme", text="Tom works at Acme.")
    memory.facts.confirm(fact.id)
    memory.facts.retract(memory.facts.correct(fact.id, object="Globex", text="At Globex.").id)
    memory.graph.observe("Acme", ["Acme moved to Porto in May."])
    memory.graph.merge("Acme", "Globex")
    memory.graph.unmerge("Globex")
    memory.blocks.undo("human")
    memory.context("Where does Ana work?", session_id="more", user_id="sam")
    memory.purge(actor="mallory")
    memory.snapshots.restore("before")
    memory.cleanup()
    memory.reembed()


@pytest.mark.usefixtures("here")
def test_nothing_is_analysed_inside_a_transaction(where: str, watch: Watch) -> None:
    with Memory(where, tenant=f"tenant {uuid4()}", clock=FixedClock(NOW)) as memory:
        memory.search("warm the model up")
        sys.setprofile(watch.called)
        try:
            _verbs(memory)
        finally:
            sys.setprofile(None)
    assert watch.inside == []
    assert {"remanence.language.words.terms", "remanence.language.names.names"} <= watch.outside
    assert any(name.startswith(ANALYTIC[1]) for name in watch.outside)
    assert any(name.startswith(ANALYTIC[2]) for name in watch.outside)


def _record(tenant: str, text: str, happened: datetime) -> MemoryRecord:
    return MemoryRecord(
        id=str(uuid4()), text=text, tenant=tenant, happened_at=happened, created_at=NOW,
        updated_at=NOW, state=State.ACTIVE,
    )  # fmt: skip


@pytest.mark.usefixtures("here")
def test_a_text_that_changes_meanwhile_is_analysed_anew(
    store: Store, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another moves the memory to another day between the look at it and the transaction."""
    tenant = f"tenant {uuid4()}"
    record = _record(tenant, "We met on Monday.", NOW)
    store.archive.write(Batch(tenant=tenant, at=NOW, actions=(Insert(record=record),)))

    def change(**changes: Any) -> Batch:
        new = Revise(id=record.id, changes=changes, verb="updated", at=NOW)
        return Batch(tenant=tenant, at=NOW, actions=(new,))

    prepare, others = Analysis.prepare, [change(happened_at=NOW - timedelta(days=9))]

    def prepared_too_early(self: Analysis, *arguments: Any) -> None:
        prepare(self, *arguments)
        if others:
            store.archive.write(others.pop())

    monkeypatch.setattr(Analysis, "prepare", prepared_too_early)
    sys.setprofile(watch.called)
    try:
        store.archive.write(change(text="We met yesterday."))
    finally:
        sys.setprofile(None)
    [now] = store.archive.get(tenant, [record.id])
    assert (now.text, now.happened_at) == ("We met yesterday.", NOW - timedelta(days=9))
    assert watch.inside == []
    assert healthy(store)


def _damaged(where: str) -> None:
    """A text index without a word, and a label that is gone."""
    connection = apsw.Connection(where)
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    connection.execute("DELETE FROM labels WHERE value LIKE '%Porto%'")
    connection.close()


def _filled(where: str) -> SqliteStore:
    tenant = f"tenant {uuid4()}"
    store = SqliteStore(where)
    records = [
        replace(_record(tenant, f"We met in town {n}.", NOW), metadata={"place": f"Porto {n}"})
        for n in range(5)
    ]
    actions = tuple(Insert(record=record) for record in records)
    store.archive.write(Batch(tenant=tenant, at=NOW, actions=actions))
    return store


def test_a_doctor_analyses_outside_too(tmp_path: Path, watch: Watch) -> None:
    where = str(tmp_path / "memory.db")
    _filled(where).close()
    _damaged(where)
    store = SqliteStore(where)
    sys.setprofile(watch.called)
    try:
        found = {one.check: one for one in store.upkeep.doctor(repair=True, fingerprint=None)}
    finally:
        sys.setprofile(None)
    assert watch.inside == []
    assert "remanence.language.words.terms" in watch.outside
    assert (found["text index"].repaired, found["labels"].repaired) == (1, 5)
    assert healthy(store)
    store.close()


def test_a_doctor_looks_without_the_write_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _filled(str(tmp_path / "memory.db"))

    def refused(_: Connections) -> Any:
        raise AssertionError("nothing is to be mended")

    monkeypatch.setattr(store._database, "writing", refused)
    monkeypatch.setattr(store._database.connections, "alone", refused)
    for repair in (False, True):
        assert not any(one.problems for one in store.upkeep.doctor(repair=repair, fingerprint=None))
    store.close()


def test_what_is_written_while_a_doctor_analyses_is_in_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = str(tmp_path / "memory.db")
    _filled(where).close()
    _damaged(where)
    store, more = SqliteStore(where), SqliteStore(where)
    tenant, read, left = f"tenant {uuid4()}", doctor._read, [3, 2, 1]

    def read_too_early(*arguments: Any) -> None:
        read(*arguments)
        if left:
            record = _record(tenant, f"We left town {left.pop()}.", NOW)
            more.archive.write(Batch(tenant=tenant, at=NOW, actions=(Insert(record=record),)))

    monkeypatch.setattr(doctor, "_read", read_too_early)
    assert any(one.repaired for one in store.upkeep.doctor(repair=True, fingerprint=None))
    assert left == []
    assert healthy(store)
    more.close()
    store.close()

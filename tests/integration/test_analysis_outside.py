"""No text is analysed, embedded or read for facts while a write transaction is open."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import pytest

from remanence import Memory
from remanence.clock import FixedClock
from remanence.model.memory import MemoryRecord, State
from remanence.model.write import Batch, Insert, Revise
from remanence.ports.store import Store
from remanence.store.analysis import Analysis
from remanence.store.postgres import PostgresStore
from remanence.store.postgres.transactions import Transactions
from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite.connections import Connections
from remanence.testing.services.postgres import Databases
from remanence.testing.store_suites.making import healthy
from remanence.transfer.exporting import export_memory
from remanence.transfer.importing import import_memory

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
ANALYTIC = ("remanence.text.", "remanence.knowledge.extract.", "remanence.embedding.")
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
    assert {"remanence.text.words.terms", "remanence.text.names.names"} <= watch.outside
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
    store.write(Batch(tenant=tenant, at=NOW, actions=(Insert(record=record),)))

    def change(**changes: Any) -> Batch:
        new = Revise(id=record.id, changes=changes, verb="updated", at=NOW)
        return Batch(tenant=tenant, at=NOW, actions=(new,))

    prepare, others = Analysis.prepare, [change(happened_at=NOW - timedelta(days=9))]

    def prepared_too_early(self: Analysis, *arguments: Any) -> None:
        prepare(self, *arguments)
        if others:
            store.write(others.pop())

    monkeypatch.setattr(Analysis, "prepare", prepared_too_early)
    sys.setprofile(watch.called)
    try:
        store.write(change(text="We met yesterday."))
    finally:
        sys.setprofile(None)
    [now] = store.get(tenant, [record.id])
    assert (now.text, now.happened_at) == ("We met yesterday.", NOW - timedelta(days=9))
    assert watch.inside == []
    assert healthy(store)

"""The days memories speak of in a SQLite file: migrated to, recounted, read beside long texts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from remanence.language.traits import TIME
from remanence.model.write import Remove
from remanence.store.sqlite import SqliteStore, Words
from remanence.store.sqlite import database as schema
from remanence.store.sqlite.session import migrations
from remanence.testing.store_suites.making import NOW, add, healthy, memory, write
from remanence.testing.store_suites.recall import said
from support.older import lent

TODAY = (NOW - datetime(1970, 1, 1, tzinfo=UTC)).days
TEXTS = ["We met yesterday.", "Nothing.", f"Today, {'a word ' * 5000}", "🫖 昨天 ’"]
SAID = [(TODAY - 1, TODAY), (0, 0), (TODAY, TODAY + 1), (TODAY - 1, TODAY)]
BEFORE = Words(version="words-1/stems-1")


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed store of the schema before, with the terms of before."""
    path = tmp_path / "memory.db"
    with monkeypatch.context() as before:
        before.setattr(schema, "migrations", lambda: migrations()[:4])
        store = SqliteStore(path, words=BEFORE)
        with store._database.connections.alone() as own, lent(own.execute):
            records = add(store, *[memory(text, metadata={"n": 1}) for text in TEXTS])
            write(store, Remove(id=records[1].id))
        assert store.upkeep.schema == 4
        store.close()
    return path


def test_a_file_of_the_schema_before_learns_what_its_texts_speak_of(older: Path) -> None:
    store = SqliteStore(older)
    assert store.upkeep.schema == len(migrations())
    assert said(store) == [SAID[0], *SAID[2:]]
    assert [one.flags & TIME for one in store.recall.traits(1)] == [TIME] * 3
    assert [record.text for _, record in store.archive.scan("t")] == [TEXTS[0], *TEXTS[2:]]
    assert healthy(store)
    add(store, memory("tomorrow"))
    assert said(store)[-1] == (TODAY + 1, TODAY + 2)
    store.close()


def test_the_columns_of_an_older_file_and_a_new_one_are_alike(older: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    for path in (older, new):
        SqliteStore(path).close()
    asked = "SELECT name, type, dflt_value FROM pragma_table_info('memories')"
    found = [apsw.Connection(str(path)).execute(asked).fetchall() for path in (older, new)]
    assert found[0] == found[1]
    assert [name for name, _, _ in found[0]][-3:] == ["said_from", "said_to", "text"]


def test_a_rebuild_of_the_terms_recounts_the_days(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path, words=BEFORE)
    add(store, *map(memory, TEXTS))
    with store._database.writing() as connection:
        connection.execute("UPDATE memories SET said_from = 7, said_to = 8, flags = 0")
    assert said(store) == [(7, 8)] * 4
    store.close()
    store = SqliteStore(path)
    assert said(store) == SAID
    store.close()


def test_a_row_whose_time_is_damaged_does_not_keep_the_file_from_opening(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path, words=BEFORE)
    add(store, memory("yesterday"), memory("yesterday"))
    with store._database.writing() as connection:
        connection.execute("UPDATE memories SET happened_at = 9223372036854775807 WHERE key = 1")
    store.close()
    store = SqliteStore(path)
    assert said(store) == [(0, 0), SAID[0]]
    store.close()


@pytest.mark.slow
def test_the_days_of_long_texts_are_read_without_their_overflow_pages(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    add(store, *[memory(f"yesterday {'word ' * 20_000}") for _ in range(20)])
    store.close()
    store = SqliteStore(path)
    with store._database.reading() as connection:
        connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS, True)
        connection.execute("SELECT sum(said_from + said_to) FROM memories").fetchall()
        read, _ = connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)
    assert read < 40
    store.close()

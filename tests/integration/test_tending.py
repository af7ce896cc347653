"""What each store does for itself: free pages, the planner's figures, indexes rebuilt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep

import apsw
import psycopg
import pytest

from remanence.model.write import Remove
from remanence.store.postgres import PostgresStore
from remanence.store.postgres import upkeep as maintenance
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import LONG, add, healthy, memory, write
from support.copies import everything, fill

INCREMENTAL = 2


def pragma(path: Path, name: str) -> object:
    with closing(apsw.Connection(str(path))) as connection:
        return connection.pragma(name)


def figures(path: Path) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(path))) as connection:
        return connection.execute("SELECT * FROM sqlite_stat1 ORDER BY tbl, idx").fetchall()


def test_free_pages_go_back_and_the_planners_figures_stay(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path, durability="normal")) as store:
        records = add(store, *[memory(f"{LONG * 8} {n}") for n in range(300)])
        write(store, *[Remove(id=record.id) for record in records[:250]])
        before, long = figures(path), path.stat().st_size
        assert store.upkeep.tend()["pages_freed"] > 100
        assert path.stat().st_size < long * 0.6
        assert figures(path) == before
        assert len(before) > 10
        assert healthy(store)
    assert pragma(path, "auto_vacuum") == INCREMENTAL


def test_an_older_file_gives_pages_back_once_it_was_compacted(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path, durability="normal")) as store:
        records = add(store, *[memory(f"{LONG * 8} {n}") for n in range(100)])
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "delete")
        connection.pragma("auto_vacuum", 0)
        connection.execute("VACUUM")
    assert pragma(path, "auto_vacuum") == 0
    with closing(SqliteStore(path, durability="normal")) as store:
        write(store, *[Remove(id=record.id) for record in records[:90]])
        assert store.upkeep.tend()["pages_freed"] == 0
        store.upkeep.compact()
        assert healthy(store)
    assert pragma(path, "auto_vacuum") == INCREMENTAL


def test_all_that_a_store_can_hold_is_left_alone(tmp_path: Path, postgres_url: str) -> None:
    stores = [SqliteStore(tmp_path / "memory.db", durability="normal"), PostgresStore(postgres_url)]
    for store in stores:
        with closing(store):
            fill(store)
            before = everything(store)
            assert store.upkeep.tend()["feed_trimmed"] > 0
            assert everything(store) == before
            assert healthy(store)


@pytest.fixture
def filled(postgres_url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(postgres_url)) as store:
        fill(store, 200)
        yield store


def broken(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        asked = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"
        return [name for (name,) in connection.execute(asked).fetchall()]


def test_indexes_are_rebuilt_beside_their_users(
    filled: PostgresStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(filled)
    assert filled.upkeep.tend()["indexes_rebuilt"] == 0
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("ANALYZE")  # how full an index is, is known afterwards
    monkeypatch.setattr(maintenance, "_INDEX_BYTES", 0)
    monkeypatch.setattr(maintenance, "_BLOATED", 0.0)
    assert filled.upkeep.tend()["indexes_rebuilt"] > 10
    assert broken(postgres_url) == []
    assert everything(filled) == before
    assert healthy(filled)


def test_what_a_broken_rebuild_left_is_cleared(filled: PostgresStore, postgres_url: str) -> None:
    with (
        psycopg.connect(postgres_url) as reader,
        psycopg.connect(postgres_url, autocommit=True) as builder,
    ):
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM memories")
        builder.execute("SET statement_timeout = '300ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            builder.execute("REINDEX INDEX CONCURRENTLY words_0_pkey")
    assert broken(postgres_url)
    filled.upkeep.tend()
    assert broken(postgres_url) == []
    assert healthy(filled)


def test_tables_that_changed_are_analysed_as_a_whole(
    filled: PostgresStore, postgres_url: str
) -> None:
    filled.close()  # so that the server knows what its connections did
    with closing(PostgresStore(postgres_url)) as store:
        assert store.upkeep.tend()["tables_vacuumed"] > 0
    while analysed(postgres_url) < 2:  # the server counts a connection's work after it has ended
        sleep(0.05)


def analysed(postgres_url: str) -> int:
    """How many of two tables the server knows to be analysed."""
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_user_tables WHERE relname IN ('words', 'memories')"
            " AND last_analyze IS NOT NULL"
        ).fetchone()
    assert found is not None
    return int(found[0])

"""The days memories speak of in PostgreSQL: migrated to, restored from before, recounted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from remanence.language.traits import TIME
from remanence.store.postgres import PostgresStore, restore, schema
from remanence.store.postgres.session import migrations
from remanence.store.words import Words
from remanence.testing.store_suites.making import NOW, add, healthy, memory, partition_of
from remanence.testing.store_suites.recall import said
from support.older import lent
from support.services.postgres import Databases

TODAY = (NOW - datetime(1970, 1, 1, tzinfo=UTC)).days
TEXTS = ["We met yesterday.", "Nothing.", f"Today, {'a word ' * 5000}"]
SAID = [(TODAY - 1, TODAY), (0, 0), (TODAY, TODAY + 1)]
BEFORE = Words(version="words-1/snowball-1")


@pytest.fixture
def spare(postgres: Databases) -> Iterator[str]:
    url = postgres.database()
    yield url
    postgres.drop(url)


def test_a_store_and_a_copy_of_the_schema_before_learn_what_their_texts_speak_of(
    bare_postgres_url: str, spare: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(schema, "migrations", lambda: migrations()[:3])
        store = PostgresStore(bare_postgres_url, words=BEFORE)
        with psycopg.connect(bare_postgres_url, autocommit=True) as own, lent(own.execute):
            add(store, *map(memory, TEXTS))
        store.upkeep.backup(tmp_path / "copy")
        store.close()
    restore(tmp_path / "copy", spare)
    for url in (bare_postgres_url, spare):
        store = PostgresStore(url)
        assert store.upkeep.schema == len(migrations())
        assert said(store) == SAID
        flags = {
            trait.key: trait.flags & TIME for trait in store.recall.traits(partition_of(store))
        }
        assert [flags[key] for key in sorted(flags)] == [TIME, 0, TIME]
        assert healthy(store)
        store.close()


def test_a_rebuild_of_the_terms_recounts_the_days_of_every_tenant(bare_postgres_url: str) -> None:
    store = PostgresStore(bare_postgres_url, words=BEFORE)
    forged = "UPDATE memories SET said_from = 7, said_to = 8, flags = 0"
    for tenant in ("t", "other"):
        add(store, *[memory(text, tenant) for text in TEXTS])
        store._database.write(tenant, lambda session: session.execute(forged, ()))
        assert said(store, tenant) == [(7, 8)] * 3
    store.close()
    store = PostgresStore(bare_postgres_url)
    assert said(store) == SAID
    assert said(store, "other") == SAID
    store.close()


def test_a_row_whose_time_is_damaged_does_not_keep_the_store_from_opening(
    bare_postgres_url: str,
) -> None:
    store = PostgresStore(bare_postgres_url, words=BEFORE)
    add(store, memory("yesterday"), memory("yesterday"))
    forged = "UPDATE memories SET happened_at = 9223372036854775807 WHERE key = 1"
    store._database.write("t", lambda session: session.execute(forged, ()))
    store.close()
    store = PostgresStore(bare_postgres_url)
    assert said(store) == [(0, 0), SAID[0]]
    store.close()

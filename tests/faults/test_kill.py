"""Writers killed with SIGKILL: nothing that was acknowledged is lost, nothing is half there."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import apsw
import pytest

from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite import database as schema
from remanence.testing.store_suites.making import add, healthy, memory
from support.program import Program
from support.writers import kill_often

KILLS = 50


def test_no_acknowledged_write_is_lost(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    for found in kill_often(tmp_path / "memory.db", KILLS, seed):
        assert found["acknowledged"] > 0
        assert (found["lost"], found["half_done"], found["unsound"]) == (0, 0, 0)


MIGRATION = """
import os, signal, sys
import apsw
from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite import database as schema
path, last_words, later = sys.argv[1:]
real = schema.migrations()
if later:
    schema.migrations = lambda: [*real, (real[-1][0] + 1, later)]
def trace(cursor, sql, bindings):
    if last_words and last_words in sql:
        os.kill(os.getpid(), signal.SIGKILL)
    return True
apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", trace))
SqliteStore(path).close()
"""
NEWEST = schema.migrations()[-1][0]
LATER = """
CREATE TABLE extra (x);
INSERT INTO extra SELECT key FROM memories;
ALTER TABLE memories ADD COLUMN extra INTEGER;
UPDATE memories SET extra = 1;
"""


def migrate(path: Path, last_words: str = "", later: str = "") -> bool:
    """Open the store in a process that dies before that statement; whether it lived."""
    code = Program(MIGRATION, path, last_words, later).ended()
    assert code in (0, -signal.SIGKILL)
    return code == 0


@pytest.mark.parametrize(
    "last_words",
    ["CREATE TABLE meta", "CREATE TABLE pieces", "CREATE VIRTUAL TABLE words", "fts5vocab",
     "DROP INDEX memories_by_session", "CREATE TABLE editions",
     "INSERT INTO meta", "user_version", "COMMIT"],
)  # fmt: skip
def test_a_store_killed_while_it_is_made_can_be_opened(tmp_path: Path, last_words: str) -> None:
    path = tmp_path / "memory.db"
    assert not migrate(path, last_words)
    store = SqliteStore(path)
    assert healthy(store)
    store.close()


def test_a_migration_killed_midway_leaves_the_old_schema(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    add(store, memory("kept"))
    store.close()
    for last_words in ("CREATE TABLE extra", "ALTER TABLE", "UPDATE memories SET extra", "COMMIT"):
        assert not migrate(path, last_words, LATER)
        assert schema_of(path) == (NEWEST, 0, 0)
    assert migrate(path, "", LATER)
    assert schema_of(path) == (NEWEST + 1, 1, 1)


def schema_of(path: Path) -> tuple[int, ...]:
    """The schema's version, and how much of the migration is there."""
    connection = apsw.Connection(str(path))
    assert connection.pragma("integrity_check") == "ok"
    assert connection.execute("SELECT group_concat(text) FROM memories").get == "kept"
    version = connection.pragma("user_version")
    tables = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'").get
    columns = "SELECT count(*) FROM pragma_table_info('memories') WHERE name = 'extra'"
    columns = connection.execute(columns).get
    connection.close()
    return version, tables, columns

"""What a newer version wrote is refused: by name, with a way out, and without a change."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import psycopg
import pytest
from psycopg import sql
from typer.testing import CliRunner

from remanence import Memory, __version__
from remanence.cli.app import app
from remanence.config import load_settings
from remanence.config.assembly import restore_store
from remanence.errors import InvalidInput, RemanenceError, StoreVersion
from remanence.tools.transfer import export_memory, import_memory
from support.services.postgres import Databases

NEWER = 999


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a memory in it."""
    with Memory(tmp_path / "memory.db") as memory:
        memory.add("Tea at five.")
    return tmp_path / "memory.db"


@pytest.fixture(scope="module")
def url(postgres: Databases) -> Iterator[str]:
    """The same on PostgreSQL."""
    url = postgres.database()
    with Memory(url) as memory:
        memory.add("Tea at five.")
    yield url
    postgres.drop(url)


@pytest.fixture
def newer(path: Path) -> Path:
    """The store as a newer version leaves it."""
    make_newer(path)
    return path


@pytest.fixture
def newer_url(url: str) -> Iterator[str]:
    """The database while it is of a newer version."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        assert row is not None
        set_schema(connection, NEWER)
        yield url
        set_schema(connection, int(row[0]))


def make_newer(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("user_version", NEWER)


def set_schema(connection: psycopg.Connection, schema: int) -> None:
    asked = (str(schema),)
    connection.execute("UPDATE meta SET value = %s WHERE name = 'schema'", asked)


def files(folder: Path) -> dict[str, bytes]:
    """Everything there, but for the files of locks, which hold nothing."""
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix != ".lock"}


def rows(postgres: Databases, url: str) -> list[tuple[str, int]]:
    """Every table with the last transaction that wrote to it, as an administrator sees them."""
    admin = f"{postgres.admin_url.rpartition('/')[0]}/{url.rpartition('/')[2]}"
    with psycopg.connect(admin) as connection:
        names = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
            "AND relkind = 'r' ORDER BY relname"
        ).fetchall()
        statement = sql.SQL("SELECT max(xmin::text::bigint) FROM {}")
        return [
            (name, connection.execute(statement.format(sql.Identifier(name))).fetchone()[0])  # type: ignore[index]
            for (name,) in names
        ]


def says_what_to_do(error: RemanenceError, found: object = NEWER) -> bool:
    told = str(error)
    return all(one in told for one in (str(found), f"Remanence {__version__}", "pgrade Remanence"))


def test_a_newer_file_is_refused_and_not_touched(newer: Path) -> None:
    before = files(newer.parent)
    with pytest.raises(StoreVersion, match="restore the backup") as refused:
        Memory(newer)
    assert says_what_to_do(refused.value)
    assert files(newer.parent) == before


def test_a_newer_database_is_refused_and_not_touched(newer_url: str, postgres: Databases) -> None:
    before = rows(postgres, newer_url)
    for migrate in ("auto", "manual"):
        with pytest.raises(StoreVersion, match="restore the backup") as refused:
            Memory(newer_url, migrate=migrate)
        assert says_what_to_do(refused.value)
    assert rows(postgres, newer_url) == before


@pytest.mark.parametrize("command", [["stats"], ["migrate"], ["doctor"], ["export", "-"]])
def test_the_command_line_says_so_too(newer: Path, command: list[str]) -> None:
    before = files(newer.parent)
    done = CliRunner().invoke(app, ["--db", str(newer), *command])
    assert done.exit_code == 1
    assert "restore the backup" in " ".join(done.stderr.split())
    assert files(newer.parent) == before


def test_who_has_it_open_while_it_is_migrated_writes_nothing(path: Path) -> None:
    with Memory(path) as memory:
        make_newer(path)
        with pytest.raises(StoreVersion, match="restart this process"):
            memory.add("Coffee at six.")
        with pytest.raises(StoreVersion, match="restart this process"):
            memory.blocks.create("note", "to self")
        assert memory.count() == 1


def test_the_backup_from_before_takes_the_place_of_a_newer_file(path: Path, tmp_path: Path) -> None:
    with Memory(path) as memory:
        memory.backup(tmp_path / "before.db")
    make_newer(path)
    restore_store(tmp_path / "before.db", load_settings({"database": str(path)}))
    with Memory(path) as memory:
        assert [one.text for one in memory.find()] == ["Tea at five."]


def test_a_newer_backup_of_a_file_is_refused(path: Path, tmp_path: Path) -> None:
    with Memory(path) as memory:
        memory.backup(tmp_path / "later.db")
    make_newer(tmp_path / "later.db")
    before = files(tmp_path)
    with pytest.raises(StoreVersion, match="restore the backup") as refused:
        restore_store(tmp_path / "later.db", load_settings({"database": str(path)}))
    assert says_what_to_do(refused.value)
    assert files(tmp_path) == before


def test_a_newer_backup_of_a_database_is_refused(
    url: str, postgres: Databases, tmp_path: Path
) -> None:
    with Memory(url) as memory:
        memory.backup(tmp_path / "copy.zip")
    make_manifest_newer(tmp_path / "copy.zip", tmp_path / "later.zip")
    before = rows(postgres, url)
    with pytest.raises(StoreVersion) as refused:
        restore_store(tmp_path / "later.zip", load_settings({"database": url}))
    assert says_what_to_do(refused.value)
    assert rows(postgres, url) == before


def make_manifest_newer(source: Path, target: Path) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                content = json.dumps({**json.loads(content), "schema": NEWER}).encode()
            new.writestr(name, content)


def test_a_newer_export_is_refused_and_nothing_of_it_is_read(path: Path) -> None:
    exported = io.BytesIO()
    with Memory(path) as memory:
        export_memory(memory, exported)
        head, _, rest = exported.getvalue().partition(b"\n")
        header = {**json.loads(head), "version": NEWER, "remanence": "9.8.7"}
        later = json.dumps(header).encode() + b"\n" + rest
        empty = memory.for_tenant("elsewhere")
        with pytest.raises(InvalidInput, match=r"9\.8\.7") as refused:
            import_memory(empty, io.BytesIO(later))
        assert says_what_to_do(refused.value)
        assert empty.count(all_users=True, states="any") == 0


def test_a_file_that_was_cut_off_in_a_newer_version_keeps_its_log(newer: Path) -> None:
    """Its last writes are in the log alone; refusing it must not lose them."""
    with closing(apsw.Connection(str(newer))) as connection:
        connection.pragma("journal_mode", "wal")
        connection.pragma("wal_autocheckpoint", 0)
        connection.execute("CREATE TABLE later (x); INSERT INTO later VALUES (1)")
        copies = {end: newer.with_name(newer.name + end).read_bytes() for end in ("", "-wal")}
    for end, content in copies.items():
        newer.with_name(newer.name + end).write_bytes(content)
    assert os.path.getsize(f"{newer}-wal")
    with pytest.raises(StoreVersion):
        Memory(newer)
    with closing(apsw.Connection(str(newer))) as connection:
        assert connection.execute("SELECT x FROM later").get == 1

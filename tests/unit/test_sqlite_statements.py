"""Every SQL block is used, and SQLite understands them all."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from remanence.store.blocks import blocks
from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite.session import migrations, sql

PACKAGE = files("remanence.store.sqlite")
PYTHON = "".join(
    entry.read_text()
    for package in (PACKAGE, files("remanence.store.core"))
    for entry in package.iterdir()
    if entry.name.endswith(".py")
)
QUERIES = "".join(entry.read_text() for entry in PACKAGE.joinpath("queries").iterdir())
NAMES = re.findall(r"^-- name: (\w+)$", QUERIES, re.MULTILINE)


def test_names_are_unique() -> None:
    assert len(NAMES) == len(set(NAMES)) == len(blocks("remanence.store.sqlite"))


@pytest.mark.parametrize("name", NAMES)
def test_a_block_is_used(name: str) -> None:
    assert f'"{name}"' in PYTHON or f"{{{name}}}" in QUERIES


@pytest.mark.parametrize("name", [name for name in NAMES if f"{{{name}}}" not in QUERIES])
def test_sqlite_understands_a_block(name: str) -> None:
    text = sql(name).replace("{condition}", "1")
    assert "{" not in text
    store = SqliteStore(":memory:")
    with store._database.reading() as connection:
        for statement in text.split(";"):
            named = dict.fromkeys(re.findall(r":(\w+)", statement))
            numbered = max(map(int, re.findall(r"\?(\d+)", statement)), default=0)
            unnamed = [None] * (numbered or statement.count("?"))
            connection.execute(f"EXPLAIN {statement}", named or unnamed)
    store.close()


def test_migrations_are_numbered_from_one() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))

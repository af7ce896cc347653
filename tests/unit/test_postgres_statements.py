"""Every SQL block of the PostgreSQL store is used, and says whose rows it reads."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from remanence.store.blocks import blocks
from remanence.store.postgres.session import migrations, sql

PACKAGE = files("remanence.store.postgres")
PYTHON = "".join(
    entry.read_text()
    for package in (PACKAGE, files("remanence.store.core"))
    for entry in package.iterdir()
    if entry.name.endswith(".py")
)
QUERIES = "".join(entry.read_text() for entry in PACKAGE.joinpath("queries").iterdir())
NAMES = re.findall(r"^-- name: (\w+)$", QUERIES, re.MULTILINE)
WALLED = re.findall(
    r"^CREATE TABLE (\w+) \([^;]*?\btenant integer",
    "".join(script for _, script in migrations()),
    re.DOTALL | re.MULTILINE,
)


def test_names_are_unique() -> None:
    assert len(NAMES) == len(set(NAMES)) == len(blocks("remanence.store.postgres"))


@pytest.mark.parametrize("name", NAMES)
def test_a_block_is_used(name: str) -> None:
    deletes = name.removeprefix("delete_")
    assert f'"{name}"' in PYTHON or f"{{{name}}}" in QUERIES or f'"{deletes}"' in PYTHON


@pytest.mark.parametrize("name", [name for name in NAMES if f"{{{name}}}" not in QUERIES])
def test_a_block_that_reads_tenants_says_which(name: str) -> None:
    text = sql(name)
    if re.search(rf"\b(FROM|INTO|UPDATE|JOIN) ({'|'.join(WALLED)})\b", text):
        assert "%(tenant)s" in text or "{condition}" in text


def test_migrations_are_numbered_from_one() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))

"""The core of the stores: every statement that it asks for is there in both dialects."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from remanence.store.blocks import blocks

CORE = files("remanence.store.core")
PYTHON = "".join(entry.read_text() for entry in CORE.iterdir() if entry.name.endswith(".py"))
ASKED = sorted(
    set(re.findall(r"\.(?:run|rows|row|value|numbers\w*|matching)\(\s*\"(\w+)\"", PYTHON))
    | set(re.findall(r"self\._\w+\(\s*(?:[\w.]+, )?\"(\w+)\"", PYTHON))
)


def test_many_are_found() -> None:
    assert len(ASKED) > 60


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize("name", ASKED)
def test_a_statement_has_its_block(name: str, dialect: str) -> None:
    assert name in blocks(f"remanence.store.{dialect}")

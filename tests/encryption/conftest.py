"""Fixtures of the encrypted suites: a key, and the places where something could leak."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def key() -> str:
    """Every character that could mean something in a statement or an address."""
    return "a 'key\" of; -- %41 ?&=# ünï \u2603"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    for name in ("TMPDIR", "SQLITE_TMPDIR"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder

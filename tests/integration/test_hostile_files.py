"""Databases that are damaged, elsewhere, locked away or not databases at all."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from remanence import Memory, RemanenceError
from remanence.errors import ConfigError, StoreCorrupt, StoreError

TEXTS = [
    f"Note {n}: the parrot of house {n} speaks of the sea and of the weather" for n in range(80)
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("original") / "memory.db"
    with Memory(path) as memory:
        memory.add_many(TEXTS)
        memory.search("parrot")
    return path.read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"not a database" * 500,
        b"\0" * 8192,
        os.urandom(8192),
        b"SQLite format 3\0" + b"\xff" * 8192,
    ],
    ids=["text", "zeros", "noise", "header only"],
)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(StoreError):
        Memory(path).count()
    assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    import apsw

    path = tmp_path / "other.db"
    connection = apsw.Connection(str(path))
    connection.execute(
        "CREATE TABLE memories (mine TEXT); INSERT INTO memories VALUES ('precious')"
    )
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt):
        Memory(path).add("intruder")
    assert path.read_bytes() == before


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.95])
def test_a_file_cut_short_is_found_out(tmp_path: Path, original: bytes, keep: float) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(original[: int(len(original) * keep)])
    assert _found_out(path)


def _found_out(path: Path) -> bool:
    """Whether using or checking the store says that it is damaged, in our own words."""
    try:
        with Memory(path) as memory:
            hits = memory.search("parrot", limit=100)
            texts = {hit.memory.text for hit in hits}
            damaged = any(finding.problems for finding in memory.doctor())
            return damaged or not texts <= set(TEXTS)
    except RemanenceError:
        return True


@pytest.mark.parametrize("seed", range(6))
def test_a_torn_page_never_ends_in_a_raw_error(tmp_path: Path, original: bytes, seed: int) -> None:
    damaged = bytearray(original)
    at = random.Random(seed).randrange(1, len(damaged) // 4096) * 4096
    damaged[at : at + 4096] = random.Random(seed).randbytes(4096)
    path = tmp_path / "memory.db"
    path.write_bytes(damaged)
    _found_out(path)  # what is not a RemanenceError fails the test


@pytest.mark.parametrize(
    "place",
    [
        lambda folder: folder,
        lambda folder: folder / "file" / "memory.db",
        lambda folder: Path("/proc/nowhere/memory.db"),
        lambda folder: folder / ("x" * 300),
    ],
    ids=["a folder", "below a file", "in a system folder", "a long name"],
)
def test_places_where_no_file_can_be(tmp_path: Path, place: Callable[[Path], Path]) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RemanenceError):
        Memory(place(tmp_path))
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_that_no_file_can_have(name: str) -> None:
    with pytest.raises(RemanenceError):
        Memory(name)


@pytest.mark.parametrize("url", ["postgresql:/localhost/x", "mysql://x", "redis://x", "http://x"])
def test_databases_that_are_not_supported(url: str) -> None:
    with pytest.raises(ConfigError, match="not supported"):
        Memory(url)


READ_ONLY = """
import os, sys
from remanence import Memory, RemanenceError
with Memory(":memory:") as memory:  # loads everything while the libraries may be read
    memory.add("warm")
    memory.search("warm")
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with Memory(sys.argv[1]) as memory:
        memory.add("should not be written")
except RemanenceError as error:
    print(type(error).__name__, error)
"""


def test_a_read_only_file_refuses_and_stays(original: bytes) -> None:
    """As a plain user, since root may write everywhere."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "memory.db"
        path.write_bytes(original)
        path.chmod(0o444)
        folder.chmod(0o555)
        program = [sys.executable, "-c", READ_ONLY, str(path)]
        environment = os.environ | {"XDG_CONFIG_HOME": name}
        done = subprocess.run(
            program, capture_output=True, text=True, check=False, env=environment, cwd=name
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("Store")
        assert path.read_bytes() == original
        assert list(folder.iterdir()) == [path]
        folder.chmod(0o755)


def test_a_file_removed_and_made_again_between_uses(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        memory.add("first life")
        memory.search("life")
    path.unlink()
    with Memory(path) as memory:
        assert memory.search("life") == []
        memory.add("second life")
        assert [hit.memory.text for hit in memory.search("life")] == ["second life"]

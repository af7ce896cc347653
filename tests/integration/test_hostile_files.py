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
from remanence.errors import ConfigError, InvalidInput, StoreCorrupt, StoreError
from remanence.tools.transfer import import_chat

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


# -- chat histories

SAID = (
    b'[{"uuid": "k1", "name": "n", "chat_messages": [{"uuid": "m1", "sender": "human", '
    b'"created_at": "2026-05-01T10:00:00Z", "text": "the parrot speaks"}]}]'
)
TREE = (
    b'[{"id": "c1", "current_node": "a", "mapping": {"a": {"parent": null, "message": {"id": "m1", '
    b'"author": {"role": "user"}, "content": {"parts": ["the parrot speaks"]}}}}}]'
)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("whole", [SAID, TREE], ids=["claude", "chatgpt"])
def test_damaged_chats_are_refused_or_passed_over(tmp_path: Path, whole: bytes, seed: int) -> None:
    """Bytes are changed, cut out and doubled; what is read is a whole message or none."""
    chance = random.Random(seed)
    raw = bytearray(whole)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(raw))
        end = min(len(raw), at + chance.randint(1, 12))
        change = chance.choice(["byte", "cut", "double"])
        raw[at:end] = {
            "byte": chance.randbytes(end - at),
            "cut": b"",
            "double": bytes(raw[at:end]) * 2,
        }[change]
    path = tmp_path / "conversations.json"
    path.write_bytes(raw)
    with Memory(tmp_path / "memory.db", embedder="no-such-model") as memory:
        try:
            done = import_chat(memory, path)
        except RemanenceError:
            assert memory.count() <= 1  # the break may come after the message
        else:
            assert memory.count() == done.messages <= 1


@pytest.mark.parametrize(
    "raw",
    [
        b'[{"id": "c", "mapping": ' + b'{"a": ' * 1_000_000,
        b'[{"uuid": "c", "chat_messages": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}]",
        b'[{"uuid": "c", "chat_messages": [' + b"9" * 1_000_000 + b"]}]",
        b'[{"uuid": "c", "chat_messages": [{"created_at": NaN}]}]',
        b"[" + b"[]," * 100_000 + b"[]]",
        b'{"a": 1}\n' * 100_000,
        b"\0" * 1_000_000,
        b" " * 5_000_000,
        b"\x1f\x8b\x08" + os.urandom(1000),
    ],
    ids=["deep", "nested", "digits", "nan", "lists", "others", "zeros", "spaces", "gzip"],
)
def test_chats_that_are_none_are_refused_soon(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(raw)
    with Memory(tmp_path / "memory.db", embedder="no-such-model") as memory:
        with pytest.raises(InvalidInput):
            import_chat(memory, path)
        assert memory.count() == 0


def test_a_link_to_a_history_is_followed_and_one_to_nothing_refused(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_bytes(SAID)
    (tmp_path / "link.json").symlink_to("real.json")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "gone.json").symlink_to("nowhere.json")
    with Memory(tmp_path / "memory.db", embedder="no-such-model") as memory:
        assert import_chat(memory, tmp_path / "link.json").messages == 1
        for name in ("loop.json", "gone.json"):
            with pytest.raises(OSError, match=name):
                import_chat(memory, tmp_path / name)

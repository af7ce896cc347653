"""Keys: the right one opens, and whatever else is tried is told what it is."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from remanence import Memory
from remanence.errors import RemanenceError, StoreCorrupt, StoreError
from remanence.model.clock import FixedClock, IdMaker
from remanence.store.sqlite import SqliteStore, restore
from remanence.store.sqlite.encrypting import recrypt
from remanence.testing.patience import HANG_S
from remanence.testing.store_suites.making import add, healthy, memory
from support.program import Program

OTHER = "another key, as long as it must be"
REM = [str(Path(sys.executable).with_name("rem"))]
RECRYPT = """
import sys
from pathlib import Path
from remanence.errors import StoreBusy
from remanence.store.sqlite.encrypting import recrypt
try:
    recrypt(Path(sys.argv[1]), sys.argv[2], "a key of another process")
except StoreBusy as error:
    print(type(error).__name__)
"""


@pytest.fixture
def path(tmp_path: Path, key: str) -> Path:
    """An encrypted store of one memory."""
    with closing(SqliteStore(tmp_path / "m.db", key=key)) as store:
        add(store, memory("tea at five"))
    return tmp_path / "m.db"


def counted(path: Path, key: str) -> int:
    with closing(SqliteStore(path, key=key)) as store:
        return store.upkeep.stats("t").memories


def test_the_cipher_is_the_one_that_is_meant(path: Path, key: str) -> None:
    with closing(SqliteStore(path, key=key)) as store, store._database.reading() as connection:
        assert connection.pragma("cipher") == "chacha20"
        assert connection.pragma("temp_store") == 2
        assert connection.pragma("hmac_check") == "1"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (OTHER, "The key is not that of"),
        ("", "is encrypted: set encryption_key_file or REMANENCE_ENCRYPTION_KEY"),
    ],
)
def test_an_encrypted_store_needs_its_key(path: Path, given: str, words: str, key: str) -> None:
    before = path.read_bytes()
    with pytest.raises(StoreError, match=words) as raised:
        SqliteStore(path, key=given)
    assert not isinstance(raised.value, StoreCorrupt)
    assert path.read_bytes() == before
    assert counted(path, key) == 1


def test_a_plain_store_is_not_half_encrypted(tmp_path: Path, key: str) -> None:
    with closing(SqliteStore(tmp_path / "m.db")) as store:
        add(store, memory("tea"))
    before = (tmp_path / "m.db").read_bytes()
    with pytest.raises(StoreError, match="`rem encrypt`"):
        SqliteStore(tmp_path / "m.db", key=key)
    assert (tmp_path / "m.db").read_bytes() == before
    assert counted(tmp_path / "m.db", "") == 1


def test_damage_is_still_called_damage(path: Path, key: str) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        examined(path, key)
    path.write_bytes(b"no store at all " * 500)
    for given in ("", key):
        with pytest.raises(StoreCorrupt):
            SqliteStore(path, key=given)


def examined(path: Path, key: str) -> None:
    with closing(SqliteStore(path, key=key)) as store:
        for finding in store.upkeep.doctor(repair=False, fingerprint=None):
            if finding.problems:
                raise StoreCorrupt(finding.detail)


def test_another_file_system_takes_no_key(path: Path, key: str) -> None:
    with pytest.raises(StoreError) as raised:
        SqliteStore(path, key=key, vfs="unix")
    assert "takes no key" in str(raised.value)


def test_a_backup_wants_the_same_key(path: Path, tmp_path: Path, key: str) -> None:
    copy, target = tmp_path / "copy.db", tmp_path / "target.db"
    with closing(SqliteStore(path, key=key)) as store:
        store.upkeep.backup(copy)
    for given, words in ((OTHER, "not that of"), ("", "is encrypted")):
        with pytest.raises(StoreError, match=words):
            restore(copy, target, key=given)
    assert not target.exists()
    restore(copy, target, key=key)
    assert counted(target, key) == 1


def test_a_store_that_another_key_opens_is_not_replaced(
    path: Path, tmp_path: Path, key: str
) -> None:
    """What was erased from it could not be known, and would come back."""
    other = tmp_path / "other.db"
    SqliteStore(other, key=OTHER).close()
    before = other.read_bytes()
    with pytest.raises(StoreError, match="not that of"):
        restore(path, other, lambda old: lambda new: False, key=key)
    assert other.read_bytes() == before


@pytest.mark.parametrize("keys", [("", OTHER), (OTHER, ""), (OTHER, OTHER + "!")])
def test_a_store_that_is_open_keeps_its_key(tmp_path: Path, keys: tuple[str, str]) -> None:
    path = tmp_path / "m.db"
    with closing(SqliteStore(path, key=keys[0])) as store:
        add(store, memory("tea"))
        with pytest.raises(StoreError, match="is open; close it everywhere"):
            recrypt(path, *keys)
        add(store, memory("more tea"))
        assert healthy(store)
    recrypt(path, *keys)
    assert counted(path, keys[1]) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["m.db"]


def test_a_second_opening_here_does_not_let_others_in(path: Path, key: str) -> None:
    """A handle closed anywhere in a process would end the locks of all its connections."""
    with closing(SqliteStore(path, key=key)) as store:
        for given in (key, OTHER, ""):
            try:
                SqliteStore(path, key=given).close()
            except StoreError:
                continue
        assert Program(RECRYPT, path, key).rest() == "StoreBusy\n"
        add(store, memory("still mine"))
    assert counted(path, key) == 2


def test_the_key_is_told_nowhere(
    tmp_path: Path, path: Path, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = [key, key.encode().hex(), OTHER, OTHER.encode().hex()]
    with Memory(tmp_path / "new.db", encryption_key=OTHER) as memory:
        said = [repr(memory.settings)]
    with closing(SqliteStore(path, key=key)) as store:
        said.append(repr(store._database.connections.settings))
    for refused in _refusals(tmp_path, path, key):
        said += traceback.format_exception(refused)
    said.append(caplog.text)
    assert len(said) > 5
    assert not [one for one in said if any(secret in one for secret in secrets)]


def _refusals(tmp_path: Path, path: Path, key: str) -> Iterator[BaseException]:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    for trial in (
        lambda: SqliteStore(path, key=OTHER),
        lambda: SqliteStore(path, key=key, vfs="unix"),
        lambda: Memory(path, encryption_key="short"),
        lambda: Memory(path, encryption_key=[OTHER]),
        lambda: _copy_to_nowhere(path, key),
    ):
        with pytest.raises(RemanenceError) as raised:
            trial()
        yield raised.value


def _copy_to_nowhere(path: Path, key: str) -> None:
    """The words of SQLite's own error hold the address of the copy, and that its key."""
    from remanence.store.sqlite.backups import rewrite_into
    from remanence.store.sqlite.opening import open_bare

    with closing(open_bare(str(path), key, apsw.SQLITE_OPEN_URI)) as connection:
        rewrite_into(path.parent / "no" / "where.db", connection, OTHER)


def test_results_are_those_of_a_plain_store(tmp_path: Path, key: str) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    texts = [
        f"Person {n % 7} spoke of {topic} in town {n % 5}"
        for n, topic in enumerate(
            ["tea", "boats", "maps", "violins", "rain", "bread", "stars", "salt"] * 12
        )
    ]
    found = []
    for name, settings in (("plain.db", {}), ("encrypted.db", {"encryption_key": key})):
        ids = iter(range(1, 10**6))
        maker = IdMaker(lambda ids=ids: next(ids), lambda n: bytes(n))
        clock = FixedClock(now)
        with Memory(tmp_path / name, clock=clock, ids=maker, **settings) as opened:
            for n, text in enumerate(texts):
                opened.add(text, user_id="u", happened_at=now - timedelta(hours=n))
            asked = ("who spoke of tea?", "violins in town 3", "person 4", "the sea", "bread")
            found.append([_told(opened, question) for question in asked])
    assert found[0] == found[1]
    assert all(found[0])


def _told(opened: Memory, question: str) -> list[tuple[str, str, float]]:
    hits = opened.search(question, user_id="u", limit=20)
    return [(hit.memory.id, hit.memory.text, hit.score) for hit in hits]


def test_the_commands(tmp_path: Path) -> None:
    """As docs/encryption.md says it."""
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    environment |= {"REMANENCE_DATABASE": str(tmp_path / "m.db")}
    secret, new = "a secret of 24 letters..", "another of 24 letters..."

    def rem(*given: str, **more: str) -> subprocess.CompletedProcess[str]:
        env = environment | more
        return subprocess.run(
            [*REM, *given], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=HANG_S
        )

    def kept(name: str, content: str, mode: int = 0o600) -> str:
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(mode)
        return name

    assert rem("add", "Ana moved to Lisbon", "-u", "ana").returncode == 0
    assert "--key-file" in rem("encrypt").stderr
    one, two = kept("one", secret + "\nnot the key\n"), kept("two", new)
    loose = kept("loose", secret, 0o640)
    assert f"chmod 600 {loose}" in rem("encrypt", "--key-file", loose).stderr
    assert "openssl rand" in rem("encrypt", "--key-file", kept("short", "secret")).stderr

    done = json.loads(rem("encrypt", "--key-file", one, "--json").stdout)["data"]
    assert (done["encrypted"], done["changed"]) == (True, True)
    assert "already" in rem("encrypt", "--key-file", one).stdout
    assert "is encrypted" in rem("count", "-u", "ana").stderr
    assert rem("count", "-u", "ana", REMANENCE_ENCRYPTION_KEY_FILE=one).stdout == "1\n"
    assert rem("count", "-u", "ana", REMANENCE_ENCRYPTION_KEY=secret).stdout == "1\n"
    both = {"REMANENCE_ENCRYPTION_KEY_FILE": one, "REMANENCE_ENCRYPTION_KEY": secret}
    assert "not both" in rem("count", **both).stderr

    shown = rem("config", REMANENCE_ENCRYPTION_KEY=secret).stdout
    assert "encryption_key" in shown
    assert secret not in shown

    assert rem("encrypt", "--key-file", one, "--new-key-file", two).returncode == 0
    assert "not that of" in rem("count", REMANENCE_ENCRYPTION_KEY_FILE=one).stderr
    assert rem("doctor", REMANENCE_ENCRYPTION_KEY_FILE=two).returncode == 0
    assert rem("decrypt", "--key-file", two).returncode == 0
    assert rem("count", "-u", "ana").stdout == "1\n"
    again = rem("encrypt", "--key-file", one, "--new-key-file", two)
    assert "is not encrypted; encrypt it first" in again.stderr

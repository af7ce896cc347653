"""Keys without the library that encrypts: refused in words that say what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from remanence import Memory
from remanence.backends.index.bits import BitsIndex
from remanence.config import load_settings
from remanence.config.assembly.encryption import encrypt_store
from remanence.config.settings import key_in
from remanence.errors import ConfigError, StoreCorrupt, StoreError
from remanence.store.sqlite import SqliteStore
from remanence.testing.vector_index import FINGERPRINT, PieceSource, memories, queries, same

KEY = "a key of more than 16 characters"
INSTALL = "install apsw-sqlite3mc instead of apsw: pip uninstall apsw; pip install apsw-sqlite3mc"


def test_plain_apsw_refuses_a_key(tmp_path: Path) -> None:
    for trial in (
        lambda: Memory(tmp_path / "m.db", encryption_key=KEY),
        lambda: SqliteStore(tmp_path / "m.db", key=KEY),
        lambda: Memory.restore(tmp_path / "copy.db", tmp_path / "m.db", encryption_key=KEY),
    ):
        with pytest.raises(ConfigError, match=INSTALL):
            trial()
    assert list(tmp_path.iterdir()) == []


def test_plain_apsw_encrypts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    SqliteStore(path).close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=INSTALL):
        encrypt_store(load_settings({"database": str(path), "encryption_key": KEY}))
    assert path.read_bytes() == before
    SqliteStore(path).close()


def test_an_encrypted_file_is_not_called_damaged(tmp_path: Path) -> None:
    """The first bytes of one: a salt, then what SQLite's header always holds."""
    path = tmp_path / "m.db"
    head = bytes(range(100, 116)) + b"\x10\x00\x02\x02\x20\x40\x20\x20"
    path.write_bytes(head + bytes(range(256)) * 32)
    with pytest.raises(StoreError, match="is encrypted: set encryption_key_file") as raised:
        SqliteStore(path)
    assert not isinstance(raised.value, StoreCorrupt)


def test_a_server_takes_no_key() -> None:
    with pytest.raises(ConfigError, match="encrypt the disk of the server"):
        Memory("postgresql://nobody@127.0.0.1:1/nothing", encryption_key=KEY)


def test_a_key_file_is_its_owners_only(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"  {KEY}\nmore\n")
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(ConfigError, match=f"chmod 600 {file}"):
            key_in(str(file))
    file.chmod(0o600)
    assert key_in(str(file)) == KEY
    assert load_settings({"encryption_key_file": str(file)}).store_key == KEY


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 40, b"\nsecond line only, long\n"])
def test_a_key_that_protects_nothing_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="openssl rand -base64 32"):
        key_in(str(file))
    with pytest.raises(ConfigError, match="openssl rand -base64 32"):
        key_in(str(tmp_path / "nothing here"))


def test_settings_refuse_what_is_no_key() -> None:
    with pytest.raises(ConfigError, match="openssl rand -base64 32"):
        load_settings({"encryption_key": "fifteen letters"})
    with pytest.raises(ConfigError, match="not both"):
        load_settings({"encryption_key": KEY, "encryption_key_file": "key"})
    with pytest.raises(ConfigError) as raised:
        load_settings({"encryption_key": [KEY]})
    assert KEY not in str(raised.value)


def test_an_index_that_may_not_spill_keeps_to_memory() -> None:
    source = PieceSource()
    source.put(1, memories(3000, seed=1))
    spilling, staying = (
        BitsIndex(source, FINGERPRINT, identity="it", small=100, budget_bytes=0, spill=spill)
        for spill in (True, False)
    )
    for query in queries(5):
        same(spilling.nearest(1, query, 10), staying.nearest(1, query, 10))
    assert staying.stats().bytes_in_memory > 2 * spilling.stats().bytes_in_memory

"""Opening a database: the file, the library's version, and every pragma read back."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import TypedDict

import apsw

from remanence.errors import ConfigError, RemanenceError, StoreCorrupt, StoreError, StoreVersion
from remanence.model import deadline
from remanence.model.system.files import create
from remanence.store.quotas import Quotas
from remanence.store.sqlite.faults import translated, translation
from remanence.store.sqlite.words import register
from remanence.store.words import Words

CIPHER = "chacha20"  # ChaCha20-Poly1305: every page is encrypted and signed

_HEADER_BYTES = 24
_PLAIN = b"SQLite format 3\0"
# An encrypted first page begins with a random salt; the fixed numbers after it stay readable.
_FIXED, _FIXED_AT = b"\x40\x20\x20", 21


class FileForm(Enum):
    """What a file is, as far as its first bytes tell."""

    EMPTY = auto()
    PLAIN = auto()
    ENCRYPTED = auto()
    OTHER = auto()


def check_ciphers(key: str) -> None:
    """Refuse a key where the library would pass over it."""
    if key and not hasattr(apsw, "mc_version"):
        raise ConfigError(
            "A key needs a library that encrypts; install apsw-sqlite3mc instead of apsw: "
            "pip uninstall apsw; pip install apsw-sqlite3mc"
        )


def unlock(connection: apsw.Connection, key: str) -> None:
    """Give a connection its key, before anything else is asked of it."""
    if not key:
        return
    check_ciphers(key)
    try:
        connection.pragma("cipher", CIPHER)
        taken = connection.pragma("hexkey", hexadecimal(key))
    except apsw.Error:  # told without its cause, in which the key may stand
        taken = None
    if taken != "ok":
        raise StoreError(f"{connection.filename} takes no key; open it without a vfs.") from None


def check_fits(connection: apsw.Connection, path: str, key: str) -> None:
    """Refuse a file that is not encrypted with this key, or with no key where it is empty."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.NotADBError as error:
        raise _misfit(path, key, error) from error


def form_of(path: str) -> FileForm:
    """What the file is. Read by SQLite: closing a handle of ours would end the locks it holds."""
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        whole, header = connection.read("main", 0, 0, _HEADER_BYTES)
    if header.startswith(_PLAIN):
        return FileForm.PLAIN
    if not whole and not any(header):
        return FileForm.EMPTY
    return FileForm.ENCRYPTED if header[_FIXED_AT:] == _FIXED else FileForm.OTHER


def hexadecimal(key: str) -> str:
    """The key in digits, so that no character of it can mean anything in a statement."""
    return key.encode().hex()


def _misfit(path: str, key: str, error: apsw.Error) -> RemanenceError:
    form = form_of(path)
    if key and form is FileForm.PLAIN:
        return StoreError(
            f"{path} is not encrypted, and a key is set: run `rem encrypt`, or leave the key out."
        )
    if key and form is FileForm.ENCRYPTED:
        return StoreError(
            f"The key is not that of {path}: check encryption_key or its file; if it is right, "
            "the file begins with damage, so restore a backup."
        )
    if form is FileForm.ENCRYPTED:
        return StoreError(
            f"{path} is encrypted: set encryption_key_file or REMANENCE_ENCRYPTION_KEY."
        )
    return translation(error, path)


DURABILITIES = {"full": "FULL", "normal": "NORMAL"}
IN_MEMORY = ":memory:"
# Earlier libraries can corrupt a WAL database that two connections write (sqlite.org/wal.html).
OLDEST_LIBRARY = (3, 51, 3)

_SYNCHRONOUS = {"OFF": 0, "NORMAL": 1, "FULL": 2}
_WAL_BYTES_KEPT = 8 << 20
_INCREMENTAL = 2
_BEGINNINGS = 5
_SMALLEST_PAGE = 512  # sqlite.org/fileformat2.html
_STEPS = 50_000  # of SQLite's machine between two looks at the deadline: some milliseconds


class Habits(TypedDict, total=False):
    """What of `Settings` is not as usual."""

    durability: str
    busy_timeout_s: float
    cache_mb: int
    words: Words
    quotas: Quotas
    vfs: str | None
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How connections are opened. `vfs` names a registered SQLite file system.

    `key` encrypts the file; a database in memory has none.
    """

    durability: str = "full"
    busy_timeout_s: float = 10.0
    cache_mb: int = 8
    words: Words = field(default_factory=Words)
    quotas: Quotas = field(default_factory=Quotas)
    vfs: str | None = None
    key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.durability not in DURABILITIES:
            raise ConfigError(f"durability is 'full' or 'normal', not {self.durability!r}.")
        if self.busy_timeout_s < 0 or self.cache_mb < 1:
            raise ConfigError("busy_timeout_s is 0 or more, cache_mb 1 or more.")


def check_library(version: Callable[[], str] = apsw.sqlite_lib_version) -> None:
    """Refuse a SQLite library that can corrupt data."""
    found = version()
    if tuple(map(int, found.split("."))) < OLDEST_LIBRARY:
        needed = ".".join(map(str, OLDEST_LIBRARY))
        raise StoreVersion(f"SQLite {found} is older than {needed}: run `pip install -U apsw`.")


def create_file(path: str) -> None:
    """Make the file and its directory if they are missing; only the owner may read the file."""
    if path == IN_MEMORY:
        return None
    try:
        if os.path.exists(path):
            # Closing a handle of ours on it would end the locks of its connections here.
            return _check_size(path)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        create(path, exclusive=False)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path!r} cannot be opened ({error}); check the path.") from error


def _check_size(path: str) -> None:
    """Refuse a file too short for a page, which SQLite would take for a new one."""
    if 0 < (size := os.path.getsize(path)) < _SMALLEST_PAGE:
        raise StoreCorrupt(f"{path} has {size} bytes, which is no database; restore a backup.")


def begin_file(path: str, settings: Settings) -> None:
    """Write the first page of a file that is to be encrypted, so that all read one salt from it.

    A connection to an empty file makes up a salt of its own, and could not read what another one
    wrote. Who lost that race finds no database and looks again.
    """
    tries = _BEGINNINGS if settings.key and path != IN_MEMORY else 0
    while tries and _is_unbegun(path):
        tries -= 1
        with translated(path), suppress(apsw.NotADBError):
            _begin(path, settings)


def _is_unbegun(path: str) -> bool:
    return os.path.getsize(path) == 0 or os.path.exists(f"{path}-journal")


def _begin(path: str, settings: Settings) -> None:
    flags = apsw.SQLITE_OPEN_READWRITE
    with closing(apsw.Connection(path, flags=flags, vfs=settings.vfs)) as connection:
        unlock(connection, settings.key)
        connection.set_busy_timeout(int(settings.busy_timeout_s * 1000))
        connection.pragma("auto_vacuum", _INCREMENTAL)
        connection.execute("BEGIN EXCLUSIVE")
        if connection.pragma("page_count") == 0:
            connection.pragma("user_version", 0)
        connection.execute("COMMIT")


def open_writer(path: str, settings: Settings) -> apsw.Connection:
    """A connection that may write."""
    connection = _opened(path, settings)
    with translated(path):
        # Holds for a new file; one that is there takes it over when it is rewritten.
        connection.pragma("auto_vacuum", _INCREMENTAL)
        _pragma(connection, "journal_mode", "memory" if path == IN_MEMORY else "wal")
        _pragma(connection, "synchronous", _SYNCHRONOUS[DURABILITIES[settings.durability]])
        _pragma(connection, "foreign_keys", 1)
        _pragma(connection, "secure_delete", 1)
        _pragma(connection, "journal_size_limit", _WAL_BYTES_KEPT)
    return connection


def open_reader(path: str, settings: Settings) -> apsw.Connection:
    """A connection that only reads."""
    connection = _opened(path, settings)
    with translated(path):
        _pragma(connection, "query_only", 1)
    return connection


def open_bare(path: str, key: str, flags: int = 0) -> apsw.Connection:
    """A connection that has its key and nothing else; `flags` are further ones of SQLite's."""
    return _unlocked(path, Settings(key=key), flags)


def _unlocked(path: str, settings: Settings, flags: int = 0) -> apsw.Connection:
    flags |= apsw.SQLITE_OPEN_READWRITE
    if path == IN_MEMORY:
        flags |= apsw.SQLITE_OPEN_URI  # so that an encrypted copy of it can be made
    with translated(path):
        connection = apsw.Connection(path, flags=flags, vfs=settings.vfs)
        if path == IN_MEMORY:
            return connection
        try:
            unlock(connection, settings.key)
            connection.set_busy_timeout(int(settings.busy_timeout_s * 1000))
            check_fits(connection, path, settings.key)
        except BaseException:
            connection.close()
            raise
    return connection


def _opened(path: str, settings: Settings) -> apsw.Connection:
    connection = _unlocked(path, settings)
    with translated(path):
        register(connection, settings.words)
        connection.set_progress_handler(deadline.over, _STEPS)
        _pragma(connection, "cache_size", -1024 * settings.cache_mb)
        _pragma(connection, "temp_store", 2)
        _pragma(connection, "trusted_schema", 0)
        if path != IN_MEMORY:
            _pragma(connection, "mmap_size", 0)
    return connection


def _pragma(connection: apsw.Connection, name: str, value: str | int) -> None:
    connection.pragma(name, value)
    found = connection.pragma(name)
    if found != value:
        raise StoreError(f"SQLite kept {name} = {found!r} where {value!r} is needed.")

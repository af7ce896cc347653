"""The key of an encrypted file: every connection gets it first; one that does not fit is told.

SQLite3 Multiple Ciphers (the package apsw-sqlite3mc) encrypts file and log page by page; plain
apsw knows no key and takes the statement that gives one as a comment.
"""

from __future__ import annotations

from contextlib import closing
from enum import Enum, auto

import apsw

from remanence.errors import ConfigError, RemanenceError, StoreError
from remanence.store.sqlite.faults import translation

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

"""The file of the settings and its receipts put under a key, under another one, or under none."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from remanence.config import Settings
from remanence.config.assembly.indexes import index_file, index_kind
from remanence.config.assembly.stores import MEMORY, check_there, database_path, key_of
from remanence.errors import ConfigError, InvalidInput, StoreError
from remanence.layers.erasure.receipts import SUFFIX, Tombstones, told_of
from remanence.model.erasure import Erasure
from remanence.store.files import put
from remanence.store.sqlite.encrypting import SealedLines, last_of, overwrite
from remanence.store.sqlite.opening import FileForm, create_file, form_of

NO_KEY = (
    "Say which key: `--key-file FILE`, or set encryption_key_file; make one with "
    "`(umask 077; openssl rand -base64 32 > FILE)`."
)


def encrypt_store(settings: Settings, new_key: str = "") -> bool:
    """Encrypt the file with the key of the settings; whether it was not encrypted before.

    With `new_key`, a file that has the settings' key gets that one.
    """
    path, key = _file(settings), _key(settings)
    index_kind(settings)
    plain = _is_plain(path)
    if plain and new_key:
        raise InvalidInput(f"{path} is not encrypted; encrypt it first, without a new key.")
    if not plain and not new_key:
        _check_opens(path, key)
    else:
        _recrypt(path, "" if plain else key, new_key or key)
    _settle(path, settings, new_key or key)
    return plain


def decrypt_store(settings: Settings) -> bool:
    """Take the key of the settings off the file; whether it was encrypted before."""
    path = _file(settings)
    plain = _is_plain(path)
    if not plain:
        _recrypt(path, _key(settings), "")
    _settle(path, settings, "")
    return not plain


def _recrypt(path: Path, old: str, new: str) -> None:
    from remanence.store.sqlite.encrypting import recrypt

    recrypt(path, old, new, lambda: prepare(Path(f"{path}{SUFFIX}"), old, new))


def _settle(path: Path, settings: Settings, key: str) -> None:
    """What lies beside the file follows it; also after one that was killed in between."""

    tombstones_at(Path(f"{path}{SUFFIX}"), key)
    index = index_file(replace(settings, encryption_key="", encryption_key_file=""))
    if key and index is not None:
        overwrite(index)


def _check_opens(path: Path, key: str) -> None:
    from remanence.store.sqlite.opening import open_bare

    open_bare(str(path), key).close()


def _is_plain(path: Path) -> bool:

    form = form_of(str(path))
    if form is FileForm.EMPTY:
        raise InvalidInput(f"{path} is empty; opened with a key, it is encrypted from the start.")
    return form is not FileForm.ENCRYPTED


def _file(settings: Settings) -> Path:
    key_of(settings)
    check_there(settings.database_url)
    path = database_path(settings.database_url)
    if path == MEMORY:
        raise ConfigError("A memory that lives in RAM is not encrypted; name a file with --db.")
    return Path(path)


def _key(settings: Settings) -> str:
    if not settings.encrypted:
        raise ConfigError(NO_KEY)
    return settings.store_key


NEXT = ".next"


class SealedTombstones(Tombstones):
    """Receipts under the database's key."""

    def __init__(self, path: Path, key: str) -> None:
        super().__init__(path)
        self._sealed = SealedLines(path, key)

    def add(self, receipt: Erasure) -> None:
        """Write a receipt, for good."""
        self._sealed.add([json.dumps(told_of(receipt), ensure_ascii=False).encode()])

    def _content(self) -> bytes:
        return b"\n".join(self._sealed.read())


def tombstones_at(path: Path, key: str) -> Tombstones:
    """The receipts at a path; a change of key that was cut off there is completed."""
    overwrite(_draft(path))
    if _next(path).exists():
        adopt(path, key)
    elif key and path.exists() and form_of(str(path)) is FileForm.OTHER:
        prepare(path, "", key)
        adopt(path, key)
    return SealedTombstones(path, key) if key else Tombstones(path)


def prepare(path: Path, old: str, new: str) -> None:
    """Write the receipts under another key beside them, where the change of key finds them."""
    if not path.exists():
        return
    content = SealedTombstones(path, old)._content() if old else path.read_bytes()
    draft = _draft(path)
    overwrite(draft)
    create_file(str(draft))
    if new:
        SealedLines(draft, new).add(content.splitlines())
    else:
        draft.write_bytes(content + b"\n" if content else b"")
    put(draft, _next(path))


def adopt(path: Path, key: str) -> None:
    """Let the receipts of the key that the database has now take the place of the others."""
    following = _next(path)
    if not following.exists():
        return
    if path.exists() and _opens(path, key):
        overwrite(following)
    elif _opens(following, key):
        with last_of(path) if path.exists() else nullcontext():
            put(following, path)


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.draft")


def _next(path: Path) -> Path:
    return path.with_name(path.name + NEXT)


def _opens(path: Path, key: str) -> bool:
    form = form_of(str(path))
    if not key:
        return form is not FileForm.ENCRYPTED
    try:
        SealedLines(path, key).read()
    except StoreError:
        return False
    return form is FileForm.ENCRYPTED

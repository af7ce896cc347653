"""The file of the settings put under a key, under another one, or under none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from remanence.config import Settings
from remanence.errors import ConfigError, InvalidInput
from remanence.layers.erasure.tombstones import SUFFIX
from remanence.wiring.indexes import index_file, index_kind
from remanence.wiring.stores import MEMORY, check_there, database_path, key_of

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
    from remanence.wiring.tombstones import prepare

    recrypt(path, old, new, lambda: prepare(Path(f"{path}{SUFFIX}"), old, new))


def _settle(path: Path, settings: Settings, key: str) -> None:
    """What lies beside the file follows it; also after one that was killed in between."""
    from remanence.store.sqlite.encrypting import overwrite
    from remanence.wiring.tombstones import tombstones_at

    tombstones_at(Path(f"{path}{SUFFIX}"), key)
    index = index_file(replace(settings, encryption_key="", encryption_key_file=""))
    if key and index is not None:
        overwrite(index)


def _check_opens(path: Path, key: str) -> None:
    from remanence.store.sqlite.opening import open_bare

    open_bare(str(path), key).close()


def _is_plain(path: Path) -> bool:
    from remanence.store.sqlite.keys import Form, form_of

    form = form_of(str(path))
    if form is Form.EMPTY:
        raise InvalidInput(f"{path} is empty; opened with a key, it is encrypted from the start.")
    return form is not Form.ENCRYPTED


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

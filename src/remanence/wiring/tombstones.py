"""The file of receipts beside a database: encrypted where the database is."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

from remanence.errors import StoreError
from remanence.layers.erasure.receipts import told_of
from remanence.layers.erasure.tombstones import Tombstones
from remanence.model.erasure import Erasure
from remanence.store.files import put
from remanence.store.sqlite.encrypting import last_of, overwrite
from remanence.store.sqlite.keys import Form, form_of
from remanence.store.sqlite.opening import create_file
from remanence.store.sqlite.sealed import SealedLines

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
    elif key and path.exists() and form_of(str(path)) is Form.OTHER:
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
        return form is not Form.ENCRYPTED
    try:
        SealedLines(path, key).read()
    except StoreError:
        return False
    return form is Form.ENCRYPTED

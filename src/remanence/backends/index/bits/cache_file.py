"""The index's file: sign bits of large partitions, so that a start need not read the store.

Layout: a head of fixed size (magic, place of the directory, owner, digest), the arrays of each
partition, the directory as JSON. Whatever is not exactly as it was written counts as absent.
"""

from __future__ import annotations

import json
import logging
import os
import struct
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass
from glob import escape
from hashlib import blake2b
from pathlib import Path
from typing import IO

import numpy as np

from remanence.backends.index.bits.signs import SignBits, words_for
from remanence.model.embedding import Fingerprint
from remanence.model.system.files import remove, replace

_MAGIC = b"REMBITS2"
_PLACE = struct.Struct("<8sQQ16s")
_HEAD = _PLACE.size + 16
_TEMPORARY = ".part"
_ABANDONED_S = 3600
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VectorOwner:
    """Whose vectors the file holds; a file of any other owner is not read."""

    identity: str
    fingerprint: Fingerprint

    def digest(self) -> bytes:
        """A digest of the owner and of the machine's byte order."""
        text = json.dumps([self.identity, astuple(self.fingerprint), sys.byteorder])
        return _digest(text.encode())


@dataclass(frozen=True, slots=True)
class CachedBits:
    """Where a partition's arrays lie, and how far they have followed its feed."""

    partition: int
    position: int
    rows: int
    key_bytes: int
    offset: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class CacheFile:
    """A directory that was read or written; the arrays are read when asked for."""

    path: Path
    dimension: int
    entries: dict[int, CachedBits]

    def read(self, partition: int) -> SignBits | None:
        """A partition's sign bits, or nothing if they are not there as they were written."""
        entry = self.entries.get(partition)
        if entry is None:
            return None
        try:
            raw = _read_at(self.path, entry.offset, entry.size)
        except (OSError, ValueError):
            return None
        return self._decoded(entry, raw) if _digest(raw).hex() == entry.digest else None

    def _decoded(self, entry: CachedBits, raw: bytearray) -> SignBits:
        split = entry.rows * entry.key_bytes
        keys = np.frombuffer(raw, f"i{entry.key_bytes}", entry.rows)
        planes = np.frombuffer(raw, np.uint64, offset=split + -split % 8)
        return SignBits(keys, planes.reshape(words_for(self.dimension), entry.rows))


def opened(path: Path, owner: VectorOwner) -> CacheFile | None:
    """The directory of the owner's file, or nothing if there is any doubt about it."""
    try:
        return _opened(path, owner)
    except (OSError, ValueError) as problem:
        _log.info("index file %s is not used: %s", path, problem)
        return None


def written(
    path: Path, owner: VectorOwner, partitions: Iterable[tuple[int, int, SignBits]]
) -> CacheFile | None:
    """Replace the file by these (partition, position, bits); nothing if that could not be done."""
    try:
        _sweep(path)
        with _replacing(path) as file:
            entries = [_write_bits(file, *partition) for partition in partitions]
            _write_directory(file, owner, entries)
    except OSError as problem:
        _log.warning("index file %s is not written: %s", path, problem)
        return None
    by_partition = {entry.partition: entry for entry in entries}
    return CacheFile(path, owner.fingerprint.dimension, by_partition)


def removed(path: Path) -> None:
    """Remove the file, if there is one that can be removed."""
    with suppress(OSError):
        remove(path)


def _opened(path: Path, owner: VectorOwner) -> CacheFile:
    head = bytes(_read_at(path, 0, _HEAD))
    magic, offset, size, whose = _PLACE.unpack(head[: _PLACE.size])
    if magic != _MAGIC or whose != owner.digest():
        raise ValueError("it belongs to another store, embedder or version")
    if offset + size > path.stat().st_size:
        raise ValueError("it is cut short")
    directory = bytes(_read_at(path, offset, size))
    if _digest(head[: _PLACE.size] + directory) != head[_PLACE.size :]:
        raise ValueError("its directory is damaged")
    entries = {entry["partition"]: CachedBits(**entry) for entry in json.loads(directory)}
    return CacheFile(path, owner.fingerprint.dimension, entries)


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file, readable by its owner only, that takes the place of `path` at the end."""
    handle, name = tempfile.mkstemp(_TEMPORARY, path.name + ".", path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(bytes(_HEAD))
            yield file
            file.flush()
            os.fsync(file.fileno())
        replace(Path(name), path)
    except BaseException:
        removed(Path(name))
        raise


def _write_directory(file: IO[bytes], owner: VectorOwner, entries: list[CachedBits]) -> None:
    directory = json.dumps([asdict(entry) for entry in entries]).encode()
    place = _PLACE.pack(_MAGIC, file.tell(), len(directory), owner.digest())
    file.write(directory)
    file.seek(0)
    file.write(place + _digest(place + directory))


def _write_bits(file: IO[bytes], partition: int, position: int, bits: SignBits) -> CachedBits:
    offset = file.tell()
    keys = bits.keys.tobytes()
    blocks = (
        keys,
        bytes(-len(keys) % 8),
        np.ascontiguousarray(np.asarray(bits.planes)).data.cast("B"),
    )
    hashed = blake2b(digest_size=16)
    for block in blocks:
        hashed.update(block)
        file.write(block)
    size = file.tell() - offset
    rows, key_bytes = len(bits), bits.keys.itemsize
    return CachedBits(partition, position, rows, key_bytes, offset, size, hashed.hexdigest())


def _sweep(path: Path) -> None:
    """Remove what a writer left behind that was killed long ago."""
    for left in path.parent.glob(f"{escape(path.name)}.*{_TEMPORARY}"):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - _ABANDONED_S:
                left.unlink()


def _read_at(path: Path, offset: int, size: int) -> bytearray:
    raw = bytearray(size)
    with path.open("rb") as file:
        file.seek(offset)
        if file.readinto(raw) != size:
            raise ValueError("it is cut short")
    return raw


def _digest(raw: bytes | bytearray) -> bytes:
    return blake2b(raw, digest_size=16).digest()

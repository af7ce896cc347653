"""Texts in fewer bytes: a codec's number, the number of a dictionary, and what the codec made.

A dictionary is trained on a tenant's own texts and kept twice. It holds snippets of memories, and
of few, because it has to be made anew when one of them is erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib import import_module
from types import ModuleType

import numpy as np
import zstandard

from remanence.errors import InvalidInput, StoreCorrupt, StoreError
from remanence.model.ports.store import Keys
from remanence.model.tier import TextCodec
from remanence.store.rows import Row

# On chat turns of 140 bytes, held-out: 256 memories and 16 KB give 2.02 : 1, these 2.14 : 1, all
# of 1,040 and 64 KB 2.23 : 1; no dictionary 1.25 : 1.
SOURCES = 512
BODY_BYTES = 32 << 10
LEVEL = 3

_OF_EACH = 2048
_LEAST_SOURCES = 16
_GROWN = 4  # a tenant with so many times the memories gets a new one
# A text has at most a million characters (model.accept); a history before that limit might not.
MOST_BYTES = 16 << 20
NO_DICTIONARY = 0
_CODES = {TextCodec.ZSTD: 1, TextCodec.LZ4: 2, TextCodec.SNAPPY: 3}
_CODECS = {code: codec for codec, code in _CODES.items()}
_MAGIC = zstandard.FRAME_HEADER  # every frame begins with it, so it is not stored
_CONTINUES = 0x80


@dataclass(slots=True)
class Dictionary:
    """One version of a tenant's dictionary. Of one thread: its contexts are not to be shared."""

    number: int
    body: bytes
    _compressor: zstandard.ZstdCompressor = field(init=False)
    _decompressor: zstandard.ZstdDecompressor = field(init=False)

    def __post_init__(self) -> None:
        content = zstandard.ZstdCompressionDict(self.body)
        self._compressor = zstandard.ZstdCompressor(
            level=LEVEL, dict_data=content, write_checksum=False, write_dict_id=False
        )
        self._decompressor = zstandard.ZstdDecompressor(dict_data=content)

    def compress(self, raw: bytes) -> bytes:
        """A frame without its first four bytes, which are always the same."""
        return self._compressor.compress(raw)[len(zstandard.FRAME_HEADER) :]

    def decompress(self, frame: bytes) -> bytes:
        """What a whole frame holds."""
        return self._decompressor.decompress(frame, allow_extra_data=False)


def trained(texts: Sequence[str]) -> bytes | None:
    """A dictionary for texts like these; none if they are too few to learn from."""
    samples: list[bytes | bytearray | memoryview] = [text.encode()[:_OF_EACH] for text in texts]
    if len(samples) < _LEAST_SOURCES:
        return None
    room = min(BODY_BYTES, sum(map(len, samples)) // 2)
    try:
        return zstandard.train_dictionary(room, samples, level=LEVEL).as_bytes()
    except zstandard.ZstdError:
        return None  # too little, or all the same: frames without a dictionary do as well


def chosen(keys: Keys) -> Keys:
    """The memories to learn from: spread over all of these."""
    if len(keys) <= SOURCES:
        return keys
    return keys[np.linspace(0, len(keys) - 1, SOURCES).astype(np.int64)]


def outgrown(learnt_among: int, memories: int) -> bool:
    """Whether a dictionary that was trained among so many memories should have a successor."""
    return memories >= _GROWN * max(learnt_among, _LEAST_SOURCES)


def body_digest(body: bytes) -> bytes:
    """What tells whether a dictionary is whole."""
    return blake2b(body, digest_size=16).digest()


def whole(number: int, digest: bytes, body: bytes, spare: bytes) -> Dictionary:
    """The dictionary from whichever of its two copies is whole."""
    for copy in (body, spare):
        if body_digest(copy) == digest:
            return Dictionary(number, copy)
    raise lost(number)


def damaged(rows: Iterable[Row]) -> list[tuple[int, bytes | None]]:
    """Of rows of number, digest and copies: those with a damaged copy, each with a whole one."""
    found: list[tuple[int, bytes | None]] = []
    for number, digest, *copies in rows:
        good = [copy for copy in copies if body_digest(copy) == digest]
        if len(good) < len(copies):
            found.append((number, good[0] if good else None))
    return found


def lost(number: int) -> StoreCorrupt:
    """The error that names a dictionary which is not there or damaged in both copies."""
    return StoreCorrupt(
        f"The dictionary {number} of compressed texts is damaged; run `rem doctor`, and restore a "
        "backup if it cannot mend it."
    )


Find = Callable[[int], Dictionary]


class Packer:
    """Packs texts with one codec, and a dictionary if it is zstd's. Of one thread."""

    def __init__(self, codec: TextCodec, dictionary: Dictionary | None = None) -> None:
        self._head = bytes([_CODES[codec]])
        self._compress = _COMPRESSORS[codec]()
        self.dictionary = NO_DICTIONARY
        if codec is TextCodec.ZSTD and dictionary is not None:
            self.dictionary = dictionary.number
            self._compress = dictionary.compress

    def packed(self, text: str) -> bytes | None:
        """The text in fewer bytes, or nothing if it would not get smaller."""
        raw = text.encode()
        found = self._head + _varint(self.dictionary) + self._compress(raw)
        return found if len(found) < len(raw) and len(raw) <= MOST_BYTES else None


def codec_of(name: str) -> TextCodec:
    """The codec of that name, if it can be used here."""
    try:
        codec = TextCodec(name)
    except ValueError as error:
        known = ", ".join(TextCodec)
        raise InvalidInput(f"The codec is one of {known}; got {name!r}.") from error
    _COMPRESSORS[codec]()
    return codec


def dictionary_of(packed: bytes) -> int:
    """The number of the dictionary that a packed text needs, 0 for none."""
    return _read_varint(packed, 1)[0] if packed else NO_DICTIONARY


def unpacked(packed: bytes, find: Find) -> str:
    """The text that was packed; `StoreCorrupt` if it is not whole."""
    if not packed or packed[0] not in _CODECS:
        raise _damaged("of no known codec")
    codec = _CODECS[packed[0]]
    number, start = _read_varint(packed, 1)
    body = packed[start:]
    try:
        if codec is TextCodec.ZSTD:
            return _from_zstd(body, find(number) if number else None).decode()
        return _DECOMPRESSORS[codec](body).decode()
    except UnicodeDecodeError as error:
        raise _damaged("no text") from error


def _from_zstd(body: bytes, dictionary: Dictionary | None) -> bytes:
    frame = _MAGIC + body
    try:
        size = zstandard.frame_content_size(frame)
        if not 0 <= size <= MOST_BYTES:
            raise _damaged("of no possible length")
        if dictionary is not None:
            return dictionary.decompress(frame)
        return zstandard.ZstdDecompressor().decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise _damaged("not to be decompressed") from error


def _zstd() -> Callable[[bytes], bytes]:
    compressor = zstandard.ZstdCompressor(
        level=LEVEL, write_checksum=False, write_content_size=True
    )
    return lambda raw: compressor.compress(raw)[len(_MAGIC) :]


def _lz4() -> Callable[[bytes], bytes]:
    block = _cramjam().lz4
    return lambda raw: _varint(len(raw)) + bytes(block.compress_block(raw, store_size=False))


def _snappy() -> Callable[[bytes], bytes]:
    raw_form = _cramjam().snappy
    return lambda raw: bytes(raw_form.compress_raw(raw))


def _from_lz4(body: bytes) -> bytes:
    size, start = _bounded(body)
    cramjam = _cramjam()
    try:
        return bytes(cramjam.lz4.decompress_block(body[start:], output_len=size))
    except cramjam.DecompressionError as error:
        raise _damaged("not to be decompressed") from error


def _from_snappy(body: bytes) -> bytes:
    _bounded(body)  # its own head is the length, too
    cramjam = _cramjam()
    try:
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise _damaged("not to be decompressed") from error


def _bounded(body: bytes) -> tuple[int, int]:
    size, start = _read_varint(body, 0)
    if size > MOST_BYTES:
        raise _damaged("of no possible length")
    return size, start


def _cramjam() -> ModuleType:
    try:
        return import_module("cramjam")
    except ImportError as error:
        raise StoreError(
            "lz4 and snappy need the extra `codecs`: run `pip install remanence[codecs]`."
        ) from error


_COMPRESSORS = {TextCodec.ZSTD: _zstd, TextCodec.LZ4: _lz4, TextCodec.SNAPPY: _snappy}
_DECOMPRESSORS = {TextCodec.LZ4: _from_lz4, TextCodec.SNAPPY: _from_snappy}


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= _CONTINUES:
        out.append(number & 0x7F | _CONTINUES)
        number >>= 7
    return bytes([*out, number])


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 63, 7):
        if at >= len(raw):
            break
        number |= (raw[at] & 0x7F) << shift
        at += 1
        if raw[at - 1] < _CONTINUES:
            return number, at
    raise _damaged("cut short")


def _damaged(how: str) -> StoreCorrupt:
    return StoreCorrupt(f"A packed text is {how}; run `rem doctor`.")

"""Texts in fewer bytes: a codec's number, the number of a dictionary, and what the codec made.

A dictionary holds snippets of memories, so it knows which ones; see `store.dictionaries`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import zstandard

from remanence.errors import InvalidInput, StoreCorrupt, StoreError
from remanence.model.tier import TextCodec
from remanence.store.dictionaries import Dictionary

# A text has at most a million characters (model.accept); a history before that limit might not.
MOST_BYTES = 16 << 20
LEVEL = 3
NO_DICTIONARY = 0

_CODES = {TextCodec.ZSTD: 1, TextCodec.LZ4: 2, TextCodec.SNAPPY: 3}
_CODECS = {code: codec for codec, code in _CODES.items()}
_MAGIC = zstandard.FRAME_HEADER  # every frame begins with it, so it is not stored
_CONTINUES = 0x80

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

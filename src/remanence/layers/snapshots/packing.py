"""References to memories, packed small: 16 bytes of id and a version each, compressed."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")

ID_BYTES = 16
NUMBER_BYTES = 4


def packed(versions: Mapping[str, int]) -> str:
    """Ids and their versions as text. Apart from the ids, versions compress to almost nothing."""
    ids = bytes.fromhex("".join(versions).replace("-", ""))
    numbers = np.fromiter(versions.values(), "<u4", len(versions)).tobytes()
    return b64encode(zlib.compress(ids + numbers)).decode("ascii")


def unpacked(text: str, most: int) -> dict[str, int]:
    """What `packed` packed, in order; `ValueError` if that it is not, or more than `most`."""
    raw = _unpressed(b64decode(text, validate=True), most * (ID_BYTES + NUMBER_BYTES))
    count, rest = divmod(len(raw), ID_BYTES + NUMBER_BYTES)
    if rest:
        raise ValueError("The references are cut off.")
    digits = raw[: count * ID_BYTES].hex()
    numbers = np.frombuffer(raw, "<u4", count, count * ID_BYTES).tolist()
    return {_id(digits, n): number for n, number in enumerate(numbers)}


def _unpressed(data: bytes, most: int) -> bytes:
    """Few bytes can unpack to very many, so only so many are unpacked."""
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(raw) > most or not unpacking.eof:
        raise ValueError("The references are cut off, or more than there can be.")
    return raw


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in runs of at most `size`."""
    return (items[n : n + size] for n in range(0, len(items), size))


def _id(digits: str, number: int) -> str:
    """The id of that number, spelled as ids are."""
    h = digits[number * 32 : number * 32 + 32]
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"

"""Dictionaries that texts are compressed with: trained on a tenant's own texts, kept twice.

A dictionary is made of few memories, because it has to be made anew when one of them is erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import zstandard

from remanence.errors import StoreCorrupt
from remanence.ports.store import Keys

# On chat turns of 140 bytes, held-out: 256 memories and 16 KB give 2.02 : 1, these 2.14 : 1, all
# of 1,040 and 64 KB 2.23 : 1; no dictionary 1.25 : 1.
SOURCES = 512
BODY_BYTES = 32 << 10
LEVEL = 3

_OF_EACH = 2048
_LEAST_SOURCES = 16
_GROWN = 4  # a tenant with so many times the memories gets a new one


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


def lost(number: int) -> StoreCorrupt:
    """The error that names a dictionary which is not there or damaged in both copies."""
    return StoreCorrupt(
        f"The dictionary {number} of compressed texts is damaged; run `rem doctor`, and restore a "
        "backup if it cannot mend it."
    )

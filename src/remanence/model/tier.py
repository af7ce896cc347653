"""Tiers: how much room a memory takes by age, what packing did, and what each tier holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """How tightly a memory is stored. All of it is read and searched alike.

    Hot: text as it is, vectors in 8 bits. Cool: text compressed, vectors in 4 bits. Cold: vectors
    in 1 bit, and half of each token's code.
    """

    HOT = "hot"
    COOL = "cool"
    COLD = "cold"


VECTOR_BITS = {Tier.HOT: 8, Tier.COOL: 4, Tier.COLD: 1}


class TextCodec(StrEnum):
    """What texts are compressed with. Only zstd has dictionaries; a text that would grow stays."""

    ZSTD = "zstd"
    LZ4 = "lz4"
    SNAPPY = "snappy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """What one call of `pack` or `unpack` did: memories seen to, texts and pieces changed."""

    memories: int = 0
    texts: int = 0
    pieces: int = 0

    def __add__(self, other: Packed) -> Packed:
        return Packed(
            memories=self.memories + other.memories,
            texts=self.texts + other.texts,
            pieces=self.pieces + other.pieces,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TierUse:
    """What one tier of a tenant takes, in bytes: as stored, and as it would be without packing.

    `text_raw` counts a character as one byte; `vectors_raw` is float32, `codes_raw` 16 bytes a
    token. History and the text index are in no tier.
    """

    tier: Tier
    memories: int
    text_raw: int
    text_stored: int
    vectors_raw: int
    vectors_stored: int
    codes_raw: int
    codes_stored: int

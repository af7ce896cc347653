"""What an embedder gives back: the vector of a text, the codes of its tokens, and who made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput

FloatArray: TypeAlias = NDArray[np.float32]
ByteArray: TypeAlias = NDArray[np.uint8]
Span: TypeAlias = tuple[int, int]

CODE_BITS = 128
CODE_BYTES = CODE_BITS // 8
# A piece of the cold tier keeps half of each code, after this one byte.
HALF_CODES = b"\x40"
HALF_CODE_BYTES = CODE_BYTES // 2


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Who made a vector. Vectors whose fingerprints differ are never compared.

    `digest` covers the model's own bytes, `pooling` how tokens became one vector,
    `codes` the version of the token codes ("" when the embedder makes none).
    """

    name: str
    digest: str
    dimension: int
    pooling: str
    codes: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.digest[:16]}:{self.dimension}:{self.pooling}:{self.codes}"


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """A text's unit vector, and one 16-byte sign code per content token (none if not supported)."""

    vector: FloatArray  # (dimension,), length 1
    codes: ByteArray  # (tokens, CODE_BYTES)


@dataclass(frozen=True, slots=True, eq=False)
class QueryEmbedding:
    """A question's unit vector, and its content tokens in float with their place in the text."""

    vector: FloatArray  # (dimension,), length 1
    tokens: FloatArray  # (tokens, CODE_BITS), each of length 1
    spans: tuple[Span, ...]  # where each of those tokens stands in the question


def quantised(vector: FloatArray) -> bytes:
    """A unit vector in 8 bits a dimension: a float32 step, then the int8 multiples of it."""
    step = np.float32(max(float(np.abs(vector).max()), 1e-12) / 127)
    return bytes(step.tobytes() + np.rint(vector / step).astype(np.int8).tobytes())


def restored(packed: list[bytes]) -> FloatArray:
    """The float vectors of `quantised` ones, a row each."""
    if not packed:
        return np.empty((0, 0), np.float32)
    return floats_of(np.frombuffer(b"".join(packed), np.int8).reshape(len(packed), -1))


def floats_of(rows: NDArray[np.int8]) -> FloatArray:
    """The same from the bytes of each, a row each."""
    steps = np.ascontiguousarray(rows[:, :4]).view(np.float32)
    values = rows[:, 4:].astype(np.float32)
    values *= steps
    return values


def unit_of(vector: FloatArray, fingerprint: Fingerprint) -> FloatArray:
    """A query scaled to length 1; `InvalidInput` for one that this embedder cannot have made."""
    query = np.asarray(vector, np.float32)
    if query.shape != (fingerprint.dimension,) or not np.isfinite(query).all():
        raise InvalidInput(
            f"vector must be {fingerprint.dimension} finite numbers, "
            f"as {fingerprint.name} makes them."
        )
    unit: FloatArray = query / max(float(np.linalg.norm(query)), 1e-12)
    return unit

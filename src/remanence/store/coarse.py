"""Pieces in fewer bytes: vectors in 4 bits or 1 bit a dimension, and half of each token's code.

A vector is known by its length. Signs never change, so an index of sign bits stays right, and the
step is such that a dot product with the vector's own direction comes out as it was. Codes are cut
to the first half of their bits, after one byte that says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.model.embedding import (
    CODE_BYTES,
    HALF_CODE_BYTES,
    HALF_CODES,
    Fingerprint,
    FloatArray,
)
from remanence.model.ports.pieces import StoredPiece, StoredPieces
from remanence.model.tier import VECTOR_BITS, Tier
from remanence.model.write import Piece

STEP_BYTES = 4
LEAST_DIMENSION = 8  # below, the lengths of the forms could be the same

# Steps to try, in parts of the mean square; the best of 16 levels depends on how values spread.
_SPREADS = (0.25, 0.3, 0.35, 0.42, 0.5, 0.8, 1.5)
_LEVELS = 16
MAX_PARTS = 1 << 14


def vector_bytes(dimension: int, bits: int) -> int:
    """How long a vector of that form is."""
    return STEP_BYTES + -(-dimension * bits // 8)


def bits_of(vector: bytes, dimension: int) -> int | None:
    """The form of a stored vector; nothing if it is not of that dimension."""
    forms = VECTOR_BITS.values() if dimension >= LEAST_DIMENSION else (8,)
    return next((bits for bits in forms if len(vector) == vector_bytes(dimension, bits)), None)


def coarser(vectors: Sequence[bytes], dimension: int, bits: int) -> list[bytes]:
    """The vectors in that many bits a dimension; those that are as coarse already, as they are."""
    found = list(vectors)
    forms = [bits_of(vector, dimension) for vector in found]
    fine = [at for at, form in enumerate(forms) if form is not None and form > bits]
    if fine and dimension >= LEAST_DIMENSION:
        steps, values = _split(opened([found[at] for at in fine], dimension))
        pack = _in_one if bits == VECTOR_BITS[Tier.COLD] else _in_four
        shares, packed = pack(values.astype(np.float32))
        for at, vector in zip(fine, _joined(steps * shares, packed), strict=True):
            found[at] = vector
    return found


def opened(vectors: Sequence[bytes], dimension: int) -> list[bytes]:
    """The vectors as `quantised` lays them out, whatever their form; others as they are."""
    found = list(vectors)
    if dimension < LEAST_DIMENSION or {*map(len, found)} == {vector_bytes(dimension, 8)}:
        return found
    for bits, values_of in ((4, _from_four), (1, _from_one)):
        size = vector_bytes(dimension, bits)
        rows = [at for at, vector in enumerate(found) if len(vector) == size]
        if rows:
            raw = np.frombuffer(b"".join(found[at] for at in rows), np.uint8).reshape(-1, size)
            values = values_of(raw[:, STEP_BYTES:], dimension).view(np.uint8)
            whole = np.concatenate([raw[:, :STEP_BYTES], values], axis=1)
            for at, row in zip(rows, whole, strict=True):
                found[at] = row.tobytes()
    return found


def opened_pieces(pieces: StoredPieces, dimension: int) -> StoredPieces:
    """The pieces with their vectors as `quantised` lays them out."""
    if (pieces.vector_sizes() == vector_bytes(dimension, 8)).all():
        return pieces
    vectors = opened([piece.vector for piece in pieces], dimension)
    changed = zip(pieces, vectors, strict=True)
    return StoredPieces.of(piece._replace(vector=vector) for piece, vector in changed)


def halved(codes: bytes) -> bytes:
    """Token codes with half of their bits, if they are whole."""
    if not codes or len(codes) % CODE_BYTES:
        return codes
    rows = np.frombuffer(codes, np.uint8).reshape(-1, CODE_BYTES)
    return HALF_CODES + rows[:, :HALF_CODE_BYTES].tobytes()


def are_codes(codes: bytes) -> bool:
    """Whether these are token codes, whole or halved."""
    if len(codes) % CODE_BYTES == 0:
        return True
    return codes[:1] == HALF_CODES and (len(codes) - 1) % HALF_CODE_BYTES == 0


def is_whole(piece: Piece | StoredPiece, dimension: int) -> bool:
    """Whether a piece is as its embedder made it, not packed."""
    whole = len(piece.vector) == STEP_BYTES + dimension
    return whole and len(piece.codes) % CODE_BYTES == 0


def _split(vectors: Sequence[bytes]) -> tuple[FloatArray, NDArray[np.int8]]:
    raw = np.frombuffer(b"".join(vectors), np.int8).reshape(len(vectors), -1)
    steps = np.ascontiguousarray(raw[:, :STEP_BYTES]).view(np.float32)[:, 0]
    return steps, raw[:, STEP_BYTES:]


def _in_four(values: FloatArray) -> tuple[FloatArray, NDArray[np.uint8]]:
    """By how much the step grows, and two dimensions a byte."""
    spread = np.sqrt(np.mean(values**2, axis=1, keepdims=True)) + np.float32(1e-12)
    best = np.full(len(values), -np.inf, np.float32)
    codes = np.zeros((len(values), values.shape[1] + values.shape[1] % 2), np.uint8)
    inside = codes[:, : values.shape[1]]
    for share in _SPREADS:
        level = np.ceil(values / (spread * np.float32(share))) + (_LEVELS // 2 - 1)
        tried = np.clip(level, 0, _LEVELS - 1).astype(np.uint8)
        levels = _odd(tried)
        fit = np.vecdot(values, levels) / np.sqrt(np.vecdot(levels, levels))
        better = fit > best
        best, inside[better] = np.maximum(best, fit), tried[better]
    pairs: NDArray[np.uint8] = codes[:, ::2] * np.uint8(_LEVELS) + codes[:, 1::2]
    return _shares(values, _odd(inside)), pairs


def _in_one(values: FloatArray) -> tuple[FloatArray, NDArray[np.uint8]]:
    """By how much the step grows, and eight dimensions a byte."""
    signs = values > 0
    ones = np.where(signs, np.float32(1), np.float32(-1))
    return _shares(values, ones), np.packbits(signs, axis=1)


def _odd(codes: NDArray[np.uint8]) -> FloatArray:
    """Levels without a zero: -15, -13 … 15."""
    return codes.astype(np.float32) * 2 - np.float32(_LEVELS - 1)


def _shares(values: FloatArray, levels: FloatArray) -> FloatArray:
    along = np.vecdot(values, levels)
    shares: FloatArray = np.vecdot(values, values) / np.maximum(along, np.float32(1e-12))
    return shares


def _joined(steps: FloatArray, packed: NDArray[np.uint8]) -> list[bytes]:
    heads = np.ascontiguousarray(steps, np.float32)[:, None].view(np.uint8)
    return [row.tobytes() for row in np.concatenate([heads, packed], axis=1)]


def _from_four(packed: NDArray[np.uint8], dimension: int) -> NDArray[np.int8]:
    codes = np.empty((len(packed), packed.shape[1] * 2), np.int8)
    codes[:, ::2], codes[:, 1::2] = packed >> 4, packed & 0xF
    return np.ascontiguousarray(codes[:, :dimension] * np.int8(2) - np.int8(_LEVELS - 1))


def _from_one(packed: NDArray[np.uint8], dimension: int) -> NDArray[np.int8]:
    bits = np.unpackbits(packed, axis=1, count=dimension).view(np.int8)
    return np.ascontiguousarray(bits * np.int8(2) - np.int8(1))


def check_piece(piece: Piece, made_by: Fingerprint) -> None:
    """Refuse a piece that its embedder cannot have made."""
    if not 0 <= piece.part < MAX_PARTS:
        raise InvalidInput(f"A memory has at most {MAX_PARTS} pieces; split the text.")
    if len(piece.vector) != STEP_BYTES + made_by.dimension or not are_codes(piece.codes):
        raise InvalidInput(f"The piece's vector or codes are not of {made_by}.")

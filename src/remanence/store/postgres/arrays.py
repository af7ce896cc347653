"""Whole columns between NumPy and PostgreSQL, in its binary form.

A statement that takes arrays costs the same for one row as for a thousand (COPY would, too, but is
refused under row-level security).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from psycopg import adapters, pq
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.types import TypeInfo

from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Keys
from remanence.store.conditions import SOMETHING, Label
from remanence.store.rows import Row
from remanence.store.words import prefixed

_HEADER = Struct("!iiIii")  # dimensions, has nulls, element's type, length, first subscript
_LENGTH = Struct("!i")
_NULL = _LENGTH.pack(-1)
_HALF_MOST = 65504.0
NEVER = -(2**63)  # a time that stands for none; an array of numbers holds no NULL


@dataclass(frozen=True, slots=True)
class Array:
    """A one-dimensional array: the elements' packed bytes, after a header that is made later."""

    elements: bytes
    length: int
    nulls: bool = False


class Int8s(Array):
    """bigint[]"""


class Float8s(Array):
    """double precision[]"""


class Texts(Array):
    """text[]"""


class Byteas(Array):
    """bytea[]"""


class Uuids(Array):
    """uuid[]"""


class Halfvecs(Array):
    """halfvec[]"""


@dataclass(frozen=True, slots=True)
class Halfvec:
    """One halfvec."""

    packed: bytes


def int8s(values: Iterable[int] | NDArray[np.int64]) -> Int8s:
    """Whole numbers."""
    given = values if isinstance(values, np.ndarray) else np.fromiter(values, np.int64)
    return Int8s(_numbers(given, ">i8"), len(given))


def float8s(values: Iterable[float]) -> Float8s:
    """Numbers."""
    given = np.fromiter(values, np.float64)
    return Float8s(_numbers(given, ">f8"), len(given))


def texts(values: Iterable[str | None]) -> Texts:
    """Texts, or nothing."""
    return Texts(*_packed([None if value is None else value.encode() for value in values]))


def byteas(values: Iterable[bytes | None]) -> Byteas:
    """Bytes, or nothing."""
    return Byteas(*_packed(list(values)))


def uuids(values: Iterable[bytes | None]) -> Uuids:
    """The 16 bytes of each id, or nothing."""
    return Uuids(*_packed(list(values)))


def halfvecs(vectors: FloatArray) -> Halfvecs:
    """A vector from each row."""
    rows, dimension = vectors.shape
    shape = [("length", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("x", ">f2", dimension)]
    packed = np.zeros(rows, np.dtype(shape))
    packed["length"], packed["dimension"] = 4 + 2 * dimension, dimension
    packed["x"] = _halves(vectors)
    return Halfvecs(packed.tobytes(), rows)


def halfvec(vector: FloatArray) -> Halfvec:
    """One vector."""
    head = np.array([len(vector), 0], ">i2")
    return Halfvec(head.tobytes() + _halves(vector).astype(">f2").tobytes())


def adaptations(halfvec: TypeInfo | None) -> AdaptersMap:
    """psycopg's types and these; `halfvec` as the database knows it, or None before it does."""
    mine = AdaptersMap(adapters)
    for kind, name in _ARRAYS.items():
        info = adapters.types[name]
        mine.register_dumper(kind, _array_dumper(info))
    if halfvec is not None:
        mine.register_dumper(Halfvecs, _array_dumper(halfvec))
        mine.register_dumper(
            Halfvec, type("HalfvecDumper", (_HalfvecDumper,), {"oid": halfvec.oid})
        )
    mine.register_dumper(int, _Int8Dumper)
    mine.register_loader("uuid", _BytesLoader)
    mine.register_loader(adapters.types["int8"].array_oid, _KeysLoader)
    return mine


_ARRAYS: dict[type[Array], str] = {
    Int8s: "int8",
    Float8s: "float8",
    Texts: "text",
    Byteas: "bytea",
    Uuids: "uuid",
}


class _ArrayDumper(Dumper):
    format = pq.Format.BINARY
    element = 0

    def dump(self, obj: Array) -> Buffer:
        return _HEADER.pack(1, obj.nulls, self.element, obj.length, 1) + obj.elements


class _HalfvecDumper(Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: Halfvec) -> Buffer:
        return obj.packed


class _Int8Dumper(Dumper):
    """Always a bigint: by size, a statement would be prepared once for each mix of sizes."""

    format = pq.Format.BINARY
    oid = adapters.types["int8"].oid

    def dump(self, obj: int) -> Buffer:
        return obj.to_bytes(8, "big", signed=True)


class _BytesLoader(Loader):
    format = pq.Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


class _KeysLoader(Loader):
    """bigint[] as a NumPy array; the array must hold no NULL."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> NDArray[np.int64]:
        element = np.dtype([("length", ">i4"), ("value", ">i8")])
        offset = _HEADER.size if len(data) > _HEADER.size else len(data)
        return np.frombuffer(data, element, offset=offset)["value"].astype(np.int64)


def _array_dumper(info: TypeInfo) -> type[Dumper]:
    known = {"oid": info.array_oid, "element": info.oid}
    return type("ArrayDumper", (_ArrayDumper,), known)


def _numbers(values: NDArray[Any], form: str) -> bytes:
    packed = np.empty(len(values), np.dtype([("length", ">i4"), ("value", form)]))
    packed["length"], packed["value"] = 8, values
    return packed.tobytes()


def _packed(values: Sequence[bytes | None]) -> tuple[bytes, int, bool]:
    parts = [_NULL if value is None else _LENGTH.pack(len(value)) + value for value in values]
    return b"".join(parts), len(parts), None in values


def _halves(vectors: FloatArray) -> NDArray[np.float16]:
    safe = np.nan_to_num(vectors, nan=0.0, posinf=_HALF_MOST, neginf=-_HALF_MOST)
    return np.clip(safe, -_HALF_MOST, _HALF_MOST).astype(np.float16)


Kinds: TypeAlias = Mapping[str, Callable[[Iterable[Any]], Array]]


def arrays(kinds: Kinds, rows: Sequence[Row]) -> dict[str, Array]:
    """The rows as columns, each of its kind, by name."""
    values = zip(*rows, strict=True)
    return {name: kind(column) for (name, kind), column in zip(kinds.items(), values, strict=True)}


NUMBERS = (b"\x01", b"\x02")
SHORT_TEXTS = (b"\x02", b"\x03")
LONG_TEXTS = (b"\x03", b"\x04")

_DOUBLE = Struct(">d")
_SIGN, _ALL = 1 << 63, (1 << 64) - 1
_MIDDLE = 1 << 15  # a 64-bit number is at most 512 away from its double
COUNT_BITS = 8
MOST_COUNTED = (1 << COUNT_BITS) - 1


def encoded(value: Any) -> bytes:
    """The bytes that stand for a value of a label."""
    if value == SOMETHING:
        return b"\x00"
    if isinstance(value, bytes):
        return LONG_TEXTS[0] + value
    if isinstance(value, str):
        return SHORT_TEXTS[0] + value.encode()
    return NUMBERS[0] + _number(value)


def columns(found: Iterable[Label]) -> tuple[Texts, Byteas]:
    """Names and values of labels."""
    pairs = list(found)
    return texts(name for name, _ in pairs), byteas(encoded(value) for _, value in pairs)


def _number(value: int | float) -> bytes:
    double = float(value)
    rest = value - int(double) if isinstance(value, int) else 0
    bits = int.from_bytes(_DOUBLE.pack(double or 0.0), "big")
    sortable = bits ^ _ALL if bits & _SIGN else bits | _SIGN
    return sortable.to_bytes(8, "big") + (rest + _MIDDLE).to_bytes(2, "big")


def term_numbers(partition: int, terms: Iterable[str]) -> list[int]:
    """What terms are called in the index; no two partitions share one."""
    digests = [
        blake2b(term.encode(), digest_size=8).digest() for term in prefixed(partition, terms)
    ]
    return [int(number) for number in np.frombuffer(b"".join(digests), ">i8")]


def entries(partition: int, key: int, terms: Sequence[str]) -> tuple[list[int], list[int]]:
    """A memory's terms and places, as the table `words` has them."""
    counts = Counter(terms)
    places = [key << COUNT_BITS | min(count, MOST_COUNTED) for count in counts.values()]
    return term_numbers(partition, counts), places


def occurrences(places: Keys) -> Keys:
    """The key at each place, once per occurrence."""
    return np.repeat(places >> COUNT_BITS, places & MOST_COUNTED)

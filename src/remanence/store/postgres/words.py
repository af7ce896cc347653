"""Entries of the text index and of labels: terms and values as the tables have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any

import numpy as np

from remanence.model.ports.store import Keys
from remanence.store.labels import SOMETHING, Label
from remanence.store.postgres.arrays import Byteas, Texts, byteas, texts
from remanence.store.words import prefixed

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

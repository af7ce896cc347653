"""Labels' values as bytes: their order is the order of the values, type by type.

A number is the nearest double, made to sort as bytes do, and what a whole number has beyond it.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Any

from remanence.store.labels import SOMETHING, Label
from remanence.store.postgres.arrays import Byteas, Texts, byteas, texts

NUMBERS = (b"\x01", b"\x02")
SHORT_TEXTS = (b"\x02", b"\x03")
LONG_TEXTS = (b"\x03", b"\x04")

_DOUBLE = Struct(">d")
_SIGN, _ALL = 1 << 63, (1 << 64) - 1
_MIDDLE = 1 << 15  # a 64-bit number is at most 512 away from its double


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

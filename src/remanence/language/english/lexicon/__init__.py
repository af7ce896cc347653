"""What English has words for: a table in each of the text files beside this, one entry a line.

A line that begins with `#` says what a table is and why. A handful of words that only one rule
asks for stands with that rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

_FOLDER = Path(__file__).parent


def entries(table: str) -> list[str]:
    """The entries of a table in their order; read anew each time."""
    lines = (_FOLDER / f"{table}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@cache
def words(*tables: str) -> frozenset[str]:
    """The entries of these tables together.

    >>> "tennis" in words("games")
    True
    """
    return frozenset(entry for table in tables for entry in entries(table))


@cache
def either(*tables: str) -> str:
    """A pattern for any entry of these tables, the longest first; an entry may be one itself.

    >>> either("persons").count("|") + 1 == len(words("persons"))
    True
    """
    return "|".join(sorted(words(*tables), key=lambda entry: (-len(entry), entry)))


@cache
def canonical(table: str) -> Mapping[str, str]:
    """Each word of the entries "one = others" with the one that stands for all.

    >>> canonical("same")["automobile"], canonical("same")["car"]
    ('car', 'car')
    """
    kept = {one: (one, *others.split()) for one, others in pairs(table).items()}
    return MappingProxyType({word: one for one, all_ in kept.items() for word in all_})


@cache
def pairs(table: str) -> Mapping[str, str]:
    """What stands before and after " = " in each entry, in their order.

    >>> pairs("numbers")["twelve"]
    '12'
    """
    parted = (entry.rpartition(" = ") for entry in entries(table))
    return MappingProxyType({key: value for key, _, value in parted})

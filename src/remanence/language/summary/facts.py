"""The words that a rewording must neither invent nor lose: of names, numbers and times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from remanence.language.english.dates import time_ranges
from remanence.language.english.dates.tokens import meanings
from remanence.language.names import names
from remanence.language.words import fold, stop_terms, terms

_ANY_DAY = datetime(2020, 1, 1, tzinfo=UTC)
_DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")
_LETTERS = re.compile(r"[^\W\d_]+")


def numbers(text: str) -> Iterator[str]:
    """The numbers of a text in digits, however they are written; one is none.

    >>> list(numbers("1,200 people and two dogs in one house"))
    ['1200', '2']
    """
    yield from (digits.replace(",", "") for digits in _DIGITS.findall(text))
    for word in _LETTERS.findall(text.lower()):
        kind, value = meanings().get(word, ("", 0))
        if kind == "N" and isinstance(value, int | float) and value > 1:
            yield f"{value:g}"


def times(text: str) -> Iterator[str]:
    """The times a text speaks of, folded, as they are written."""
    yield from (fold(mention.text) for mention in time_ranges(text, _ANY_DAY))


def fact_words(text: str) -> frozenset[str]:
    """The words of a text's names, numbers and times, as `known_words` has them."""
    spoken = terms(" ".join([*names(text), *times(text)]))
    return frozenset(map(_in_digits, spoken)).union(numbers(text)) - stop_terms()


def known_words(text: str) -> frozenset[str]:
    """Every word of a text as an index term, numbers in digits."""
    return frozenset(map(_in_digits, terms(text))).union(numbers(text))


def _in_digits(term: str) -> str:
    return next(numbers(term), term)

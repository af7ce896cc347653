"""A text as it is compared: its words in order, each in one spelling, without what says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from remanence.sleep.merging.tables import (
    AFTER_REALLY,
    BARE,
    NEGATIONS,
    OPENING,
    OPENING_WITH_COMMA,
    PHRASES,
    POSSIBLE,
    SAME,
    SCOPE,
    SHORT,
)
from remanence.text.marks import normalised

CLITIC = re.compile(r"['’](?:s|ll|d|ve|re)\b", re.IGNORECASE)  # what a name may end in
_OPENS = "\"'“”„‘’«([¿¡「『（"
_CLOSES = ".,;:!?…\"'“”’»)]。、！？，：；．」』）।॥؟،۔"
_PAUSES = frozenset(".,;!?…。、！？，；।॥؟،۔")
_SMILEY = re.compile(r"[:;=8][-'^]?[()\[\]dpoxc/\\|*3<>]+$|^[()\[\]]+[-']?[:;=]")
# Letters with their marks are all that is no gap, digit or ASCII mark: `\w` leaves out vowel signs.
_LETTERS = r"[^\s\d\x00-@\[-`{-\x7f]+"
_TOKEN = re.compile(rf"^-\d+(?:[.,:/]\d+)*|\d+(?:[.,:/]\d+)*|{_LETTERS}(?:'{_LETTERS})*|\S")
_MEASURE = re.compile("(?<=\\d)(?:(['’′])|[\"”″])")
_SHORT = tuple((re.compile(rf"\b{said}"), instead) for said, instead in SHORT)
_PHRASES = tuple((re.compile(rf"\b{said}\b"), instead) for said, instead in PHRASES)
_MAY_SAY = re.compile("|".join(rf"\b{said}\b" for said, _ in PHRASES))
_OPENING = re.compile(
    rf"^(?:(?:{'|'.join(OPENING)})\b\s*,?\s+|(?:{'|'.join(OPENING_WITH_COMMA)})\s*,\s*)+"
)
_CARDINALS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_ONES = {word: number for number, word in enumerate(_CARDINALS.split())}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_TENS |= {"sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_NUMBERS = frozenset((*_ONES, *_TENS))
_POWERS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_JOINED = re.compile(rf"\b({'|'.join(_TENS)})-(?=(?:{'|'.join(list(_ONES)[1:10])})\b(?!-))")
_GUARDS = NEGATIONS | POSSIBLE | SCOPE


def plain(text: str) -> str:
    """A text without case and without marks that end or enclose: equal for what was typed twice.

    Marks within a word stay, and so do accents, signs and emoji.

    >>> plain("  I moved to Lisbon!") == plain("i moved to lisbon")
    True
    >>> plain("It is correct-horse") == plain("It is correct horse")
    False
    """
    return " ".join(_chunks(_normal(text))) or " ".join(text.split())


@lru_cache(maxsize=64)
def worded(text: str) -> tuple[str, ...]:
    """The text's words and signs in order, synonyms and numbers in one spelling.

    >>> worded("I've bought the twenty-five red cars!")
    ('i', 'have', 'bought', 'the', '25', 'red', 'cars')
    """
    lowered = _OPENING.sub("", _normal(text))
    if "'" in lowered or "cannot" in lowered:
        for short, long in _SHORT:
            lowered = short.sub(long, lowered)
    if _MAY_SAY.search(lowered):
        for said, instead in _PHRASES:
            lowered = said.sub(instead, lowered)
    chunks = _chunks(_JOINED.sub(r"\1 ", lowered))
    found = [_canonical(token) for chunk in chunks for token in _TOKEN.findall(chunk)]
    return tuple(_telling(list(_in_digits(found)), "?" in text))


def _normal(text: str) -> str:
    """Small letters in composed form; compatibility forms stay, as "5²" is not "52"."""
    lowered = (text if text.isascii() else normalised("NFC", text)).lower()
    marked = _MEASURE.sub(lambda found: "′" if found[1] else "″", lowered)
    return marked.replace("’", "'")


def _chunks(text: str) -> list[str]:
    """What stands between gaps, without the marks that end or enclose it."""
    return [bare for chunk in text.split() if (bare := _bare(chunk))]


def _bare(chunk: str) -> str:
    if _SMILEY.search(chunk):
        return chunk
    return chunk.lstrip(_OPENS).rstrip(_CLOSES) or ("" if _PAUSES.issuperset(chunk) else chunk)


@lru_cache(maxsize=16_384)
def _canonical(word: str) -> str:
    return word.removesuffix(":00") if word[-1].isdigit() else SAME.get(word, word)


def _telling(words: Sequence[str], asks: bool) -> Iterator[str]:
    guarded = asks or not _GUARDS.isdisjoint(words)
    for word, after in zip(words, (*words[1:], ""), strict=True):
        empty = word in BARE or (word == "really" and after in AFTER_REALLY)
        if guarded or not empty:
            yield word


def _in_digits(found: list[str]) -> Iterator[str]:
    """The words with numbers in digits ("two hundred", "twenty five"); "one" alone stays a word."""
    if _NUMBERS.isdisjoint(found):
        yield from found
        return
    at = 0
    while at < len(found):
        value, stop = _number(found, at)
        yield found[at] if value is None else str(value)
        at = max(stop, at + 1)


def _number(found: list[str], at: int) -> tuple[int | None, int]:
    """The number in words that begins here and where it ends; None if there is none."""
    value, stop = _below_hundred(found, at)
    if value is None:
        return None, at
    while stop < len(found) and found[stop] in _POWERS:
        value, stop = value * _POWERS[found[stop]], stop + 1
        rest, end = _below_hundred(found, stop)
        if rest is not None and rest < value:
            value, stop = value + rest, end
    return (None, at) if value == 1 else (value, stop)


def _below_hundred(found: list[str], at: int) -> tuple[int | None, int]:
    word = found[at] if at < len(found) else ""
    if word in _TENS:
        joined = found[at + 1 : at + 3]  # "twenty five-year-olds" are twenty
        more = _ONES.get(joined[0], 0) if joined and joined[1:] != ["-"] else 0
        return (_TENS[word] + more, at + 2) if 0 < more < 10 else (_TENS[word], at + 1)
    return (_ONES[word], at + 1) if word in _ONES else (None, at)

"""A text as it is compared: its words in order, each in one spelling, without what says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from remanence.knowledge.extract.contractions import expanded
from remanence.sleep.merging.tables import LEADING, NOTHING, PERSONS, PHRASES, SAME
from remanence.text.words import fold, terms

_WORD = re.compile(r"(?:(?<!\S)-)?\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|[$€£¥%°+#<>=~≤≥]")
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?!\d)")
_PHRASES = re.compile(rf"\b(?:{'|'.join(sorted(PHRASES, key=len, reverse=True))})\b")
_FILLING = re.compile(r"^well\b|\btoo(?=\s*(?:[.!;,]|$))")
_CARDINALS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_ONES = {word: number for number, word in enumerate(_CARDINALS.split())}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_TENS |= {"sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_NUMBERS = frozenset((*_ONES, *_TENS))
_POWERS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)\b")


@dataclass(frozen=True, slots=True)
class Word:
    """A word that tells: `form` as written or the first of its synonyms, `stem` without ending.

    `led` if what it begins could stand at the other end of the sentence as well.
    """

    form: str
    stem: str
    led: bool = False


@dataclass(frozen=True, slots=True)
class Worded:
    """The words of a text that tell, in order, and all of its words."""

    words: tuple[Word, ...]
    every: frozenset[str]


def plain(text: str) -> str:
    """A text without case, accents, marks and gaps: equal for what was typed twice.

    >>> plain("  I moved to Lisbon!") == plain("i moved to lisbon")
    True
    """
    bare = " ".join(_WORD.findall(fold(text).replace("’", "'")))
    return bare or " ".join(text.split())


def worded(text: str) -> Worded:
    """The text's words.

    >>> [word.form for word in worded("I've bought the twenty-five red cars").words]
    ['@i', 'bought', '25', 'red', 'cars']
    """
    found = list(_in_digits(_raw(text)))
    told: list[Word] = []
    led = False
    for form in found:
        led = led or form in LEADING
        if form not in NOTHING:
            told.append(_word(form, led))
            led = False
    return Worded(tuple(told), frozenset(found))


def stems(text: str) -> list[str]:
    """What two texts that say the same have in common, in order of the alphabet."""
    return sorted(word.stem for word in worded(text).words)


def alike(one: Word, other: Word) -> bool:
    """Whether they are one word; "hiking" is also "hike" and "hikes", which differ."""
    if one.form == other.form:
        return True
    if one.stem != other.stem:
        return False
    forms = sorted((one.form, other.form), key=lambda form: form.endswith("ing"))
    return forms[1].endswith("ing") and not forms[0].endswith(("ing", "ed"))


def _raw(text: str) -> list[str]:
    folded = fold(expanded(text.replace("’", "'")))
    folded = _PHRASES.sub(lambda found: PHRASES[found[0]], _FILLING.sub("", folded))
    folded = _ORDINAL.sub(r"\1", folded)
    return [_canonical(word) for word in _WORD.findall(folded)]


@lru_cache(maxsize=16_384)
def _canonical(word: str) -> str:
    if word[-1].isdigit():
        whole = word.replace(",", "") if _THOUSANDS.match(word) else word
        return whole.removesuffix(":00")
    word = word.removesuffix("'s").replace("'", "")
    return PERSONS.get(word) or SAME.get(word, word)


@lru_cache(maxsize=16_384)
def _word(form: str, led: bool) -> Word:
    if not form[0].isalpha():
        return Word(form, form, led)
    return Word(form, (terms(form) or [form])[0], led)


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
        more = _ONES.get(found[at + 1], 0) if at + 1 < len(found) else 0
        return (_TENS[word] + more, at + 2) if 0 < more < 10 else (_TENS[word], at + 1)
    return (_ONES[word], at + 1) if word in _ONES else (None, at)

"""The names, numbers and times a summary is measured by, read by other rules than it is made by."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from remanence.text.words import is_stop_word

Item = str

SENTENCE = re.compile(r"\S[^.!?\n]*(?:[.!?]+|\n|$)")

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_UP_TO_TWENTY = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty
"""
_NUMBER_WORDS = {word: str(n) for n, word in enumerate(_UP_TO_TWENTY.split(), start=2)} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70",
    "eighty": "80", "ninety": "90", "hundred": "100", "thousand": "1000", "million": "1000000",
    "dozen": "12",
}  # fmt: skip
_WEEKDAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTH = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_UNIT = "second|minute|hour|day|night|week|weekend|month|year|decade"
_TURNED = f"{_UNIT}|{_WEEKDAY}|{_MONTH}|spring|summer|fall|autumn|winter|morning|evening|afternoon"
_AMOUNT = r"\d+|a|an|one|few|a few|several|couple|a couple(?: of)?|couple of|many"
_TIME = re.compile(
    r"(?<!\S)(?:"
    rf"(?:{_AMOUNT}) (?:{_UNIT})s? (?:ago|later|from now|before|earlier)"
    rf"|(?:last|next|this|past|previous|coming|following) (?:{_TURNED})"
    rf"|(?:{_WEEKDAY})|\d+ (?:of )?(?:{_MONTH})(?: \d{{4}})?|(?:{_MONTH}) \d+(?: \d{{4}})?"
    rf"|(?:in|since|until|by|early|late|mid|of) (?:{_MONTH}|spring|summer|autumn|winter)"
    r"|(?:19|20)\d\d|yesterday|today|tomorrow|tonight|christmas|thanksgiving|halloween|easter"
    r")(?!\S)"
)
_DIGITS = re.compile(r"(?<!\S)\d[\d.:]*(?!\S)")
_CALENDAR = re.compile(rf"(?:{_WEEKDAY}|{_MONTH}|christmas|thanksgiving|halloween|easter)s?")


def normal_words(text: str) -> list[str]:
    """Words as they are compared: case, accents, possessives and the spelling of numbers gone."""
    return [_normal(word) for word in _WORD.findall(text)]


def name_words(texts: Iterable[str]) -> frozenset[str]:
    """Words that are written with a capital inside sentences more often than without one."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in texts:
        for sentence in SENTENCE.findall(text):
            for place, word in enumerate(_WORD.findall(sentence)):
                if word[0].islower():
                    small[_normal(word)] += 1
                elif place and word[0].isupper():
                    capital[_normal(word)] += 1
    return frozenset(
        word
        for word, count in capital.items()
        if count > small[word]
        and len(word) > 1
        and not is_stop_word(word)
        and not _CALENDAR.fullmatch(word)
    )


def items_of(text: str, named: frozenset[str]) -> frozenset[Item]:
    """The distinct names, numbers and times of a text, as normalised words with spaces between."""
    written = " ".join(normal_words(text))
    times = [found[0] for found in _TIME.finditer(written)]
    numbers = _DIGITS.findall(_TIME.sub("|", written))
    return frozenset([*times, *numbers, *_names(text, named)])


def kept(items: frozenset[Item], summary: str) -> int:
    """How many of the items stand in the summary, their words side by side."""
    written = f" {' '.join(normal_words(summary))} "
    return sum(f" {item} " in written for item in items)


def repeated(text: str) -> float:
    """The share of runs of four content words that the text has had before."""
    words = [word for word in normal_words(text) if not is_stop_word(word)]
    runs = list(zip(words, words[1:], words[2:], words[3:], strict=False))
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def _normal(word: str) -> str:
    bare = unicodedata.normalize("NFD", word.casefold())
    bare = "".join(char for char in bare if not unicodedata.combining(char))
    bare = re.sub(r"['’]s?$", "", bare).replace(",", "")
    return _NUMBER_WORDS.get(bare, bare)


def _names(text: str, named: frozenset[str]) -> Iterator[Item]:
    end, group = -1, list[str]()
    for found in _WORD.finditer(text):
        word = _normal(found[0])
        if found[0][0].isupper() and word in named:
            if text[end : found.start()] != " " and group:
                yield " ".join(group)
                group = []
            group.append(word)
            end = found.end()
        elif group:
            yield " ".join(group)
            group = []
    if group:
        yield " ".join(group)

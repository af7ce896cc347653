"""A text as it is compared: its words in order, each in one spelling, without what says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from remanence.language.english import lexicon
from remanence.language.words import normalised

CLITIC = re.compile(r"['’](?:s|ll|d|ve|re)\b", re.IGNORECASE)  # what a name may end in
_OPENS = "\"'“”„‘’«([¿¡「『（"
_CLOSES = ".,;:!?…\"'“”’»)]。、！？，：；．」』）।॥؟،۔"
_PAUSES = frozenset(".,;!?…。、！？，；।॥؟،۔")
_SMILEY = re.compile(r"[:;=8][-'^]?[()\[\]dpoxc/\\|*3<>]+$|^[()\[\]]+[-']?[:;=]")
# Letters with their marks are all that is no gap, digit or ASCII mark: `\w` leaves out vowel signs.
_LETTERS = r"[^\s\d\x00-@\[-`{-\x7f]+"
_TOKEN = re.compile(rf"^-\d+(?:[.,:/]\d+)*|\d+(?:[.,:/]\d+)*|{_LETTERS}(?:'{_LETTERS})*|\S")
_MEASURE = re.compile("(?<=\\d)(?:(['’′])|[\"”″])")
# What a sentence may open with and say nothing by it, without a comma or only with one.
_OPENING = re.compile(
    r"^(?:(?:honestly|actually|btw|anyway|wow|yeah|yep|ah)\b\s*,?\s+"
    r"|(?:well|hey|hi|hello|ok|okay|so|basically|oh)\s*,\s*)+"
)
# They say nothing anywhere, unless something is denied, doubted or limited.
_BARE = frozenset(["actually", "honestly"])
_VALUES = {word: int(digits) for word, digits in lexicon.pairs("numbers").items()}
_NUMBER_WORDS = frozenset(_VALUES)
_POWERS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
TENS = "|".join(word for word, value in _VALUES.items() if value > 19)
BELOW_TWENTY = "|".join(word for word, value in _VALUES.items() if 0 < value < 20)
_DIGITS = "|".join(word for word, value in _VALUES.items() if 0 < value < 10)
_JOINED = re.compile(rf"\b({TENS})-(?=(?:{_DIGITS})\b(?!-))")


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
        for short, long in _short_forms():
            lowered = short.sub(long, lowered)
    if _any_phrase().search(lowered):
        for said, instead in _phrases():
            lowered = said.sub(instead, lowered)
    chunks = _chunks(parted(lowered))
    found = [_canonical(token) for chunk in chunks for token in _TOKEN.findall(chunk)]
    return tuple(_telling(list(in_digits(found)), "?" in text))


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
    return (
        word.removesuffix(":00")
        if word[-1].isdigit()
        else lexicon.canonical("same").get(word, word)
    )


def _telling(words: Sequence[str], asks: bool) -> Iterator[str]:
    guards = lexicon.words("negations", "possible", "scope")
    guarded = asks or not guards.isdisjoint(words)
    really = lexicon.words("after_really")
    for word, after in pairwise((*words, "")):
        empty = word in _BARE or (word == "really" and after in really)
        if guarded or not empty:
            yield word


@cache
def _short_forms() -> list[tuple[re.Pattern[str], str]]:
    pairs = lexicon.pairs("short_forms").items()
    return [(re.compile(rf"\b{said}"), instead) for said, instead in pairs]


@cache
def _phrases() -> list[tuple[re.Pattern[str], str]]:
    pairs = lexicon.pairs("same_phrases").items()
    return [(re.compile(rf"\b{said}\b"), instead) for said, instead in pairs]


@cache
def _any_phrase() -> re.Pattern[str]:
    return re.compile("|".join(said.pattern for said, _ in _phrases()))


def value_of(word: str) -> int | None:
    """The number below a hundred that a word says, "twenty-seven" too; None if it says none.

    >>> value_of("twelve"), value_of("forty-two"), value_of("many")
    (12, 42, None)
    """
    tens, _, ones = word.partition("-")
    value = _VALUES.get(tens)
    return value + _VALUES.get(ones, 0) if ones and value is not None else value


def parted(text: str) -> str:
    """The text with "twenty-five" as two words."""
    return _JOINED.sub(r"\1 ", text)


def in_digits(found: list[str]) -> Iterator[str]:
    """The words with numbers in digits ("two hundred", "twenty five"); "one" alone stays a word."""
    if _NUMBER_WORDS.isdisjoint(found):
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
    value = _VALUES.get(word)
    if value is None or value < 20:
        return value, at + (value is not None)
    joined = found[at + 1 : at + 3]  # "twenty five-year-olds" are twenty
    more = _VALUES.get(joined[0], 0) if joined and joined[1:] != ["-"] else 0
    return (value + more, at + 2) if 0 < more < 10 else (value, at + 1)

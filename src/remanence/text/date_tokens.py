"""A text as the tokens its dates are made of; everything else becomes a blank."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from remanence.text.date_words import HAN, PHRASES, Meaning, Value, meanings

# Only these are never written with a capital inside a sentence unless the month is meant.
_MONTH_IF_CAPITAL = frozenset(["may", "march"])
_FRENCH_WORDS = """
je j tu nous vous il elle on est ai avons été le les que quoi soir matin
"""
_FRENCH = frozenset(_FRENCH_WORDS.split())
_BLANK: Meaning = (".", 0)
_GERMAN_MONTHS = "Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez"


class Token(NamedTuple):
    """A token and its kind: see `date_words`; also . blank, | break, n digits, Y year, X date."""

    kind: str
    value: Value
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """All tokens in order; a phrase such as "the day before yesterday" is one."""
    found: list[Token] = []
    done = 0
    for match in _pattern().finditer(text):
        start, end = match.span()
        if start < done:
            continue
        if match.lastgroup != "word":
            kind, value = _READERS[match.lastgroup or ""](match[0])
        elif phrase := _phrase_at(text, start, match[0]):
            end = phrase.end()
            kind, value = _phrase(phrase[0])
        else:
            kind, value = _word(match[0], found)
        found.append(Token(kind, value, start, end))
        done = end
    return _without_german_here(text, found)


def _phrase_at(text: str, start: int, first_word: str) -> re.Match[str] | None:
    if first_word.lower().replace("’", "'") not in _phrase_starts():
        return None
    return _phrase_pattern().match(text, start)


def _phrase(written: str) -> Meaning:
    return PHRASES[" ".join(written.lower().replace("’", "'").split())]


def _without_german_here(text: str, found: list[Token]) -> list[Token]:
    """Blank "hier", yesterday in French and here in German, unless the rest is French."""
    lower = text.lower()
    if "hier" not in lower or not _FRENCH.isdisjoint(re.split(r"[\s'’]+", lower)):
        return found
    return [
        token._replace(kind=".") if text[token.start : token.end].lower() == "hier" else token
        for token in found
    ]


def _word(written: str, before: list[Token]) -> Meaning:
    word = written.lower().replace("’", "'")
    meaning = meanings().get(word) or meanings().get(word.removesuffix("'s"))
    if meaning is None or (word == "morgen" and written[0].isupper()):
        return _BLANK
    if word in _MONTH_IF_CAPITAL and written.istitle() and before and before[-1].kind != "|":
        return ("M", meaning[1])
    return meaning


def _number(written: str) -> Meaning:
    value = int(written) if len(written) < 6 else 0
    return ("Y" if len(written) == 4 and 1900 <= value < 2100 else "n", value)


_READERS: dict[str, Callable[[str], Meaning]] = {
    "written": lambda written: ("X", written),
    "decade": lambda written: ("G", int(written.lstrip("'’")[:-1])),
    "ordinal": lambda written: ("O", int("".join(filter(str.isdigit, written)))),
    "other": lambda _: _BLANK,
    "number": _number,
    "quarter": lambda written: ("Q", int(written[1])),
    "han": HAN.__getitem__,
    "comma": lambda _: (",", 0),
    "dash": lambda _: ("-", 0),
    "stop": lambda _: ("|", 0),
}


@cache
def _pattern() -> re.Pattern[str]:
    han = "|".join(sorted(HAN, key=len, reverse=True))
    return re.compile(
        rf"""
        (?=[0-9'’$€£])(?:
            (?P<written>[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?![0-9])
                |[0-9]{{4}}/[0-9]{{1,2}}/[0-9]{{1,2}}(?![0-9])
                |[0-9]{{1,2}}/[0-9]{{1,2}}/(?:[0-9]{{4}}|[0-9]{{2}})(?![0-9/])
                |[0-9]{{1,2}}[.][0-9]{{1,2}}[.][0-9]{{4}}(?![0-9])
                |[0-9]{{1,2}}-[0-9]{{1,2}}-[0-9]{{4}}(?![0-9])
                |[0-9]{{4}}年(?:[0-9]{{1,2}}月(?:[0-9]{{1,2}}[日号])?)?
                |[0-9]{{1,2}}月(?:[0-9]{{1,2}}[日号])?)
            |(?P<decade>['’]?[0-9]0s\b|(?:19|20)[0-9]0s\b)
            |(?P<ordinal>[0-9]{{1,2}}(?:st|nd|rd|th|º|er)\b
                |[0-9]{{1,2}}[.](?=[ ]?(?:{_GERMAN_MONTHS})))
            |(?P<other>[$€£][ ]?[0-9][0-9.,]*|[0-9]+(?:[.,:][0-9]+)+|[0-9]+[ ]?(?:[ap]m\b|%))
            |(?P<number>[0-9]+)
        )
        |(?P<han>{han})
        |(?P<quarter>[Qq][1-4]\b)
        |(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)
        |(?P<comma>,)
        |(?P<dash>[-–—])
        |(?P<stop>[.!?;:()"\n])
        """,
        re.VERBOSE,
    )


@cache
def _phrase_starts() -> frozenset[str]:
    return frozenset(re.split("[ -]", phrase)[0] for phrase in PHRASES)


@cache
def _phrase_pattern() -> re.Pattern[str]:
    longest_first = sorted(PHRASES, key=len, reverse=True)
    choice = "|".join(longest_first).replace("'", "['’]").replace(" ", "[ ]+")
    return re.compile(rf"(?:{choice})\b", re.IGNORECASE)

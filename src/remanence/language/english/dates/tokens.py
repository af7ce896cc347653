"""A text as the tokens its dates are made of, each of a kind (one letter) and with a value.

Words that speak of time are known in six languages; everything else becomes a blank.

Kinds: D day from today, U unit, M month, W weekday, S season, H holiday (small letter: the word has
another meaning too and needs a neighbour that settles it; k: a month that is also a verb),
V weekdays, J some days ago, G decade, Q quarter, N number, a article, f vague number, h and a half,
O ordinal, L last / this / next, l the same in other languages, A ago after the number, g ago before
it, v from now, P early / middle / late, d part of day, R a unit from now, i in, j on or at,
q about, o of, t the, F from or between, T to, & and, r or, B before, b until (2: by), E after,
C since, ! every;
of what is written otherwise . blank, | break, n digits, Y year, X date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import NamedTuple

from remanence.language.english import lexicon
from remanence.language.timerange import TimeRange

Value = float | str | tuple[float, float]
Meaning = tuple[str, Value]

_FIGURE = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
# Words a text must hold one of before it is read for time at all.
_TELLING = frozenset("DUMmkWwSsHhVd")
# Only these are never written with a capital inside a sentence unless the month is meant.
_MONTH_IF_CAPITAL = frozenset(["may", "march"])
_BLANK: Meaning = (".", 0)
_GERMAN_MONTHS = "Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez"


@cache
def meanings() -> Mapping[str, Meaning]:
    """Every single word that speaks of time; of one that stands twice the first meaning counts."""
    found: dict[str, Meaning] = {}
    for meaning, words in lexicon.pairs("dates").items():
        read = _meaning(meaning)
        for word in words.split():
            found.setdefault(word, read)
    return found


@cache
def phrases() -> Mapping[str, Meaning]:
    """What several words say of time together."""
    return {phrase: _meaning(said) for phrase, said in lexicon.pairs("date_phrases").items()}


@cache
def signs() -> Mapping[str, Meaning]:
    """The words of scripts without spaces."""
    return {word: _meaning(said) for word, said in lexicon.pairs("date_signs").items()}


@cache
def hints() -> frozenset[str]:
    """What a text without time has none of; digits are written 0."""
    words = {word for word, (kind, _) in meanings().items() if kind in _TELLING}
    words |= {"eve", "feira", "hui", "dernier", "dernière", "scorso"}
    words |= {"0000", "0000s", "00s", "q0"}
    for day in ("0", "00"):
        words |= {f"{day}/{month}/{year}" for month in ("0", "00") for year in ("00", "0000")}
    return frozenset(words)


def _meaning(said: str) -> Meaning:
    kind, _, value = said.partition(" ")
    return kind, _value_of(value)


def _value_of(said: str) -> Value:
    """A number, a least and a most ("2-6"), or a word."""
    if span := _RANGE.fullmatch(said):
        return float(span[1]), float(span[2])
    return float(said) if _FIGURE.fullmatch(said) else said


class Token(NamedTuple):
    """A token, its kind, and where it stands."""

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
    return phrases()[" ".join(written.lower().replace("’", "'").split())]


def _without_german_here(text: str, found: list[Token]) -> list[Token]:
    """Blank "hier", yesterday in French and here in German, unless the rest is French."""
    lower = text.lower()
    if "hier" not in lower or not lexicon.words("french").isdisjoint(re.split(r"[\s'’]+", lower)):
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
    "han": lambda written: signs()[written],
    "comma": lambda _: (",", 0),
    "dash": lambda _: ("-", 0),
    "stop": lambda _: ("|", 0),
}


@cache
def _pattern() -> re.Pattern[str]:
    han = "|".join(sorted(signs(), key=len, reverse=True))
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
    return frozenset(re.split("[ -]", phrase)[0] for phrase in phrases())


@cache
def _phrase_pattern() -> re.Pattern[str]:
    longest_first = sorted(phrases(), key=len, reverse=True)
    choice = "|".join(longest_first).replace("'", "['’]").replace(" ", "[ ]+")
    return re.compile(rf"(?:{choice})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeReading:
    """A time read from tokens; `cycle` is what was left out and guessed ("year", "week").

    `since` and `until` are the times that were said of its two ends, each as vague as it was said.
    """

    range: TimeRange
    certainty: float
    cycle: str = ""
    since: TimeRange | None = None
    until: TimeRange | None = None


class TokenNode(NamedTuple):
    """A token with what it has been read as, if anything."""

    token: Token
    reading: TimeReading | None = None

    @property
    def number(self) -> int:
        """Its value where that is a number, else 0."""
        value = self.token.value
        return int(value) if isinstance(value, int | float) else 0


@dataclass(frozen=True, slots=True)
class DateContext:
    """What an unfinished date is completed from."""

    now: datetime
    past: bool
    day_first: bool


class MatchedNodes:
    """The nodes one pattern matched, asked for by kind."""

    def __init__(self, nodes: Sequence[TokenNode], clock: DateContext) -> None:
        self.clock = clock
        self.now = clock.now
        self.kinds = "".join(node.token.kind for node in nodes)
        self._nodes = nodes

    def all(self, kinds: str) -> list[TokenNode]:
        """The nodes of these kinds."""
        return [node for node in self._nodes if node.token.kind in kinds]

    def first(self, kinds: str) -> TokenNode | None:
        """The first node of these kinds."""
        return next(iter(self.all(kinds)), None)

    def number(self, kinds: str) -> int:
        """The number of the first node of these kinds; 0 without one."""
        found = self.first(kinds)
        return 0 if found is None else found.number

    def text(self, kinds: str) -> str:
        """The value of the first node of these kinds as text; empty without one."""
        found = self.first(kinds)
        return "" if found is None else str(found.token.value)

    def ranges(self) -> list[TimeReading]:
        """What earlier passes have read."""
        return [node.reading for node in self._nodes if node.reading is not None]

    def turn(self) -> float:
        """Below 0 for last, 0 for this, above for next."""
        found = self.first("Ll")
        value = found.token.value if found else 0
        return value if isinstance(value, int | float) else 0

    def amount(self) -> tuple[float, float]:
        """How many units, at least and at most."""
        low, high = float("inf"), 0.0
        for node in self.all("nNaf"):
            value = node.token.value
            least, most = value if isinstance(value, tuple) else (float(value), float(value))
            low, high = min(low, least), max(high, most)
        half = 0.5 if self.first("h") else 0.0
        return min(low, 1000.0) + half, min(high, 1000.0) + half


Rule = Callable[[MatchedNodes], TimeReading | None]

"""Whether two texts may be one memory. Strict: a wrong merge hides a memory, a missed one does not.

Two tests. What speaks against it (`against`): other numbers, names, negations, days, persons,
tenses, doubts, or a question beside a statement. And whether they say it in the same words
(`same_words`), synonyms, fillers and the place of a phrase aside: of two words that differ nobody
can say without understanding whether they are synonyms or a red car and a blue one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from unicodedata import category

from remanence.sleep.merging.tables import (
    FUTURE_FORMS,
    NEGATIONS,
    OPPOSITE,
    PAST_FORMS,
    POSSIBLE,
)
from remanence.sleep.merging.wording import Word, Worded, alike, plain, worded
from remanence.text.cues import is_question
from remanence.text.dates import time_ranges
from remanence.text.names import names
from remanence.text.words import fold

_WORD = re.compile(r"[^\W_]+")
_MARKS = ".,;:!?…\"'“”‘’()[]"
_CODE = re.compile(r"[^\W\d_]\d|\d(?!(?:st|nd|rd|th)\b)[^\W\d_]|[@_/\\#&*^=+<>~|{}]|[^\W\d][!?:]\w")
_TIMELESS = ("red", "bed", "need", "indeed", "feed", "seed", "speed", "shed", "hundred")


@dataclass(frozen=True)
class Telling:
    """A text and when it was said, read for comparison; each part is worked out once."""

    text: str
    at: datetime

    @cached_property
    def plain(self) -> str:
        """Without case, marks and gaps."""
        return plain(self.text)

    @cached_property
    def worded(self) -> Worded:
        """Its words, in one spelling."""
        return worded(self.text)

    @cached_property
    def forms(self) -> Counter[str]:
        """The words that tell, each with how often."""
        return Counter(word.form for word in self.worded.words)

    @cached_property
    def days(self) -> tuple[tuple[datetime, datetime], ...]:
        """The times it speaks of; "yesterday" is another one on another day."""
        try:
            found = time_ranges(self.text, self.at.astimezone(UTC))
        except OverflowError:
            return ()
        return tuple(sorted((one.range.start, one.range.end) for one in found))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The words of its names, folded, in order."""
        return tuple(word for name in names(self.text) for word in _WORD.findall(fold(name)))

    @cached_property
    def capitals(self) -> frozenset[str]:
        """The words that may be names: those with a capital, or all where there is none."""
        text = self.text.replace("’", "'").replace("'s", "")
        plain = text.islower() or text.isupper()
        return frozenset(
            fold(word) for word in _WORD.findall(text) if plain or not word[0].islower()
        )

    @cached_property
    def codes(self) -> Counter[str]:
        """Words that are no words: passwords, addresses, versions; every character counts."""
        found = (word.strip(_MARKS) for word in self.text.split())
        return Counter(word for word in found if len(word) > 1 and _CODE.search(word))

    @cached_property
    def signs(self) -> frozenset[str]:
        """Its emoji."""
        if self.text.isascii():
            return frozenset()
        return frozenset(sign for sign in self.text if category(sign) == "So")

    @cached_property
    def asks(self) -> bool:
        """Whether it is a question."""
        return is_question(self.text)

    def only(self, words: frozenset[str]) -> Counter[str]:
        """Those of its words that are among these, each with how often."""
        return Counter({form: n for form, n in self.forms.items() if form in words})

    @property
    def tense(self) -> tuple[bool, bool]:
        """Whether it speaks of what was, and of what will be."""
        past = any(form in PAST_FORMS or _is_past(form) for form in self.forms)
        return past, not FUTURE_FORMS.isdisjoint(self.forms)


def agrees(one: Telling, other: Telling) -> bool:
    """Whether the two say the same, as far as rules can tell."""
    return against(one, other) is None and same_words(one, other)


def may_agree(one: Telling, other: Telling) -> bool:
    """Whether nothing speaks against it, so that whoever understands them may decide."""
    named = set(one.names) & set(other.names)
    in_order = [[n for n in dict.fromkeys(t.names) if n in named] for t in (one, other)]
    return against(one, other) is None and in_order[0] == in_order[1]


def against(one: Telling, other: Telling) -> str | None:
    """What speaks against their saying the same; None if nothing does."""
    checks = (
        ("one of them asks", one.asks == other.asks),
        ("they speak of different times", one.days == other.days),
        ("their numbers differ", _numbers(one) == _numbers(other)),
        ("their codes differ", one.codes == other.codes),
        ("their signs differ", not (one.signs and other.signs) or one.signs == other.signs),
        ("their names differ", _same_names(one, other)),
        ("one of them denies", one.only(NEGATIONS) == other.only(NEGATIONS)),
        ("one of them is less certain", one.only(POSSIBLE) == other.only(POSSIBLE)),
        ("they speak of different persons", _persons(one) == _persons(other)),
        ("one of them speaks of what is over or to come", one.tense == other.tense),
        ("they say opposite things", not _opposed(one, other)),
    )
    return next((reason for reason, holds in checks if not holds), None)


def same_words(one: Telling, other: Telling) -> bool:
    """Whether the words that tell are the same, in the same order or with one phrase moved."""
    first, second = one.worded.words, other.worded.words
    if len(first) != len(second) or not first:
        return one.plain == other.plain
    if _in_order(first, second):
        return True
    if sorted(word.stem for word in first) != sorted(word.stem for word in second):
        return False
    return any(
        (first[0].led or second[0].led)
        and (first[0].led or first[cut].led)
        and _in_order((*first[cut:], *first[:cut]), second)
        for cut in range(1, len(first))
    )


def _in_order(first: Sequence[Word], second: Sequence[Word]) -> bool:
    return all(alike(one, other) for one, other in zip(first, second, strict=True))


def _numbers(telling: Telling) -> Counter[str]:
    return Counter({form: n for form, n in telling.forms.items() if form[-1].isdigit()})


def _persons(telling: Telling) -> frozenset[str]:
    return frozenset(form for form in telling.forms if form[0] == "@")


def _same_names(one: Telling, other: Telling) -> bool:
    """Each name of the one is said in the other too, and as a name, unless all of it is small."""
    named = {*one.names, *other.names}
    return named <= one.capitals and named <= other.capitals


def _opposed(one: Telling, other: Telling) -> bool:
    mine = one.worded.every - other.worded.every
    yours = other.worded.every - one.worded.every
    return any(frozenset((a, b)) in OPPOSITE for a in mine for b in yours)


def _is_past(form: str) -> bool:
    return len(form) > 3 and form.endswith("ed") and not form.endswith(_TIMELESS)

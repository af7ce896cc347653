"""Whether two texts may be one memory. Strict: a wrong merge hides a memory, a missed one does not.

Two tests. What speaks against it (`against`): other numbers, names, negations, days, persons,
tenses, doubts, quantities, or a question beside a statement. And whether they say it in the same
words (`same_words`), every one of them: of two words that differ, be they as small as "in" and
"on", nobody can say without understanding whether they say the same. Only what can mean one thing
alone has several spellings (`lexicon/same.txt`).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import pairwise
from unicodedata import category

from remanence.language.cues import is_question
from remanence.language.english import lexicon
from remanence.language.english.dates import time_ranges
from remanence.language.english.spelling import CLITIC, plain, worded
from remanence.language.names import names
from remanence.language.words import fold

_WORD = re.compile(r"[^\W_]+")
_MARKS = ".,;:!?…\"'“”‘’()[]"
_CODE = re.compile(r"[^\W\d_]\d|\d(?!(?:st|nd|rd|th)\b)[^\W\d_]|[@_/\\#&*^=+<>~|{}]|[^\W\d][!?:]\w")
_DENIALS = "|".join(sorted(lexicon.words("negations")))
_PAUSED = re.compile(
    rf"(?:n't|\b(?:{_DENIALS}|yes))\s*[,;:.!?—–]"  # "no, smoking is allowed"
    r"|\w\s+[^\W_]+,\s+[^\W_]+\s*(?=[.!?,;:]|$)",  # "call me, Ana"
    re.IGNORECASE,
)
_TIMELESS = ("red", "bed", "need", "indeed", "feed", "seed", "speed", "shed", "hundred")
_FUTURE_FORMS = frozenset(["will", "shall", "tomorrow", "tonight"])
# Where all is in capitals nobody knows what they are.
_ACRONYMS = frozenset(["it", "us", "who", "aids"])


@dataclass(frozen=True)
class Telling:
    """A text and when it was said, read for comparison; each part is worked out once."""

    text: str
    at: datetime

    @cached_property
    def plain(self) -> str:
        """Without case and the marks around words."""
        return plain(self.text)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words in order, in one spelling."""
        return worded(self.text)

    @cached_property
    def forms(self) -> Counter[str]:
        """Its words, each with how often."""
        return Counter(self.words)

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
        found = (CLITIC.sub("", fold(name)) for name in names(self.text))
        return tuple(word for name in found for word in _WORD.findall(name))

    @cached_property
    def capitals(self) -> frozenset[str]:
        """The words that may be names: those with a capital, or all where there is none."""
        text = CLITIC.sub("", self.text)
        plain = text.islower() or text.isupper()
        return frozenset(
            fold(word) for word in _WORD.findall(text) if plain or not word[0].islower()
        )

    @cached_property
    def cased(self) -> Counter[str]:
        """As they are written, words that mean something else with capitals: "it", "IT", "us"."""
        loud, told = self.text.isupper(), lexicon.words("homographs")
        told = told | _ACRONYMS if loud else told
        return Counter(
            word
            for word in _WORD.findall(self.text)
            if word.lower() in told or (not loud and len(word) > 1 and word.isupper())
        )

    @cached_property
    def codes(self) -> Counter[str]:
        """Words that are no words: passwords, addresses, versions; every character counts."""
        found = (word.strip(_MARKS) for word in self.text.split())
        return Counter(word for word in found if len(word) > 1 and _CODE.search(word))

    @cached_property
    def secret(self) -> str | None:
        """All of it, where it may tell a password or an address."""
        if lexicon.words("secrets").isdisjoint(_WORD.findall(self.text.lower())):
            return None
        return " ".join(self.text.split())

    @cached_property
    def pauses(self) -> int:
        """How many of its marks change what it says."""
        return len(_PAUSED.findall(self.text.replace("’", "'").rstrip(_MARKS)))

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
        past = any(form in lexicon.words("past_forms") or _is_past(form) for form in self.forms)
        return past, not _FUTURE_FORMS.isdisjoint(self.forms)


def agrees(one: Telling, other: Telling) -> bool:
    """Whether the two say the same, as far as rules can tell."""
    return same_words(one, other) and against(one, other) is None


def may_agree(one: Telling, other: Telling) -> bool:
    """Whether nothing speaks against it, so that whoever understands them may decide."""
    named = set(one.names) & set(other.names)
    in_order = [[n for n in dict.fromkeys(t.names) if n in named] for t in (one, other)]
    return against(one, other) is None and in_order[0] == in_order[1]


def against(one: Telling, other: Telling) -> str | None:
    """What speaks against their saying the same; None if nothing does."""
    denials, doubts, scope = map(lexicon.words, ("negations", "possible", "scope"))
    checks = (
        ("one of them asks", one.asks == other.asks),
        ("they speak of different times", one.days == other.days),
        ("their numbers differ", _numbers(one) == _numbers(other)),
        ("their codes differ", one.codes == other.codes and one.secret == other.secret),
        ("their signs differ", one.signs == other.signs),
        ("their names differ", _same_names(one, other) and one.cased == other.cased),
        ("one of them denies", one.only(denials) == other.only(denials)),
        ("a pause changes them", one.pauses == other.pauses),
        ("one of them is less certain", one.only(doubts) == other.only(doubts)),
        ("they speak of different persons", _persons(one) == _persons(other)),
        ("one of them speaks of what is over or to come", one.tense == other.tense),
        ("they say opposite things", not _opposed(one, other)),
        ("they speak of more or less", one.only(scope) == other.only(scope)),
    )
    return next((reason for reason, holds in checks if not holds), None)


def same_words(one: Telling, other: Telling) -> bool:
    """Whether the words are the same, in the same order; "every week" may stand at either end."""
    first, second = one.words, other.words
    if not first or not second:
        return one.plain == other.plain
    return first == second or _moved(first, second) or _moved(second, first)


def _moved(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    if first[0] != "every" or len(first) < 4 or first[1] not in lexicon.words("time_units"):
        return False
    return (*first[2:], *first[:2]) == second and _one_clause(first[2:])


def _one_clause(words: tuple[str, ...]) -> bool:
    """Whether it tells of one thing, so that what is said of it can be said of nothing else."""
    fixed = lexicon.words("clause_words", "negations", "possible", "scope") - {"every"}
    return not any(
        word in fixed
        or (word.endswith("ing") and before not in ("a", "the"))
        or (word == "to" and before not in lexicon.words("motion"))
        for before, word in pairwise(("", *words))
    )


def _numbers(telling: Telling) -> Counter[str]:
    return Counter({form: n for form, n in telling.forms.items() if form[-1].isdigit()})


def _persons(telling: Telling) -> frozenset[str]:
    persons = lexicon.canonical("persons")
    return frozenset(persons[form] for form in telling.forms if form in persons)


def _same_names(one: Telling, other: Telling) -> bool:
    """Each name of the one is said in the other too, and as a name, unless all of it is small."""
    named = {*one.names, *other.names}
    return named <= one.capitals and named <= other.capitals


def _opposed(one: Telling, other: Telling) -> bool:
    mine, yours = set(one.forms) - set(other.forms), set(other.forms) - set(one.forms)
    return any(frozenset((a, b)) in opposites() for a in mine for b in yours)


@cache
def opposites() -> frozenset[frozenset[str]]:
    """Pairs of words of which the one denies the other, in one spelling."""
    same = lexicon.canonical("same")
    pairs = (entry.split() for entry in lexicon.entries("opposite"))
    return frozenset(frozenset(same.get(word, word) for word in pair) for pair in pairs)


def _is_past(form: str) -> bool:
    return len(form) > 3 and form.endswith("ed") and not form.endswith(_TIMELESS)

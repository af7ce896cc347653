"""Which words of a text may name a theme: names, and nouns by where they stand. English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from remanence.language.english import lexicon
from remanence.language.english.dates.tokens import meanings
from remanence.language.english.verbs import Form, verb
from remanence.language.names import names
from remanence.language.words import is_stop_word, stop_terms, terms, word_spans

_DETERMINERS = frozenset(
    ["the", "a", "an", "my", "our", "his", "her", "its", "their", "your", "another"]
)
_WORD = re.compile(r"[^\W_]+")
# Names that begin with the same word are looked for together; more or longer ones are no names.
MOST_ALIKE = 20
MOST_OF_A_NAME = 100
_ENDINGS = ("ly", "ful", "less", "ous", "able", "ible", "ed")


@dataclass(frozen=True, slots=True)
class Word:
    """A word that tells: its term, how it is written, and whether it stands as a noun or name.

    `modifies` is where only a noun or an adjective can stand: "a sourdough loaf".
    """

    term: str
    written: str
    is_noun: bool
    modifies: bool = False


def telling_words(text: str) -> Iterator[Word]:
    """The words of a text that say what it is about; a name of several words is one of them."""
    named = set(_name_spans(text))
    inside = _marks(text, named)
    spans = [span for span in word_spans(text) if not inside[span[0]]]
    ordered = sorted([*named, *spans])
    for place, (start, end) in enumerate(ordered):
        written = text[start:end]
        before = _word_before(text, ordered, place)
        is_name = (start, end) in named
        term = term_of(written, after=before)
        if is_name or _tells(term, written):
            noun = is_name or _is_noun(text, written, before, end)
            bare = written.removesuffix("'s").removesuffix("’s")
            yield Word(term, bare, noun, not noun and before in _DETERMINERS)


def term_of(word: str, after: str = "") -> str:
    """What the forms of a word have in common; "ran" is a form of "run", "a rose" is none."""
    known = None if after in _DETERMINERS else verb(word.lower())
    past = known is not None and known[1] & (Form.PAST | Form.PARTICIPLE)
    return " ".join(terms(known[0] if known and past else word))


def _name_spans(text: str) -> list[tuple[int, int]]:
    """Where the names of a text stand, also where they begin a sentence or follow a title."""
    known: dict[str, list[tuple[int, str]]] = {}
    for order, name in enumerate(names(text)):
        first = _WORD.search(name)
        if first and len(name) <= MOST_OF_A_NAME:
            known.setdefault(first[0], []).append((order, name))
    found = []
    for word in _WORD.finditer(text):
        for order, name in islice(known.get(word[0], ()), MOST_ALIKE):
            if text.startswith(name, word.start()):
                found.append((order, word.start(), word.start() + len(name)))
    taken, kept = bytearray(len(text)), []
    for _, start, end in sorted(found):
        if not taken[start]:
            taken[start:end] = b"\1" * (end - start)
            if text[start:end].replace(" ", "").isalpha():
                kept.append((start, end))
    return kept


def _marks(text: str, spans: Iterable[tuple[int, int]]) -> bytearray:
    """For each letter whether it stands in one of these spans."""
    marks = bytearray(len(text))
    for start, end in spans:
        marks[start:end] = b"\1" * (end - start)
    return marks


def _word_before(text: str, spans: list[tuple[int, int]], place: int) -> str:
    if place == 0 or text[spans[place - 1][1] : spans[place][0]] != " ":
        return ""
    return text[slice(*spans[place - 1])].lower()


def _tells(term: str, written: str) -> bool:
    return (
        len(term) > 2
        and term.isalpha()
        and term not in stop_terms()
        and written.lower() not in meanings()
    )


def _is_noun(text: str, written: str, before: str, end: int) -> bool:
    low = written.lower()
    if low.endswith(_ENDINGS):
        return False
    if low.endswith("ing"):
        return before in _DETERMINERS or (
            before in lexicon.words("before_doing") and _without_object(text, end)
        )
    return before in lexicon.words("before_nouns") and _ends_here(text, end)


def _ends_here(text: str, end: int) -> bool:
    """Whether what follows is no further word that tells: "the old car" is not about the old."""
    after = text[end : end + 30].split()
    if not after or not text[end].isspace():
        return True
    return is_stop_word(after[0]) or not _tells(term_of(after[0]), after[0])


def _without_object(text: str, end: int) -> bool:
    after = text[end : end + 30].split()
    return (
        not after
        or not text[end].isspace()
        or after[0].lower().strip(".,;!") in lexicon.words("after_doing")
    )

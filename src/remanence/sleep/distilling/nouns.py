"""Which words of a text may name a theme: names, and nouns by where they stand. English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

from remanence.knowledge.extract.tables.verbs import Form, verb
from remanence.text.date_words import meanings
from remanence.text.names import names
from remanence.text.summary.hollow import HOLLOW
from remanence.text.words import is_stop_word, stop_terms, terms, word_spans

# Right before a noun, or before the words that tell which.
_BEFORE = """
the a an my our his her its their your another every each some any no more several few of with
without at by for on in about from into during over against between through along around across
near after before
"""
_OPENS_NOUN = frozenset(_BEFORE.split())
_BEFORE_ANY = "the a an my our his her its their your another"
_DETERMINERS = frozenset(_BEFORE_ANY.split())
# Before something that one does, unless it has an object: "I love climbing", "expressing myself".
_BEFORE_DOING = """
go goes going went gone start starts started begin begins began love loves loved like likes liked
enjoy enjoys enjoyed
"""
_DOES = frozenset(_BEFORE_DOING.split())
_AFTER_DOING = """
at in on with by for from after before during to around along across near through again and but
"""
_NO_OBJECT = frozenset(_AFTER_DOING.split())
# Words that are said of anything, and words that are no nouns wherever they stand.
_GENERAL = """
new old big small little long short whole different same first last next other another important
special favourite favorite real like time times photo picture pic pics image video kind sort part
place people person someone everyone friend friends name way ways moment moments reminder reminds
remind happen happens happened show shows showing put puts use uses using help helps helping give
gives giving find finds finding work works working need needs try trying start starting love loves
want wants able experience experiences idea ideas plan plans stuff life world home today lots
number numbers day days night nights evening evenings morning mornings afternoon hour hours minute
minutes second seconds week weeks month months year years km kilometre kilometres kilometer
kilometers mile miles metre metres meter meters kg kilo kilos gram grams pound pounds euro euros
dollar dollars percent degrees end beginning side middle rest half top bottom front
along across around among behind beside besides beneath beyond despite except inside outside near
past round throughout underneath unlike aboard amid away back together alone apart ahead abroad
forward instead otherwise however therefore twice always never often sometimes usually maybe
perhaps almost already early late later soon indoors outdoors upstairs downstairs somewhere
anywhere everywhere tonight nearly rather enough certain several various own recent general
interesting boring exciting annoying confusing charming disappointing freezing starving willing
outstanding challenging tempting touching relaxing fascinating overwhelming exhausting missing
depressing stunning coming following remaining existing upcoming ongoing amazing
"""
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
        and term not in _idle()
        and written.lower() not in _idle_words()
        and written.lower() not in meanings()
    )


def _is_noun(text: str, written: str, before: str, end: int) -> bool:
    low = written.lower()
    if low.endswith(_ENDINGS):
        return False
    if low.endswith("ing"):
        return before in _DETERMINERS or (before in _DOES and _without_object(text, end))
    return before in _OPENS_NOUN and _ends_here(text, end)


def _ends_here(text: str, end: int) -> bool:
    """Whether what follows is no further word that tells: "the old car" is not about the old."""
    after = text[end : end + 30].split()
    if not after or not text[end].isspace():
        return True
    return is_stop_word(after[0]) or not _tells(term_of(after[0]), after[0])


def _without_object(text: str, end: int) -> bool:
    after = text[end : end + 30].split()
    return not after or not text[end].isspace() or after[0].lower().strip(".,;!") in _NO_OBJECT


@cache
def _idle() -> frozenset[str]:
    return stop_terms() | frozenset(terms(" ".join((*HOLLOW, _GENERAL))))


@cache
def _idle_words() -> frozenset[str]:
    return frozenset(_GENERAL.split()) | HOLLOW

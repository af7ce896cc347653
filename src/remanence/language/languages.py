"""The language of a text, chosen by its function words, and its words as that language reads them.

Every text has the terms of `words`, which know no language. One that is judged German, French,
Spanish, Italian, Portuguese or Dutch has the stems of that language beside them, each marked with
it: no word of another language meets them, and who asks in another one finds the text as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from remanence.language.english import lexicon
from remanence.language.words import MAX_TERM_BYTES, caseless, cut, fold, stemmer, stop_terms, terms
from remanence.model.deadline import unhurried

ENGLISH = "english"
# What marks a stem; no word holds the dot. Russian has letters of its own, so its terms need none.
MARKS: Mapping[str, str] = {
    "german": "·de",
    "french": "·fr",
    "spanish": "·es",
    "italian": "·it",
    "portuguese": "·pt",
    "dutch": "·nl",
}
LEAST = 2  # how many more different function words than English a language has to have
# A question of no known language is looked up in all of them, if it is so short.
FEW_TERMS = 8

_LATIN = "a-zß-öø-\u024f"
_LETTERS = rf"{_LATIN}\u0400-\u052f"
# "dell'acqua" is two words, "dell'" and "acqua".
_WORD = re.compile(rf"[{_LETTERS}]+(?:'(?=[{_LETTERS}]))?")
_IS_LATIN = re.compile(f"[{_LATIN}]").match
_ENOUGH = 20_000  # characters to tell a language by
_ROOM = MAX_TERM_BYTES - max(len(mark.encode()) for mark in MARKS.values())


def language_of(text: str) -> str:
    """The language that a text begins in: the one it has the most function words of there.

    Empty if that cannot be told.

    >>> language_of("Wo ist der Schlüssel?"), language_of("Where is the key?"), language_of("Ana")
    ('german', 'english', '')
    """
    words = frozenset(_words(text[:_ENOUGH]))
    counts = {language: len(words & held) for language, held in _function_words().items()}
    english = counts.pop(ENGLISH)
    most = max(counts.values())
    best = [language for language, count in counts.items() if count == most]
    if english > most:
        return ENGLISH
    return best[0] if most >= english + LEAST and len(best) == 1 else ""


def index_terms(text: str) -> list[str]:
    """What a text is found by: its terms, then the stems of its content words in its language.

    >>> index_terms("Die Häuser sind alt")
    ['die', 'hauser', 'sind', 'alt', 'haus·de', 'alt·de']
    """
    found, language = terms(text), language_of(text)
    if language in MARKS:
        idle = _function_words()[language]
        content = (word for word in _words(text) if word not in idle and _IS_LATIN(word))
        found += [_stem(word, language) for word in unhurried(content, every=2_000)]
    return found


def length_of(found: Iterable[str]) -> int:
    """How long a text with these index terms is; what it has in its language counts once."""
    marks = tuple(MARKS.values())
    return sum(not term.endswith(marks) for term in found)


def query_terms(text: str) -> list[str]:
    """The distinct terms of a question without stop words; all of them if nothing else is left."""
    return list(readings(text))


def readings(text: str) -> dict[str, tuple[str, ...]]:
    """The terms of a question, each with all that it is looked up as; none is looked up twice.

    >>> readings("Wo sind die Häuser?")
    {'hauser': ('hauser', 'haus·de')}
    """
    asked, language = _content(text), language_of(text)
    if language == ENGLISH:
        return {term: (term,) for term in asked}
    if idle := _function_words().get(language):
        text = _WORD.sub(lambda word: " " if word[0] in idle else word[0], caseless(text))
        asked = _content(text) or asked
    elif len(asked) > FEW_TERMS:
        return {term: (term,) for term in asked}
    return _read(asked, text, [one for one in MARKS if language in (one, "")])


def _read(asked: list[str], text: str, languages: list[str]) -> dict[str, tuple[str, ...]]:
    found = {term: [term] for term in asked}
    seen: set[str] = set()
    for word in filter(_IS_LATIN, dict.fromkeys(_words(text))):
        if held := found.get(terms(word)[0]):
            stems = [_stem(word, language) for language in languages]
            held += [stem for stem in stems if stem not in seen]
            seen.update(stems)
    return {term: tuple(held) for term, held in found.items()}


def _content(text: str) -> list[str]:
    found = dict.fromkeys(terms(text))
    stop = stop_terms()
    return [term for term in found if term not in stop] or list(found)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower() if text.isascii() else caseless(text))


@lru_cache(maxsize=16384)
def _stem(word: str, language: str) -> str:
    bare = word[:MAX_TERM_BYTES].rstrip("'")
    return cut(fold(stemmer(language).stemWord(bare)), _ROOM) + MARKS[language]


@cache
def _function_words() -> Mapping[str, frozenset[str]]:
    return {
        ENGLISH: lexicon.words("stop_words"),
        "german": lexicon.words("stop_words_german"),
        "french": lexicon.words("stop_words_french"),
        "spanish": lexicon.words("stop_words_spanish"),
        "italian": lexicon.words("stop_words_italian"),
        "portuguese": lexicon.words("stop_words_portuguese"),
        "dutch": lexicon.words("stop_words_dutch"),
        "russian": lexicon.words("stop_words_russian"),
    }

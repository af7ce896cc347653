"""The words of a text: index terms (folded, stemmed), stop words, and where each word stands.

Letters are folded (NFKC, case, accents of Latin, Greek and Cyrillic) and stemmed by script: Latin
as English, Cyrillic as Russian, Greek, Arabic, Armenian, Devanagari as Hindi, Tamil. Scripts
written without spaces, and Korean with its particles, become overlapping pairs of characters. What
other languages in Latin letters have besides stands in `languages`.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Literal, TypeAlias

import Stemmer

from remanence.language.english import lexicon
from remanence.model.deadline import unhurried

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

MOST = 30

# What might be a run of marks: no letters, digits or blanks, but for the two that decompose to one.
_MAYBE_RUN = re.compile(rf"(?:[^\w\s\x00-\u02ff]|[\uff9e\uff9f]){{{MOST + 1}}}")
ALGORITHM = "words-4"
TERMS_VERSION: str = f"{ALGORITHM}/snowball-{Stemmer.version()}"
MAX_TERM_BYTES = 64
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece"  # Thai, Lao
    "\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17dc\u17dd"  # Myanmar, Khmer
    "\u1100-\u11ff\uac00-\ud7a3"  # Korean
    "\u3005-\u3007\u3021-\u3029\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and accents, which `\w` leaves out.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06ed\u0900-\u0963\u0981-\u09cd\u0a01-\u0a51\u0a81-\u0acd\u0b01-\u0b57"
    "\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0ce3\u0d00-\u0d63\u0d81-\u0ddf\u0f71-\u0f84\u1ab0-\u1aff"
)
_EMOJI = (
    "\u2300-\u23ff\u2600-\u27bf\u2b05-\u2b07\u2b1b-\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|(?<![0-9.:])[0-9]+[.:][0-9]+(?![.:]?[0-9])"
_ASCII_WORD = re.compile(rf"{_NUMBER}|[0-9]+(?=[ap]m\b)|[a-z0-9]+(?:'[a-z]+)*")
_GAP = re.compile(r"[^a-z0-9',.:]|[,.:](?![0-9])")
_STRETCH = 20_000
_ORDINAL = re.compile(r"([0-9]+)(?:st|nd|rd|th)")
_ACCENTS = re.compile("[\u0300-\u036f]")
_CLITICS = frozenset(["s", "m", "re", "ve", "ll", "d"])
_ELISIONS = frozenset(["c", "d", "j", "l", "m", "n", "s", "t", "qu"])
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th", "ħ": "h"}
)
_STEMMERS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0531", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
    ("\u1f00", "\u1fff", "greek"),
)


def normalised(form: Form, text: str) -> str:
    """The text in that form, with no more than `MOST` marks on any letter."""
    return unicodedata.normalize(form, bounded(text))


def bounded(text: str) -> str:
    """The text without the marks of a letter beyond the first `MOST`."""
    if text.isascii() or _MAYBE_RUN.search(text) is None:
        return text
    return _runs().sub(r"\1", text)


@cache
def _runs() -> re.Pattern[str]:
    every = map(chr, range(0x300, sys.maxunicode + 1))
    marks = "".join(one for one in every if unicodedata.combining(_first(one)))
    return re.compile(f"([{marks}]{{{MOST}}})[{marks}]+")


def _first(character: str) -> str:
    return unicodedata.normalize("NFKD", character)[0]


def terms(text: str) -> list[str]:
    """The index terms of a text, in order and with repeats; stop words stay in.

    >>> terms("Ana's cafés, don't")
    ['ana', 'cafe', 'dont']
    """
    if not text.isascii():
        text = text.replace("’", "'")
        if not text.isascii():
            return _unicode_terms(text)
    words = chain.from_iterable(map(_ASCII_WORD.findall, _stretches(text.lower())))
    return [_term(word[:MAX_TERM_BYTES]) for word in unhurried(words, every=2_000)]


def is_stop_word(word: str) -> bool:
    """Whether a raw word, in any case ("The", "what's"), carries no content."""
    return len(word) <= MAX_TERM_BYTES and _is_stop_word(word)


@lru_cache(maxsize=4096)
def _is_stop_word(word: str) -> bool:
    found = terms(word)
    return bool(found) and all(term in stop_terms() for term in found)


@cache
def stop_terms() -> frozenset[str]:
    """The stop words, as `terms` writes them."""
    return frozenset(terms(" ".join(lexicon.words("stop_words", "stop_words_abroad"))))


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each word stands; an emoji or a character of a script without spaces is a word."""
    return [match.span() for match in unhurried(_span_pattern().finditer(text), every=2_000)]


def fold(text: str) -> str:
    """Case, width and accents removed: what two spellings of one name have in common."""
    if text.isascii():
        return text.lower()
    return _without_accents(caseless(text))


def _stretches(text: str) -> Iterator[str]:
    """A long text in stretches with the same words: a pattern lets nobody in until it is done."""
    start = 0
    while len(text) - start > _STRETCH and (gap := _GAP.search(text, start + _STRETCH)):
        yield text[start : gap.end()]
        start = gap.end()
    yield text[start:]


def _unicode_terms(text: str) -> list[str]:
    found: list[str] = []
    for word, run in _unicode_pattern().findall(caseless(text)):
        if run:
            found.extend(map(cut, _pairs(run)))
        else:
            found.append(_term(word[:MAX_TERM_BYTES]))
    return found


def caseless(text: str) -> str:
    """Case and width removed, accents kept; an apostrophe is a straight one."""
    once = normalised("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", once).replace("’", "'")


def _pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return list(map("".join, pairwise(run)))


@lru_cache(maxsize=16384)
def _term(word: str) -> str:
    if word[0].isdigit():
        return _number(word)
    if "'" in word:
        word = _without_apostrophe(word)
    if word.isascii():
        return str(stemmer("english").stemWord(word))
    return cut(_stem_by_script(word))


def _number(word: str) -> str:
    if ordinal := _ORDINAL.fullmatch(word):
        return ordinal[1]
    word = word.replace(",", "").replace("'", "").removesuffix(":00")
    return cut(_without_accents(word.replace(".", "·").replace(":", "·")))


def _without_apostrophe(word: str) -> str:
    head, _, tail = word.partition("'")
    if tail in _CLITICS:
        return head
    if head in _ELISIONS and len(tail) > 1:
        word = tail
    return word.replace("'", "")


def _stem_by_script(word: str) -> str:
    first = next(char for char in word if not char.isascii())
    for low, high, language in _STEMMERS:
        if low <= first <= high:
            return _without_accents(stemmer(language).stemWord(word)) or word
    plain = _without_accents(word)
    return str(stemmer("english").stemWord(plain)) if plain.isascii() else plain


def _without_accents(word: str) -> str:
    bare = _ACCENTS.sub("", normalised("NFD", word))
    return unicodedata.normalize("NFC", bare).translate(_PLAIN)


def cut(term: str, most: int = MAX_TERM_BYTES) -> str:
    """The term in so many bytes at most."""
    if len(term) * 4 <= most:
        return term
    return term.encode()[:most].decode(errors="ignore")


@cache
def stemmer(name: str) -> Stemmer.Stemmer:
    """Snowball's stemmer of that name."""
    return Stemmer.Stemmer(name, 0)


@cache
def _unicode_pattern() -> re.Pattern[str]:
    return re.compile(f"({_NUMBER}|{_FLAG}|{_word()}|[{_EMOJI}])|([{_UNSPACED}]+)")


@cache
def _span_pattern() -> re.Pattern[str]:
    number = "[0-9]+(?:[.,:][0-9]+)+"
    return re.compile(f"{_FLAG}|{number}|{_word()}|[{_EMOJI}{_UNSPACED}]")


def _word() -> str:
    letters = rf"[^\W_{_UNSPACED}]+"
    return f"{letters}(?:[{_MARKS}'’]+{letters})*[{_MARKS}]*"

"""Sentences taken apart: their clauses, what one says without its padding, and in which manner."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from remanence.language.english import lexicon
from remanence.language.english.verbs import Form, verb
from remanence.language.words import is_stop_word, word_spans

Span = tuple[int, int]
LONGEST = 240
_LEAST_WORDS = 4
# Possessive, and never begun inside a run: a hostile row of marks costs no more than its length.
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]*]*+(?=\s|$)|[。！？।؟]+[」』”’）)]*|\n| (?=\[)|(?<=\]) "
    r"|[\u2600-\u27bf\U0001f000-\U0001faff][\ufe0f\u200d\u2600-\u27bf\U0001f000-\U0001faff]*"
)
_ABBREVIATED = re.compile(
    r"(?:^|\W)(?:dr|mr|mrs|ms|prof|st|vs|e\.g|i\.e|no|jr|sr|[^\W\d_])\.$", re.IGNORECASE
)
_HANGING = (
    "because|since|while|although|though|when|which|who|where|until|unless|if|after|before"
    "|porque|pero|parce|mais|weil|aber|perché"
)
_BREAK = re.compile(
    r"[,;:] |[，；،] ?| ?(?<![-–—])[-–—]++ |—"
    r"| (?=(?:and|but|so|or) (?:i|we|he|she|they|it|you|my|our|his|her|their|there)\b)"
    rf"| (?=(?:{_HANGING}) )",
    re.IGNORECASE,
)
_ADVERBS = (
    "really|just|actually|basically|literally|honestly|definitely|totally|absolutely|super|truly"
    "|simply|finally"
)
_JOINERS = "and|but|so|or|then|plus|also|anyway|well|oh|wow|hey|hi|yeah|yes|yep|ok|okay|btw|haha"
_JOINED = re.compile(rf"(?:(?:{_JOINERS})\b[,!. ]*)+", re.IGNORECASE)
_SELF = re.compile(r"I(?:['’](?:m|ve)| am)?\s+", re.IGNORECASE)
_SHALL = re.compile(r"I['’]ll\s+", re.IGNORECASE)
_HANGS = re.compile(rf"(?:{_HANGING})\b", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:I|we|he|she|they|there|my|our|his|her|their)\b", re.IGNORECASE)
_PADDING = re.compile(rf"\b(?:{_ADVERBS})\s+", re.IGNORECASE)
_EDGES = " \t\"'“”‘’*_-–—,;:.!…。，；।("


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """A sentence, the spans of its clauses, and whether it asks something."""

    text: str
    clauses: tuple[Span, ...]
    asks: bool


def sentences(text: str, people: Set[str]) -> Iterator[SpokenSentence]:
    """The sentences of a cleaned text that say anything, each with its clauses."""
    for written in _split(text):
        if spans := tuple(_clauses(written, people)):
            yield SpokenSentence(written, spans, written.endswith(("?", "？", "؟")))


def bare(text: str, *, drop_self: bool) -> str:
    """What a clause says: joining words, padding, and a leading "I" that the label stands for."""
    text = _drop(_JOINED, text.strip(_EDGES))
    if drop_self:
        told = _SHALL.sub("will ", text) if _SHALL.match(text) else _drop(_SELF, text)
        text = told if len(told.split()) > 1 else text  # "I'm Ana" and "I swim" say it whole
    text = _PADDING.sub("", _drop(_JOINED, text))
    return _balanced(" ".join(text.split()).strip(_EDGES))


def hangs(text: str) -> bool:
    """Whether a clause hangs on another, before it or after."""
    return _HANGS.match(text) is not None


def starts_well(text: str) -> bool:
    """Whether a clause has its own subject, so that it can stand without the one before."""
    return _SUBJECT.match(_drop(_JOINED, text)) is not None


def _says_something(words: list[str], people: Set[str]) -> bool:
    """Whether there is a word beside stop words, fillers and the names of those who talk."""
    return any(
        word not in lexicon.words("hollow") and word not in people and not is_stop_word(word)
        for word in words
    )


def _drop(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.match(text)
    return text[found.end() :] if found else text


def _balanced(text: str) -> str:
    """Without an opening or closing mark whose partner is elsewhere."""
    for opening, closing in ("()", "[]", "“”", '""'):
        if opening == closing:
            odd = text.count(opening) % 2
        else:
            odd = text.count(opening) != text.count(closing)
        if odd:
            text = text.replace(opening, "").replace(closing, "")
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return text.rstrip("(").strip()


def _split(text: str) -> Iterator[str]:
    start = 0
    for found in _END.finditer(text):
        if found[0] == "." and _ABBREVIATED.search(text, max(start, found.end() - 8), found.end()):
            continue
        if written := text[start : found.end()].strip():
            yield written
        start = found.end()
    if written := text[start:].strip():
        yield written


def _clauses(text: str, people: Set[str]) -> Iterator[Span]:
    """Spans in order; short pieces stay with a neighbour, pieces that say nothing are left out.

    Not those on which the next one hangs: "It was | when we met".
    """
    held, count, idle = (0, 0), 0, -1
    for start, end in _pieces(text):
        words = _words(text[start:end])
        if not _says_something(words, people):
            idle = start
            continue
        if idle >= 0 and hangs(text[start:end]) and end - idle <= LONGEST:
            start = idle
        idle = -1
        if count and min(count, len(words)) < _LEAST_WORDS and end - held[0] <= LONGEST:
            held, count = (held[0], end), count + len(words)
            continue
        if count:
            yield held
        held, count = (start, end), len(words)
    if count:
        yield held


def _pieces(text: str) -> Iterator[Span]:
    start = 0
    for found in _BREAK.finditer(text):
        yield from _short(text, start, found.start())
        start = found.end()
    yield from _short(text, start, len(text))


def _short(text: str, start: int, end: int) -> Iterator[Span]:
    """A piece, cut between words where it is too long to be one."""
    while end - start > LONGEST:
        ends = [start + last for _, last in word_spans(text[start : start + LONGEST])]
        cut = ends[-2] if len(ends) > 1 else start + LONGEST
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def _words(text: str) -> list[str]:
    return [
        text[start:end].lower().replace("’", "'").removesuffix("'s")
        for start, end in word_spans(text)
    ]


# Near what bench/train_summary.py learns of bench/judged/turns.jsonl; the plain share is set.
PLAIN, OWN, OWN_PAST, OWN_TO_YOU, WHEN, TO_YOU = 0.3, 0.7, 0.45, -0.5, 0.5, -0.2
_LEAST = 0.1
_OWN = re.compile(r"\b(?:i|we|my|our|me|us)(?![^\W_])", re.IGNORECASE)
_YOU = re.compile(r"\b(?:you(?:rs?|rself)?(?![^\W_])|let['’]s\b|thanks?\b)", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Manner:
    """How something is said: of oneself, to the other, of the past, with a time."""

    own: bool
    to_you: bool
    past: bool
    when: bool

    @property
    def worth(self) -> float:
        """What it is worth beside a plain statement; never nothing."""
        found = PLAIN + WHEN * self.when
        if self.own:
            found += OWN + OWN_PAST * self.past + OWN_TO_YOU * self.to_you
        else:
            found += TO_YOU * self.to_you
        return max(found, _LEAST)


def manner_of(clause: str, *, timed: bool, retold: bool = False) -> Manner:
    """How a clause speaks; one that is `retold` has lost its "I" to the name before it.

    So has one that begins with what was done: "Took a trip to Rome".
    """
    words = _WORD.findall(clause.lower())
    past = any(map(_is_past, words))
    elided = retold or (bool(words) and _is_past(words[0]))
    to_you = _YOU.search(clause) is not None
    own = _OWN.search(clause) is not None or (elided and not to_you)
    return Manner(own, to_you, past, timed)


def together(manners: Iterable[Manner]) -> Manner:
    """How several clauses of one sentence speak."""
    found = list(manners)
    return Manner(
        any(one.own for one in found),
        any(one.to_you for one in found),
        any(one.past for one in found),
        any(one.when for one in found),
    )


def _is_past(word: str) -> bool:
    known = verb(word)
    if known is None:
        return len(word) > 4 and word.endswith("ed")
    return bool(known[1] & Form.PAST)

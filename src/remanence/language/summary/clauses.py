"""Turns taken apart: sentences, the clauses in them, and what a clause says without its padding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime

from remanence.language.english import lexicon
from remanence.language.words import is_stop_word, word_spans

_LABEL = re.compile(r"([^\n:;.!?]{1,60}): (?=\S)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
Span = tuple[int, int]
LONGEST = 240
_LEAST_WORDS = 3
_UNSAFE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x9f\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_CODE = re.compile(r"```.*?```|~~~.*?~~~", re.DOTALL)
_LIST_MARK = re.compile(r"^[ \t]*(?:(?:[#>|]+|[-*•+]|\d{1,3}[.)])[ \t]+)+", re.MULTILINE)
_MARKUP = re.compile(r"\*\*|__|`|^[ \t|:=_*-]+$", re.MULTILINE)
# Possessive, and never begun inside a run: a hostile row of marks costs no more than its length.
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]*]*+(?=\s|$)|[。！？।؟]+[」』”’）)]*|\n| (?=\[)|(?<=\]) "
    r"|[\u2600-\u27bf\U0001f000-\U0001faff][\ufe0f\u200d\u2600-\u27bf\U0001f000-\U0001faff]*"
)
_ABBREVIATED = re.compile(
    r"(?:^|\W)(?:dr|mr|mrs|ms|prof|st|vs|e\.g|i\.e|no|jr|sr|[^\W\d_])\.$", re.IGNORECASE
)
_BREAK = re.compile(
    r"[,;:] |[，；،] ?| ?(?<![-–—])[-–—]++ |—"
    r"| (?=(?:and|but|so|or) (?:i|we|he|she|they|it|you|my|our|his|her|their|there)\b)"
    r"| (?=(?:because|since|while|although|though|when|which|who|where|until|unless|if|after"
    r"|before|porque|pero|parce|mais|weil|aber|perché) )",
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
_PADDING = re.compile(rf"\b(?:{_ADVERBS})\s+", re.IGNORECASE)
_EDGES = " \t\"'“”‘’*_-–—,;:.!…。，；।("


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: who said what, and when. Without a speaker it may be a summary made before."""

    speaker: str | None
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary, and the places of the turns it was made of, in their order."""

    text: str
    chosen: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Voice:
    """What one speaker said on one day, in the turn at that place."""

    place: int
    speaker: str
    day: date | None
    text: str


def voices(turns: Sequence[Said]) -> Iterator[Voice]:
    """The turns by speaker and day; a turn without a speaker is read line by line."""
    for place, turn in enumerate(turns):
        day = turn.at.date() if turn.at else None
        if turn.speaker and turn.speaker.strip():
            yield Voice(place, label_of(turn.speaker), day, turn.text)
        else:
            yield from _read_back(place, day, turn.text)


def label_of(speaker: str) -> str:
    """A speaker's name on one line and not longer than a name is."""
    return " ".join(speaker.split())[:60].strip(" :")


def _read_back(place: int, day: date | None, text: str) -> Iterator[Voice]:
    for line in text.splitlines():
        if _DAY.fullmatch(line.strip()):
            day = _date(line.strip()) or day
            continue
        found = _LABEL.match(line)
        if found and ";" not in found[1]:
            yield Voice(place, label_of(found[1]), day, line[found.end() :])
        elif line.strip():
            yield Voice(place, "", day, line)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """A sentence, the spans of its clauses, and whether it asks something."""

    text: str
    clauses: tuple[Span, ...]
    asks: bool


def cleaned(text: str) -> str:
    """The text without code blocks, marks of lists and emphasis, and unseen characters.

    Blanks are single ones, and lines end with a line feed.
    """
    if "```" in text or "~~~" in text:
        text = _CODE.sub("\n", text)
    text = _MARKUP.sub("", _LIST_MARK.sub("", text))
    return "\n".join(" ".join(line.split()) for line in _UNSAFE.sub("", text).splitlines())


def sentences(text: str, people: Set[str]) -> Iterator[SpokenSentence]:
    """The sentences of a cleaned text that say anything, each with its clauses."""
    for written in _split(text):
        if spans := tuple(_clauses(written, people)):
            yield SpokenSentence(written, spans, written.endswith(("?", "？", "؟")))


def bare(text: str, *, drop_self: bool) -> str:
    """What a clause says: joining words, padding, and a leading "I" that the label stands for."""
    text = _drop(_JOINED, text.strip(_EDGES))
    if drop_self:
        text = _SHALL.sub("will ", text) if _SHALL.match(text) else _drop(_SELF, text)
    text = _PADDING.sub("", _drop(_JOINED, text))
    return _balanced(" ".join(text.split()).strip(_EDGES))


def starts_well(text: str) -> bool:
    """Whether a clause can stand at the start, without the clause it hung on."""
    return text.split(" ", 1)[0].lower().strip(_EDGES) not in lexicon.words("dependent")


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
    """Spans in order; short pieces stay with a neighbour, pieces that say nothing are left out."""
    held, count = (0, 0), 0
    for start, end in _pieces(text):
        words = _words(text[start:end])
        if not _says_something(words, people):
            continue
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

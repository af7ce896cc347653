"""How much of what answers need a summary keeps, beside simple ways of the same length."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from time import process_time

from remanence.language.summary import Said, summarise
from remanence.language.words import is_stop_word
from remanence.tools.evaluation.datasets import Corpus, Turn

Item = str

SENTENCE = re.compile(r"\S[^.!?\n]*(?:[.!?]+|\n|$)")

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_UP_TO_TWENTY = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty
"""
_NUMBER_WORDS = {word: str(n) for n, word in enumerate(_UP_TO_TWENTY.split(), start=2)} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70",
    "eighty": "80", "ninety": "90", "hundred": "100", "thousand": "1000", "million": "1000000",
    "dozen": "12",
}  # fmt: skip
_WEEKDAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTH = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_UNIT = "second|minute|hour|day|night|week|weekend|month|year|decade"
_TURNED = f"{_UNIT}|{_WEEKDAY}|{_MONTH}|spring|summer|fall|autumn|winter|morning|evening|afternoon"
_AMOUNT = r"\d+|a|an|one|few|a few|several|couple|a couple(?: of)?|couple of|many"
_TIME = re.compile(
    r"(?<!\S)(?:"
    rf"(?:{_AMOUNT}) (?:{_UNIT})s? (?:ago|later|from now|before|earlier)"
    rf"|(?:last|next|this|past|previous|coming|following) (?:{_TURNED})"
    rf"|(?:{_WEEKDAY})|\d+ (?:of )?(?:{_MONTH})(?: \d{{4}})?|(?:{_MONTH}) \d+(?: \d{{4}})?"
    rf"|(?:in|since|until|by|early|late|mid|of) (?:{_MONTH}|spring|summer|autumn|winter)"
    r"|(?:19|20)\d\d|yesterday|today|tomorrow|tonight|christmas|thanksgiving|halloween|easter"
    r")(?!\S)"
)
_DIGITS = re.compile(r"(?<!\S)\d[\d.:]*(?!\S)")
_CALENDAR = re.compile(rf"(?:{_WEEKDAY}|{_MONTH}|christmas|thanksgiving|halloween|easter)s?")

SHARE = 0.2
SEED = 7

Summariser = Callable[[Sequence[Said], int], str]


def normal_words(text: str) -> list[str]:
    """Words as they are compared: case, accents, possessives and the spelling of numbers gone."""
    return [_normal(word) for word in _WORD.findall(text)]


def name_words(texts: Iterable[str]) -> frozenset[str]:
    """Words that are written with a capital inside sentences more often than without one."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in texts:
        for sentence in SENTENCE.findall(text):
            for place, word in enumerate(_WORD.findall(sentence)):
                if word[0].islower():
                    small[_normal(word)] += 1
                elif place and word[0].isupper():
                    capital[_normal(word)] += 1
    return frozenset(
        word
        for word, count in capital.items()
        if count > small[word]
        and len(word) > 1
        and not is_stop_word(word)
        and not _CALENDAR.fullmatch(word)
    )


def items_of(text: str, named: frozenset[str]) -> frozenset[Item]:
    """The distinct names, numbers and times of a text, as normalised words with spaces between."""
    written = " ".join(normal_words(text))
    times = [found[0] for found in _TIME.finditer(written)]
    numbers = _DIGITS.findall(_TIME.sub("|", written))
    return frozenset([*times, *numbers, *_names(text, named)])


def kept(items: frozenset[Item], summary: str) -> int:
    """How many of the items stand in the summary, their words side by side."""
    written = f" {' '.join(normal_words(summary))} "
    return sum(f" {item} " in written for item in items)


def repeated(text: str) -> float:
    """The share of runs of four content words that the text has had before."""
    words = [word for word in normal_words(text) if not is_stop_word(word)]
    runs = list(zip(words, words[1:], words[2:], words[3:], strict=False))
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def _normal(word: str) -> str:
    bare = unicodedata.normalize("NFD", word.casefold())
    bare = "".join(char for char in bare if not unicodedata.combining(char))
    bare = re.sub(r"['’]s?$", "", bare).replace(",", "")
    return _NUMBER_WORDS.get(bare, bare)


def _names(text: str, named: frozenset[str]) -> Iterator[Item]:
    end, group = -1, list[str]()
    for found in _WORD.finditer(text):
        word = _normal(found[0])
        if found[0][0].isupper() and word in named:
            if text[end : found.start()] != " " and group:
                yield " ".join(group)
                group = []
            group.append(word)
            end = found.end()
        elif group:
            yield " ".join(group)
            group = []
    if group:
        yield " ".join(group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one way of summarising keeps, and at which length."""

    questions: int
    items: int
    kept_by_question: float
    kept_of_items: float
    kept_of_words: float
    length: float
    repeated: float
    ms_per_turn: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One session's summary, to be read by a person."""

    session: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Figures by data set, then by way of summarising; and summaries to read."""

    figures: Mapping[str, Mapping[str, Figures]]
    examples: Sequence[Example]


def summaries_report(corpora: Iterable[Corpus], share: float = SHARE) -> Report:
    """Summarise every session that holds an answer, by each of the ways, at one length."""
    asked = [corpus for corpus in corpora if corpus.probes]
    sets = dict.fromkeys(corpus.dataset for corpus in asked)
    figures = {
        name: _compared([corpus for corpus in asked if corpus.dataset == name], share)
        for name in sets
    }
    return Report(figures=figures, examples=tuple(_examples(asked, share)))


def _compared(corpora: Sequence[Corpus], share: float) -> dict[str, Figures]:
    ways: dict[str, Summariser] = {
        "ours": lambda turns, size: summarise(turns, size).text,
        "first sentences": _first_sentences,
        "lead turns": _lead_turns,
        "random sentences": _random_sentences,
    }
    return {name: _measured(corpora, way, share) for name, way in ways.items()}


@dataclass(slots=True)
class _Tally:
    shares: list[float] = field(default_factory=list)
    words: list[float] = field(default_factory=list)
    kept: int = 0
    items: int = 0


def _measured(corpora: Sequence[Corpus], way: Summariser, share: float) -> Figures:
    tally, lengths, repeats = _Tally(), list[float](), list[float]()
    seconds, count = 0.0, 0
    for corpus in corpora:
        named = name_words(turn.text for turn in corpus.turns)
        texts: dict[str, str] = {}
        for session, turns in _answering(corpus).items():
            said, size = _said(turns), sum(len(turn.text) for turn in turns)
            begun = process_time()
            texts[session] = way(said, int(size * share))
            seconds, count = seconds + process_time() - begun, count + len(turns)
            lengths.append(len(texts[session]) / size)
            repeats.append(repeated(texts[session]))
        _ask(corpus, texts, named, tally)
    return Figures(
        questions=len(tally.shares),
        items=tally.items,
        kept_by_question=round(_mean(tally.shares), 4),
        kept_of_items=round(tally.kept / max(tally.items, 1), 4),
        kept_of_words=round(_mean(tally.words), 4),
        length=round(_mean(lengths), 4),
        repeated=round(_mean(repeats), 4),
        ms_per_turn=round(seconds * 1000 / count, 4),
    )


def _ask(corpus: Corpus, texts: Mapping[str, str], named: frozenset[str], tally: _Tally) -> None:
    turns = {turn.id: turn for turn in corpus.turns}
    speakers = _speakers(corpus)
    for probe in corpus.probes:
        gold = [turns[id] for id in sorted(probe.turns)]
        tally.words.append(_mean(_words_kept(turn.text, texts[turn.session]) for turn in gold))
        wanted: dict[str, frozenset[Item]] = {}
        for turn in gold:
            found = items_of(turn.text, named) - speakers
            wanted[turn.session] = wanted.get(turn.session, frozenset()) | found
        items = sum(map(len, wanted.values()))
        if items:
            held = sum(kept(found, texts[session]) for session, found in wanted.items())
            tally.shares.append(held / items)
            tally.kept, tally.items = tally.kept + held, tally.items + items


def _speakers(corpus: Corpus) -> frozenset[str]:
    """The names of those who talk and what is short for them: labels give them for nothing."""
    whole = {word for turn in corpus.turns for word in normal_words(turn.speaker or "")}
    return frozenset(word[:end] for word in whole for end in range(2, len(word) + 1))


def _words_kept(text: str, summary: str) -> float:
    words = {word for word in normal_words(text) if not is_stop_word(word)}
    return len(words & set(normal_words(summary))) / len(words) if words else 1.0


def _answering(corpus: Corpus) -> dict[str, list[Turn]]:
    gold = frozenset[str]().union(*(probe.turns for probe in corpus.probes))
    sessions: dict[str, list[Turn]] = {}
    for turn in corpus.turns:
        sessions.setdefault(turn.session, []).append(turn)
    return {
        name: turns for name, turns in sessions.items() if any(turn.id in gold for turn in turns)
    }


def _said(turns: Sequence[Turn]) -> list[Said]:
    return [Said(turn.speaker or turn.role, turn.text, turn.at) for turn in turns]


def _examples(corpora: Sequence[Corpus], share: float) -> Iterator[Example]:
    for corpus in corpora[:2]:
        session, turns = next(iter(_answering(corpus).items()))
        size = int(sum(len(turn.text) for turn in turns) * share)
        yield Example(session=f"{corpus.name} {session}", text=summarise(_said(turns), size).text)


def _sentences(turn: Said) -> list[str]:
    return [f"{turn.speaker}: {found.strip()}" for found in SENTENCE.findall(turn.text)]


def _filled(lines: Iterable[str], characters: int) -> str:
    """Lines in their order until the first that does not fit."""
    taken, left = list[str](), characters + 1
    for line in lines:
        if len(line) + 1 > left:
            break
        taken.append(line)
        left -= len(line) + 1
    return "\n".join(taken)


def _first_sentences(turns: Sequence[Said], characters: int) -> str:
    return _filled((found[0] for found in map(_sentences, turns) if found), characters)


def _lead_turns(turns: Sequence[Said], characters: int) -> str:
    return _filled((f"{turn.speaker}: {turn.text}" for turn in turns), characters)


def _random_sentences(turns: Sequence[Said], characters: int) -> str:
    lines = [line for turn in turns for line in _sentences(turn)]
    random.Random(SEED).shuffle(lines)
    return _filled(lines, characters)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0

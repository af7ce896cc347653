"""How much of what answers need a summary keeps, beside simple ways of the same length."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from time import process_time

from remanence.evaluation.datasets import Corpus, Turn
from remanence.evaluation.summary_items import (
    SENTENCE,
    Item,
    items_of,
    kept,
    name_words,
    normal_words,
    repeated,
)
from remanence.text.summary import Said, summarise
from remanence.text.words import is_stop_word

SHARE = 0.2
SEED = 7

Summariser = Callable[[Sequence[Said], int], str]


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

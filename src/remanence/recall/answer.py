"""What a search found, before the memories are read; as bytes for a cache, and back."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from remanence.language.names import mentions_name
from remanence.language.traits import said_times
from remanence.model.embedding import Span
from remanence.model.hit import Hit, Hits, Understanding
from remanence.model.memory import MemoryRecord
from remanence.recall.adapter import LEARNED
from remanence.recall.conditions import ReadPartition
from remanence.recall.confidence import FAMILIES, UNKNOWN, Confidence
from remanence.recall.question import Question
from remanence.recall.ranked import Ranked
from remanence.recall.ranker import OUTDATED, Ranker

FORMAT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHit:
    """A hit without its memory. `span` is where its passage stands; None is the whole text."""

    partition: int
    key: int
    score: float
    signals: Mapping[str, float]
    details: Mapping[str, float]
    span: Span | None
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """All that a search found, best first, and how it came about."""

    found: tuple[FoundHit, ...]
    understood: Understanding
    degraded: tuple[str, ...] = ()
    confidence: Confidence = UNKNOWN


def found_in(ranked: Ranked, ranker: Ranker) -> tuple[FoundHit, ...]:
    """What a ranking says of each of its memories."""
    told = zip(
        ranked.rows(),
        ranked.scores.tolist(),
        ranked.signals(ranker),
        ranked.details(ranker),
        strict=True,
    )
    found = []
    for (scene, row), score, signals, details in told:
        best = scene.evidence.best_piece(row)
        found.append(
            FoundHit(
                partition=scene.partition,
                key=int(scene.columns.key[row]),
                score=score,
                signals=signals,
                details=details,
                span=None if best is None else best.passage,
                similarity=None if best is None else best.cosine,
            )
        )
    return tuple(found)


def memories_of(source: ReadPartition, found: Sequence[FoundHit]) -> dict[int, MemoryRecord]:
    """The memories by key, as they are now; those that are gone are left out."""
    wanted: defaultdict[int, list[int]] = defaultdict(list)
    for one in found:
        wanted[one.partition].append(one.key)
    records: dict[int, MemoryRecord] = {}
    for partition, keys in wanted.items():
        records |= source.records(partition, keys)
    return records


def hits_of(answer: Answer, records: Mapping[int, MemoryRecord]) -> Hits:
    """The hits: what was found together with the memories that are still there."""
    hits = [_hit(one, records[one.key]) for one in answer.found if one.key in records]
    return Hits(
        hits,
        understood=answer.understood,
        degraded=answer.degraded,
        confidence=answer.confidence.value,
        confidence_signals=answer.confidence.signals,
    )


def _hit(found: FoundHit, record: MemoryRecord) -> Hit:
    passage = record.text if found.span is None else record.text[slice(*found.span)]
    return Hit(
        memory=record,
        score=found.score,
        signals=found.signals,
        details=found.details,
        passage=passage,
        times=said_times(passage, record.happened_at),
        similarity=found.similarity,
        outdated=found.details.get(OUTDATED, 0.0) < 0,
    )


class Saved:
    """Writes and reads answers of one ranker; they hold keys, figures and places, and no text.

    The names of people are the exception: those that the question itself says.
    """

    def __init__(self, ranker: Ranker) -> None:
        families = dict.fromkeys(name.partition(".")[0] for name in ranker.parts)
        self._signals = ("base", *families)
        self._details = ("base", *ranker.parts)
        learned = dict.fromkeys(name.partition(".")[0] for name in LEARNED)
        self._learned = (*self._signals, *learned), (*self._details, *LEARNED)

    def write(self, key: str, answer: Answer) -> bytes:
        """The answer, with the key it belongs under."""
        rows = [self._row(one) for one in answer.found]
        people = answer.understood.people
        told = {"format": FORMAT, "key": key, "people": people, "hits": rows}
        return orjson.dumps({**told, "confidence": [*answer.confidence]})

    def read(
        self, value: bytes, key: str, partitions: frozenset[int], question: Question
    ) -> Answer:
        """What `write` made, from these partitions alone; `ValueError` for anything else."""
        match orjson.loads(value):
            case {
                "format": form,
                "key": own,
                "people": [*people],
                "hits": [*rows],
                "confidence": [value, {**signals}],
            } if form == FORMAT and own == key:
                found = tuple(self._found(row) for row in rows)
                sure = _confidence(value, signals)
            case _:
                raise ValueError("not an answer to this")
        if len({one.key for one in found}) < len(found):
            raise ValueError("a memory comes twice")
        if not partitions.issuperset(one.partition for one in found):
            raise ValueError("another partition")
        understood = question.understood(_named_in(question, people))
        return Answer(found=found, understood=understood, confidence=sure)

    def _row(self, found: FoundHit) -> list[Any]:
        first, second = self._names(len(found.details))
        signals = [found.signals[name] for name in first]
        details = [found.details[name] for name in second]
        place = [found.partition, found.key]
        return [*place, found.score, found.span, found.similarity, signals, details]

    def _found(self, row: object) -> FoundHit:
        match row:
            case [partition, key, score, span, similarity, [*signals], [*details]]:
                first, second = self._names(len(details))
                return FoundHit(
                    partition=_whole(partition),
                    key=_whole(key),
                    score=_finite(score),
                    signals=_named(first, signals),
                    details=_named(second, details),
                    span=None if span is None else _span(span),
                    similarity=None if similarity is None else _finite(similarity),
                )
        raise ValueError("not a hit")

    def _names(self, details: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What so many details, and the signals with them, are called."""
        plain = details <= len(self._details)
        return (self._signals, self._details) if plain else self._learned


def _named_in(question: Question, people: Sequence[object]) -> list[str]:
    names = [name for name in people if isinstance(name, str)]
    if len(names) < len(people) or not all(mentions_name(question.text, n) for n in names):
        raise ValueError("people the question does not name")
    return names


def _confidence(value: object, signals: Mapping[object, object]) -> Confidence:
    if not signals.keys() <= FAMILIES:
        raise ValueError("signals of something else")
    shares = {str(name): _finite(share) for name, share in signals.items()}
    told = None if value is None else _finite(value)
    if told is not None and not 0 <= told <= 1:
        raise ValueError("not a probability")
    return Confidence(told, shares)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError("not a whole number")
    return value


def _finite(value: object) -> float:
    if not isinstance(value, float | int) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError("not a figure")
    return float(value)


def _span(value: object) -> Span:
    match value:
        case [first, last]:
            start, stop = _whole(first), _whole(last)
            if start <= stop:
                return start, stop
    raise ValueError("not a span")


def _named(names: Sequence[str], values: Sequence[object]) -> Mapping[str, float]:
    return dict(zip(names, map(_finite, values), strict=True))

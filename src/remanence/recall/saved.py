"""An answer as bytes for a cache, and the distrustful way back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from remanence.model.embedding import Span
from remanence.model.hit import Understanding
from remanence.recall.adapter import LEARNED
from remanence.recall.answer import Answer, Found
from remanence.recall.ranker import Ranker
from remanence.recall.understand import Question
from remanence.text.names import mentions_name

FORMAT = 1


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
        return orjson.dumps({"format": FORMAT, "key": key, "people": people, "hits": rows})

    def read(
        self, value: bytes, key: str, partitions: frozenset[int], question: Question
    ) -> Answer:
        """What `write` made, from these partitions alone; `ValueError` for anything else."""
        match orjson.loads(value):
            case {"format": form, "key": own, "people": [*people], "hits": [*rows]} if (
                form == FORMAT and own == key
            ):
                found = tuple(self._found(row) for row in rows)
            case _:
                raise ValueError("not an answer to this")
        if len({one.key for one in found}) < len(found):
            raise ValueError("a memory comes twice")
        if not partitions.issuperset(one.partition for one in found):
            raise ValueError("another partition")
        return Answer(found=found, understood=_understood(question, people))

    def _row(self, found: Found) -> list[Any]:
        first, second = self._names(len(found.details))
        signals = [found.signals[name] for name in first]
        details = [found.details[name] for name in second]
        place = [found.partition, found.key]
        return [*place, found.score, found.span, found.similarity, signals, details]

    def _found(self, row: object) -> Found:
        match row:
            case [partition, key, score, span, similarity, [*signals], [*details]]:
                first, second = self._names(len(details))
                return Found(
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


def _understood(question: Question, people: Sequence[object]) -> Understanding:
    names = [name for name in people if isinstance(name, str)]
    if len(names) < len(people) or not all(mentions_name(question.text, n) for n in names):
        raise ValueError("people the question does not name")
    period = question.period
    return Understanding(
        terms=tuple(question.terms),
        people=tuple(names),
        since=period.start if period else None,
        until=period.end if period else None,
    )


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

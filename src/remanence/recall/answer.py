"""What a search found, before the memories themselves are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remanence.model.embedding import Span
from remanence.model.hit import Hit, Hits, Understanding
from remanence.model.memory import MemoryRecord
from remanence.recall.conditions import Readable
from remanence.recall.ranked import Ranked
from remanence.recall.ranker import Ranker


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
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

    found: tuple[Found, ...]
    understood: Understanding
    degraded: tuple[str, ...] = ()


def found_in(ranked: Ranked, ranker: Ranker) -> tuple[Found, ...]:
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
            Found(
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


def memories_of(source: Readable, found: Sequence[Found]) -> dict[int, MemoryRecord]:
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
    return Hits(hits, understood=answer.understood, degraded=answer.degraded)


def _hit(found: Found, record: MemoryRecord) -> Hit:
    return Hit(
        memory=record,
        score=found.score,
        signals=found.signals,
        details=found.details,
        passage=record.text if found.span is None else record.text[slice(*found.span)],
        similarity=found.similarity,
    )

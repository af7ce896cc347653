"""The retrieval adapter in a search: what feedback taught about one user's way of asking."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np

from remanence.model.embedding import Fingerprint, FloatArray
from remanence.recall.postings import Rows
from remanence.recall.ranker import Ranker

# What an adapter adds to the score, beside a change of the ranker's own weights.
LEARNED = ("learned.vector", "learned.words")
# Of the words that one question may lead to.
MOST_WORDS = 24

FORMAT = 1
MOST_RANK = 16
MOST_BRIDGES = 2_000
MOST_LED_TO = 12
# No weight of a signal is larger by far, so a larger one was not learned here.
LARGEST = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """A near-identical map of the question's vector, bridges between words, other weights.

    The question q becomes unit(q + out·(intoᵀq)). A bridge leads from a word of questions (or two
    that follow each other) to words of memories, each as strong as 0 to 1. `weights` are those of
    `LEARNED`; `ranker` is the search's own with this user's weights.
    """

    version: int
    out: FloatArray  # (dimension, rank)
    into: FloatArray  # (dimension, rank)
    bridges: Mapping[str, Mapping[str, float]]
    weights: tuple[float, float]
    ranker: Ranker

    def moved(self, vector: FloatArray) -> FloatArray:
        """The question's vector as this user means it; itself where nothing was learned."""
        if not self.out.size:
            return vector
        turned = vector + self.out @ (self.into.T @ vector)
        length = float(np.linalg.norm(turned))
        return np.asarray(turned / length, np.float32) if length > 1e-6 else vector

    def meant(self, terms: Sequence[str]) -> dict[str, float]:
        """The words that the question's terms lead to, strongest first, its own left out."""
        found: dict[str, float] = {}
        for unit in units(terms):
            for word, strength in self.bridges.get(unit, {}).items():
                found[word] = max(found.get(word, 0.0), strength)
        others = [(word, strength) for word, strength in found.items() if word not in terms]
        return dict(sorted(others, key=lambda one: (-one[1], one[0]))[:MOST_WORDS])


def units(terms: Sequence[str]) -> Iterator[str]:
    """What a bridge may begin at: each term, and each two that follow each other."""
    yield from terms
    yield from (" ".join(pair) for pair in pairwise(terms))


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What an adapter makes of one question in one partition."""

    adapter: Adapter
    vector: FloatArray | None  # the moved question
    words: FloatArray  # by row, 0 to 1; empty where no bridge leads anywhere

    def best_by_words(self, count: int) -> Rows:
        """The rows that bridges lead to most strongly."""
        best = np.argsort(-self.words, kind="stable")[:count]
        return np.asarray(best[self.words[best] > 0], np.int64)

    def figures(self, vectors: FloatArray, dense: FloatArray, rows: Rows) -> FloatArray:
        """The figures of `LEARNED` for these rows: (rows, 2)."""
        nearer = np.zeros(len(rows), np.float32)
        if self.vector is not None and len(vectors):
            nearer = np.where(vectors.any(axis=1), vectors @ self.vector - dense, 0)
        words = self.words[rows] if len(self.words) else np.zeros(len(rows), np.float32)
        return np.column_stack([nearer, words]).astype(np.float32)


class Unusable(ValueError):
    """The value is no adapter for this search; the message says why."""


def ranker_digest(ranker: Ranker) -> str:
    """What tells one set of signal weights from another."""
    figures = np.concatenate([ranker.mean, ranker.scale, ranker.weight])
    told = "\n".join([*ranker.names, *(f"{value:.6g}" for value in figures.tolist())])
    return blake2b(told.encode(), digest_size=16).hexdigest()


def packed(adapter: Adapter, plain: Ranker, made_by: Fingerprint) -> dict[str, Any]:
    """The adapter as JSON; `plain` is the ranker without what it learned."""
    change = adapter.ranker.weight - plain.weight
    return {
        "format": FORMAT,
        "embedder": str(made_by),
        "ranker": ranker_digest(plain),
        "rank": adapter.out.shape[1],
        "out": _packed(adapter.out),
        "into": _packed(adapter.into),
        "bridges": {word: dict(led) for word, led in adapter.bridges.items()},
        "weights": dict(zip(LEARNED, adapter.weights, strict=True)),
        "change": {n: float(c) for n, c in zip(plain.names, change, strict=True) if c},
    }


def unpacked(value: Mapping[str, Any], version: int, plain: Ranker, by: Fingerprint) -> Adapter:
    """What `packed` made; `Unusable` for anything else, or for another embedder or ranker."""
    if value.get("format") != FORMAT:
        raise Unusable("it is damaged or of another version")
    if value.get("embedder") != str(by):
        raise Unusable("it was trained with another embedder")
    if value.get("ranker") != ranker_digest(plain):
        raise Unusable("it was trained for another ranker")
    try:
        return _unpacked(value, version, plain, by.dimension)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unusable("it is damaged") from error


def _unpacked(value: Mapping[str, Any], version: int, plain: Ranker, dimension: int) -> Adapter:
    rank = value["rank"]
    if not isinstance(rank, int) or not 0 <= rank <= MOST_RANK:
        raise ValueError("rank")
    change = {name: _figure(figure) for name, figure in value["change"].items()}
    vector, words = (_figure(value["weights"][name]) for name in LEARNED)
    return Adapter(
        version=version,
        out=_restored(value["out"], dimension, rank),
        into=_restored(value["into"], dimension, rank),
        bridges=_bridges(value["bridges"]),
        weights=(vector, words),
        ranker=plain.changed(change),
    )


def _packed(array: FloatArray) -> str:
    return base64.b64encode(array.astype("<f2").tobytes()).decode()


def _restored(text: str, dimension: int, rank: int) -> FloatArray:
    raw = np.frombuffer(base64.b64decode(text, validate=True), "<f2")
    array = raw.reshape(dimension, rank).astype(np.float32)
    if not np.isfinite(array).all():
        raise ValueError("not a number")
    return array


def _figure(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a figure")
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise ValueError("not a figure")
    return float(value)


def _bridges(value: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    if len(value) > MOST_BRIDGES or any(len(led) > MOST_LED_TO for led in value.values()):
        raise ValueError("too many bridges")
    return {word: {to: _strength(s) for to, s in led.items()} for word, led in value.items()}


def _strength(value: object) -> float:
    return min(max(_figure(value), 0.0), 1.0)

"""A retrieval adapter as a document's value, and the distrustful way back."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from remanence.model.embedding import Fingerprint, FloatArray
from remanence.recall.adapter import LEARNED, Adapter
from remanence.recall.ranker import Ranker

FORMAT = 1
MOST_RANK = 16
MOST_BRIDGES = 2_000
MOST_LED_TO = 12
# No weight of a signal is larger by far, so a larger one was not learned here.
LARGEST = 100.0


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

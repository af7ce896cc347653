"""Seeded synthetic memories for the speed benchmark: texts, clustered unit vectors, codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from remanence.backends.embedding.models import DEFAULT_MODEL, find_model
from remanence.config import load_settings

DIMENSION = 384
TEAMS = 100  # a filter on one of them keeps 1 %
TURNS = 20  # to a session
_FREQUENT = """the and to of a i in it is that you for was on with my but have this so be at we
are not they just had me like as all about what when there out up really do he she were"""
_CHUNK = 20_000
_TOPIC = 50  # memories to a centre, on average
_SPREAD = 1.3  # noise against centre; nearest cosines and recall then equal those of chat turns


@dataclass(frozen=True, slots=True)
class Turn:
    """One memory to be."""

    number: int
    session: str
    speaker: str
    text: str
    team: str
    codes: bytes


def turns(count: int, seed: int) -> Iterator[Turn]:
    """Chat turns of 8 to 25 words from a Zipfian vocabulary, in sessions of about 20."""
    rng = np.random.default_rng([seed, 1])
    words = _vocabulary(rng)
    shares = np.cumsum(1 / np.arange(1, len(words) + 1))
    for number in range(count):
        drawn = np.searchsorted(shares, rng.random(rng.integers(8, 26)) * shares[-1])
        yield Turn(
            number=number,
            session=f"s{number // TURNS}",
            speaker=("Ana", "Ben")[number % 2],
            text=" ".join(words[word] for word in drawn),
            team=f"team{rng.integers(TEAMS)}",
            codes=rng.bytes(16 * int(rng.integers(12, 25))),
        )


def renumbered(turn: Turn, number: int) -> Turn:
    """The same turn under another number."""
    return replace(turn, number=number)


def questions(count: int, seed: int) -> list[str]:
    """Questions with three content words each, rare and common ones."""
    rng = np.random.default_rng([seed, 1])
    words = _vocabulary(rng)[len(_FREQUENT.split()) :]
    ranks = np.exp(rng.uniform(0, np.log(len(words)), (count, 3))).astype(int)
    return [f"What did Ana say about {words[a]} {words[b]} {words[c]}?" for a, b, c in ranks - 1]


def save_vectors(path: Path, count: int, seed: int) -> None:
    """Unit vectors around centres, with the falling spectrum of sentence embeddings."""
    rng = np.random.default_rng([seed, 2])
    scale = (1 + np.arange(DIMENSION)) ** -0.5
    turned = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))[0]
    centres = _unit(rng.standard_normal((max(count // _TOPIC, 1), DIMENSION)) * scale)
    out = np.lib.format.open_memmap(path, "w+", np.float32, (count, DIMENSION))
    for start in range(0, count, _CHUNK):
        size = min(_CHUNK, count - start)
        noise = _unit(rng.standard_normal((size, DIMENSION)) * scale)
        around = centres[rng.integers(0, len(centres), size)]
        out[start : start + size] = _unit((around + _SPREAD * noise) @ turned)
    out.flush()


def exact_nearest(
    vectors: NDArray[np.float32], queries: NDArray[np.float32], limit: int
) -> NDArray[np.int64]:
    """The truth: row numbers of the nearest vectors of each query, best first."""
    scores = np.empty((len(queries), 0), np.float32)
    rows = np.empty((len(queries), 0), np.int64)
    for start in range(0, len(vectors), _CHUNK):
        chunk = vectors[start : start + _CHUNK]
        numbers = np.broadcast_to(np.arange(start, start + len(chunk)), (len(queries), len(chunk)))
        scores = np.concatenate([scores, queries @ chunk.T], axis=1)
        rows = np.concatenate([rows, numbers], axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :limit]
        scores, rows = np.take_along_axis(scores, best, 1), np.take_along_axis(rows, best, 1)
    return rows


def _vocabulary(rng: np.random.Generator) -> list[str]:
    """Frequent words, then whole words the embedding model knows, in random order."""
    tokenizer = find_model(DEFAULT_MODEL, load_settings().cache_folder) / "tokenizer.json"
    known = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    words = sorted(word for word in known if word.isascii() and word.isalpha() and len(word) > 2)
    frequent = _FREQUENT.split()
    rest = [word for word in words if word not in frequent]
    return [*frequent, *(rest[n] for n in rng.permutation(len(rest)))]


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

"""What a model knows of language outside chat: sentence pairs and small retrieval tasks.

python bench/general.py --model FOLDER [--against FOLDER] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).parent / "general"
ROUNDS = 2000
INTERVAL = (5, 95)  # percentiles of the bootstrap: 90 % lies between them
DEPTH = 10

Floats: TypeAlias = NDArray[np.float64]
Embed: TypeAlias = Callable[[list[str]], NDArray[np.float32]]
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """Texts to find, and queries with the positions of the texts that answer them."""

    texts: list[str]
    queries: list[str]
    gold: list[list[int]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one model made of each pair and of each query; a query's row is R@1, R@5, nDCG@10."""

    pairs: list[Row]
    similar: Floats
    tasks: dict[str, Floats]


def score_vectors(embed: Embed) -> dict[str, Any]:
    """All figures of a model that is only known by its vectors."""
    return figures(measured(embed))


def measured(embed: Embed, data: Path = DATA) -> Outcome:
    pairs = rows_of(data / "pairs.jsonl")
    tasks = {path.stem: read_task(path) for path in sorted((data / "retrieval").glob("*.jsonl"))}
    left, right = (_unit(embed([pair[side] for pair in pairs])) for side in ("a", "b"))
    found = {name: _found(task, embed) for name, task in tasks.items()}
    return Outcome(pairs, (left * right).sum(axis=1), found)


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_task(path: Path) -> Task:
    rows = rows_of(path)
    texts = {row["id"]: row["text"] for row in rows if "id" in row}
    at = {id: position for position, id in enumerate(texts)}
    asked = [row for row in rows if "query" in row]
    gold = [[at[id] for id in row["gold"]] for row in asked]
    return Task(list(texts.values()), [row["query"] for row in asked], gold)


def _found(task: Task, embed: Embed) -> Floats:
    close = _unit(embed(task.queries)) @ _unit(embed(task.texts)).T
    order = np.argsort(-close, axis=1, kind="stable")
    rows = zip(order, task.gold, strict=True)
    return np.array([(recall(o, g, 1), recall(o, g, 5), ndcg(o, g, DEPTH)) for o, g in rows])


def _unit(vectors: NDArray[np.float32]) -> Floats:
    wide = np.asarray(vectors, dtype=np.float64)
    lengths: Floats = np.linalg.norm(wide, axis=1, keepdims=True)
    return wide / lengths


def recall(order: NDArray[np.int64], gold: Sequence[int], depth: int) -> float:
    """The share of the gold that the first `depth` hold, of what they could hold."""
    return float(np.isin(gold, order[:depth]).sum()) / min(depth, len(gold))


def ndcg(order: NDArray[np.int64], gold: Sequence[int], depth: int) -> float:
    gains = 1 / np.log2(np.arange(2, depth + 2))
    hits = np.isin(order[:depth], gold)
    return float(gains[: len(hits)][hits].sum() / gains[: len(gold)].sum())


def ranks(values: Floats) -> Floats:
    """Places from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)


def spearman(given: Floats, found: Floats) -> float:
    return float(np.corrcoef(ranks(given), ranks(found))[0, 1])


def figures(outcome: Outcome) -> dict[str, Any]:
    """`points` is a hundred times the mean of all pairs' Spearman and the tasks' nDCG@10."""
    tasks = {name: _named(rows.mean(axis=0)) for name, rows in outcome.tasks.items()}
    mean = _named(np.mean([rows.mean(axis=0) for rows in outcome.tasks.values()], axis=0))
    given = np.array([pair["score"] for pair in outcome.pairs], dtype=np.float64)
    groups = {
        name: spearman(given[rows], outcome.similar[rows])
        for name, rows in _groups(outcome.pairs).items()
    }
    points = 50 * (groups["all"] + mean["ndcg@10"])
    return {"points": points, "spearman": groups, "retrieval": {**tasks, "mean": mean}}


def _named(row: Floats) -> dict[str, float]:
    return dict(zip(("recall@1", "recall@5", "ndcg@10"), row.tolist(), strict=True))


def _groups(pairs: list[Row]) -> dict[str, NDArray[np.bool_]]:
    english = np.array([pair["lang"] == "en" for pair in pairs])
    areas = np.array([pair["area"] for pair in pairs])
    whole = {"all": np.ones_like(english), "English": english, "other languages": ~english}
    return whole | {str(area): english & (areas == area) for area in np.unique(areas)}


def difference(ours: Outcome, theirs: Outcome, rounds: int = ROUNDS) -> dict[str, Any]:
    """Points that ours has above theirs, with 90 % of what other pairs and queries would give."""
    rng = np.random.default_rng(0)
    drawn = [_drawn_points(ours, theirs, rng) for _ in range(rounds)]
    low, high = np.percentile([a - b for a, b in drawn], INTERVAL).tolist()
    points = figures(ours)["points"] - figures(theirs)["points"]
    return {"points": points, "low": low, "high": high}


def _drawn_points(ours: Outcome, theirs: Outcome, rng: np.random.Generator) -> tuple[float, float]:
    given = np.array([pair["score"] for pair in ours.pairs], dtype=np.float64)
    pairs = rng.integers(len(given), size=len(given))
    tasks = {name: rng.integers(len(rows), size=len(rows)) for name, rows in ours.tasks.items()}

    def points(outcome: Outcome) -> float:
        found = np.mean([outcome.tasks[name][rows, 2].mean() for name, rows in tasks.items()])
        return 50 * (spearman(given[pairs], outcome.similar[pairs]) + float(found))

    return points(ours), points(theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--against", type=Path, default=None, help="the plain model if not given")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    ours, theirs = measured(_embed(given.model)), measured(_embed(given.against or _plain()))
    told = {
        "model": figures(ours),
        "against": figures(theirs),
        "difference": difference(ours, theirs),
    }
    print(json.dumps(told, indent=1) if given.json else table(told))


def _plain() -> Path:
    from platformdirs import user_cache_dir

    from remanence.backends.embedding.models import DEFAULT_MODEL

    cache = os.environ.get("REMANENCE_CACHE") or user_cache_dir("remanence")
    return Path(cache) / "models" / DEFAULT_MODEL


def _embed(folder: Path) -> Embed:
    from remanence.backends.embedding.onnx import OnnxEmbedder

    embedder = OnnxEmbedder(folder)
    return lambda texts: np.stack([made.vector for made in embedder.embed(texts)])


def table(told: dict[str, Any]) -> str:
    ours, theirs, gained = told["model"], told["against"], told["difference"]
    lines = [f"{'Spearman':24}{'model':>8}{'against':>9}"]
    for name, value in ours["spearman"].items():
        lines.append(f"{name:24}{value:8.3f}{theirs['spearman'][name]:9.3f}")
    for measure in ours["retrieval"]["mean"]:
        lines.append(f"\n{measure:24}{'model':>8}{'against':>9}")
        for name, row in ours["retrieval"].items():
            lines.append(f"{name:24}{row[measure]:8.3f}{theirs['retrieval'][name][measure]:9.3f}")
    lines.append(f"\n{'points':24}{ours['points']:8.2f}{theirs['points']:9.2f}")
    spread = f"90 % in {gained['low']:+.2f} .. {gained['high']:+.2f}"
    return "\n".join([*lines, f"{'difference':24}{gained['points']:+8.2f}  ({spread})"])


if __name__ == "__main__":
    main()

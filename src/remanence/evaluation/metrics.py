"""How good a ranking is: recall, any, all, nDCG and reciprocal rank over gold items."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence


def recall_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Share of the gold items among the first k."""
    return len(set(ranked[:k]) & set(gold)) / len(gold)


def any_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 if at least one gold item is among the first k."""
    return float(bool(set(ranked[:k]) & set(gold)))


def all_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 if every gold item is among the first k."""
    return float(set(gold) <= set(ranked[:k]))


def ndcg_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Discounted gain of the gold items among the first k, as a part of the best possible."""
    gain = sum(1 / math.log2(n + 2) for n, id in enumerate(ranked[:k]) if id in gold)
    best = sum(1 / math.log2(n + 2) for n in range(min(len(gold), k)))
    return gain / best


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """One over the place of the first gold item, 0 without one."""
    return next((1 / (n + 1) for n, id in enumerate(ranked) if id in gold), 0.0)


def first_places(items: Iterable[str]) -> list[str]:
    """Each item once, where it first stands: how sessions rank by their best turn."""
    return list(dict.fromkeys(items))

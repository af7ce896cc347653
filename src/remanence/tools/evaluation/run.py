"""The recall benchmark: our ranking beside dense, BM25 and their fusion, on the same questions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from remanence.api.memory import Memory
from remanence.language.languages import readings
from remanence.model.scope import Reach
from remanence.recall.lexical import WordScores
from remanence.recall.postings import KnownPostings
from remanence.tools.evaluation.datasets import Corpus, Probe, filled

DEPTH = 50
RRF = 60
T = TypeVar("T")
WARM_UP = "Who was it?"  # so that no question pays for opening the memory


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One system's ranking for one question: turns and the sessions they stand in."""

    system: str
    dataset: str
    probe: Probe
    turns: tuple[str, ...]
    sessions: tuple[str, ...]
    milliseconds: float = 0.0
    tokens: int = 0

    def figures(self) -> dict[str, float]:
        """Every metric of this question."""
        gold, sessions = self.probe.turns, self.probe.sessions
        ranked = first_places(self.sessions)
        found = {f"rec@{k}": recall_at(self.turns, gold, k) for k in (5, 10, 50)}
        found |= {"any@10": any_at(self.turns, gold, 10), "all@10": all_at(self.turns, gold, 10)}
        found |= {"ndcg@10": ndcg_at(self.turns, gold, 10)}
        found |= {"mrr": reciprocal_rank(self.turns, gold)}
        found |= {"session any@5": any_at(ranked, sessions, 5)}
        return found | {"session all@5": all_at(ranked, sessions, 5)}


def run_recall(
    corpora: Iterable[Corpus],
    folder: Path,
    on_corpus: Callable[[Corpus], None] | None = None,
    **settings: object,
) -> list[Outcome]:
    """Ask every question of every corpus; four systems answer each."""
    outcomes: list[Outcome] = []
    for corpus in corpora:
        if corpus.probes:
            with filled(corpus, folder, **settings) as memory:
                outcomes += _asked(memory, corpus)
        if on_corpus:
            on_corpus(corpus)
    return outcomes


def summary(outcomes: Sequence[Outcome]) -> dict[str, dict[str, dict[str, float]]]:
    """Mean figures by data set (and category), then by system."""
    placed = ((one.dataset, one.probe.category, one.system, one) for one in outcomes)
    return by_system(placed, _means)


def by_system(
    placed: Iterable[tuple[str, str, str, T]], means: Callable[[Sequence[T]], dict[str, float]]
) -> dict[str, dict[str, dict[str, float]]]:
    """The means of each data set, and of each category in it, then by system."""
    groups: dict[str, dict[str, list[T]]] = {}
    for dataset, category, system, one in placed:
        for name in (dataset, f"{dataset} · {category}"):
            groups.setdefault(name, {}).setdefault(system, []).append(one)
    return {
        name: {system: means(found) for system, found in systems.items()}
        for name, systems in sorted(groups.items())
    }


def _means(outcomes: Sequence[Outcome]) -> dict[str, float]:
    figures = [outcome.figures() for outcome in outcomes]
    means = {name: float(np.mean([f[name] for f in figures])) for name in figures[0]}
    means |= {"questions": len(outcomes)} | percentiles(one.milliseconds for one in outcomes)
    return means | {"tokens": float(np.mean([outcome.tokens for outcome in outcomes]))}


def percentiles(milliseconds: Iterable[float]) -> dict[str, float]:
    """How long the half and how long nearly all took at most."""
    times = list(milliseconds)
    return {f"p{n} ms": float(np.percentile(times, n)) for n in (50, 95)}


def _asked(memory: Memory, corpus: Corpus) -> list[Outcome]:
    memory.search(WARM_UP, user_id=corpus.name)
    bare = _Bare(memory, corpus)
    outcomes: list[Outcome] = []
    for probe in corpus.probes:
        outcomes.append(_ours(memory, corpus, probe))
        outcomes += bare.outcomes(probe)
    return outcomes


def _ours(memory: Memory, corpus: Corpus, probe: Probe) -> Outcome:
    started = time.perf_counter()
    hits = memory.search(probe.question, user_id=corpus.name, limit=DEPTH, now=probe.now)
    took = (time.perf_counter() - started) * 1000
    return Outcome(
        system="remanence",
        dataset=corpus.dataset,
        probe=probe,
        turns=tuple(str(hit.memory.external_id) for hit in hits),
        sessions=tuple(str(hit.memory.session_id) for hit in hits),
        milliseconds=took,
        tokens=sum(len(hit.passage) for hit in hits[:10]) // 4,
    )


class _Bare:
    """Dense, BM25 and reciprocal rank fusion over the whole of one corpus."""

    def __init__(self, memory: Memory, corpus: Corpus) -> None:
        parts = memory.parts
        reach = Reach(tenant=memory.tenant, user_id=corpus.name)
        [self._partition] = parts.store.recall.partitions(reach)
        self._parts = parts
        self._corpus = corpus
        self._columns = parts.recall.views.columns(self._partition)
        records = parts.store.recall.records(self._partition, self._columns.key.tolist())
        self._records = [records[key] for key in self._columns.key.tolist()]

    def outcomes(self, probe: Probe) -> list[Outcome]:
        dense, words = self._dense(probe.question), self._words(probe.question)
        fused = 1 / (RRF + _places(dense)) + 1 / (RRF + _places(words))
        systems = {"dense": dense, "bm25": words, "rrf": fused}
        return [self._outcome(name, probe, scores) for name, scores in systems.items()]

    def _dense(self, question: str) -> np.ndarray:
        vector = self._parts.embedder.embed_query(question).vector
        scores = np.zeros(len(self._columns))
        found = self._parts.recall.vectors().nearest(self._partition, vector, 1_000_000)
        rows = self._columns.rows_of(found.keys)
        np.maximum.at(scores, rows, found.scores)
        return scores

    def _words(self, question: str) -> np.ndarray:
        asked, source = readings(question), self._parts.store.recall
        found = KnownPostings(self._columns, 0).of(
            list(asked.values()), lambda terms: source.postings(self._partition, terms, 10_000_000)
        )
        return WordScores(self._columns, list(asked), found).totals

    def _outcome(self, system: str, probe: Probe, scores: np.ndarray) -> Outcome:
        best = [self._records[n] for n in np.argsort(-scores, kind="stable")[:DEPTH]]
        return Outcome(
            system=system,
            dataset=self._corpus.dataset,
            probe=probe,
            turns=tuple(str(record.external_id) for record in best),
            sessions=tuple(str(record.session_id) for record in best),
            tokens=sum(len(record.text) for record in best[:10]) // 4,
        )


def _places(scores: np.ndarray) -> np.ndarray:
    places = np.empty(len(scores))
    places[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return places

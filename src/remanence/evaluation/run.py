"""The recall benchmark: our ranking beside dense, BM25 and their fusion, on the same questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from remanence.evaluation.datasets import Corpus, Probe
from remanence.evaluation.metrics import (
    all_at,
    any_at,
    first_places,
    ndcg_at,
    recall_at,
    reciprocal_rank,
)
from remanence.evaluation.workshop import filled
from remanence.memory import Memory
from remanence.recall.lexical import word_scores
from remanence.text.words import query_terms

DEPTH = 50
RRF = 60
WARM_UP = "Who was it?"  # so that no question pays for opening the memory


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
    groups: dict[str, dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        for name in (outcome.dataset, f"{outcome.dataset} · {outcome.probe.category}"):
            groups.setdefault(name, {}).setdefault(outcome.system, []).append(outcome)
    return {
        name: {system: _means(found) for system, found in systems.items()}
        for name, systems in sorted(groups.items())
    }


def _means(outcomes: Sequence[Outcome]) -> dict[str, float]:
    figures = [outcome.figures() for outcome in outcomes]
    means = {name: float(np.mean([f[name] for f in figures])) for name in figures[0]}
    times = [outcome.milliseconds for outcome in outcomes]
    return means | {
        "questions": len(outcomes),
        "p50 ms": float(np.percentile(times, 50)),
        "p95 ms": float(np.percentile(times, 95)),
        "tokens": float(np.mean([outcome.tokens for outcome in outcomes])),
    }


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
        reach = memory._reach(corpus.name)
        [self._partition] = parts.store.partitions(reach)
        self._parts = parts
        self._corpus = corpus
        self._columns = parts.recall.views.columns(self._partition)
        records = parts.store.records(self._partition, self._columns.key.tolist())
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
        wanted = query_terms(question)
        found = self._parts.store.postings(self._partition, wanted, 10_000_000)
        return word_scores(self._columns, wanted, found).totals

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

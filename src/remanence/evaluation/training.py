"""Learning the ranker's weights from questions with known answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from remanence.evaluation.datasets import Corpus, Probe
from remanence.evaluation.logistic import Fitted, fit
from remanence.evaluation.workshop import filled
from remanence.memory import Memory
from remanence.recall.ask import query_of
from remanence.recall.signals import SIGNALS, WORDY, measure

# A LongMemEval corpus has one question, a LoCoMo conversation some two hundred.
DATASET_WEIGHT = {"longmemeval": 15.0}
# How firmly weights are held to their prior, which is zero for all but time: the few questions
# with a date cannot teach that a memory of that time is worth more.
RIDGE = 100.0
WORDY_RIDGE = 3000.0
TIME_RIDGE = 100_000.0
TIME_PRIOR = {"time": 0.3, "time.words": 0.2}


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One question's pool: its signals, which of it is gold, and how much of the gold is there."""

    dataset: str
    corpus: str
    probe: Probe
    ids: tuple[str, ...]
    sessions: tuple[str, ...]
    figures: NDArray[np.float32]

    @property
    def gold(self) -> NDArray[np.bool_]:
        """Which memories of the pool answer the question."""
        return np.array([id in self.probe.turns for id in self.ids], bool)


def samples_of(
    corpora: Iterable[Corpus],
    folder: Path,
    names: Sequence[str] = SIGNALS,
    on_corpus: Callable[[str], None] | None = None,
) -> list[Sample]:
    """The signals of every question's pool, computed by the very code a search runs."""
    samples: list[Sample] = []
    for corpus in corpora:
        if not corpus.probes:
            continue
        with filled(corpus, folder) as memory:
            samples += [_sample(memory, corpus, probe, names) for probe in corpus.probes]
        if on_corpus:
            on_corpus(corpus.name)
    return samples


def _sample(memory: Memory, corpus: Corpus, probe: Probe, names: Sequence[str]) -> Sample:
    query = query_of(
        probe.question, tenant=memory.tenant, clock_now=probe.now, user_id=corpus.name, limit=10
    )
    [scene] = memory.parts.recall.scenes(query)
    keys = scene.columns.key[scene.rows].tolist()
    records = memory.parts.store.records(keys)
    return Sample(
        dataset=corpus.dataset,
        corpus=corpus.name,
        probe=probe,
        ids=tuple(str(records[key].external_id) for key in keys),
        sessions=tuple(str(records[key].session_id) for key in keys),
        figures=measure(scene, names),
    )


def train(samples: Sequence[Sample], names: Sequence[str] = SIGNALS) -> Fitted:
    """Weights from samples; questions whose gold never reached the pool teach nothing."""
    usable = [sample for sample in samples if sample.gold.any()]
    figures = np.concatenate([sample.figures for sample in usable])
    gold = np.concatenate([sample.gold for sample in usable])
    weight = np.concatenate(
        [np.full(len(s.ids), DATASET_WEIGHT.get(s.dataset, 1.0)) for s in usable]
    )
    ridge = np.array([_ridge(name) for name in names])
    prior = np.array([TIME_PRIOR.get(name, 0.0) for name in names])
    return fit(figures, gold, weight, ridge, prior)


def _ridge(name: str) -> float:
    if name in TIME_PRIOR:
        return TIME_RIDGE
    return WORDY_RIDGE if name.endswith(WORDY) else RIDGE


def left_out(
    samples: Sequence[Sample], names: Sequence[str] = SIGNALS
) -> Mapping[int, NDArray[np.float64]]:
    """Scores of every sample by weights that never saw its corpus (for single questions, folds)."""
    folds: dict[str, list[int]] = {}
    for number, sample in enumerate(samples):
        folds.setdefault(_fold(sample, number), []).append(number)
    scores: dict[int, NDArray[np.float64]] = {}
    for held in folds.values():
        inside = set(held)
        fitted = train([s for n, s in enumerate(samples) if n not in inside], names)
        scores |= {n: fitted.score(samples[n].figures) for n in held}
    return scores


def _fold(sample: Sample, number: int) -> str:
    """A conversation is a fold of its own; single-question corpora share twelve."""
    return sample.corpus if sample.dataset == "locomo" else f"{sample.dataset}-{number % 12}"

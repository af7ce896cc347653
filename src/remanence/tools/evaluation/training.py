"""Learning the ranker's weights from questions with known answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from remanence.api.memory import Memory
from remanence.errors import InvalidInput
from remanence.recall.columns import ALONE as NO_SESSION
from remanence.recall.query import query_of
from remanence.recall.scene import Scene
from remanence.recall.signals import SIGNALS, SOLO, WORDY, extents_of, measure
from remanence.recall.summaries import leading
from remanence.tools.evaluation.datasets import Corpus, Probe, filled
from remanence.tools.evaluation.logistic import Fitted, fit

# Learned from the pools of searches for this many: more than most ask for, so that there is much to
# tell apart.
WIDE = 50
# A LongMemEval corpus has one question, a LoCoMo conversation some two hundred.
DATASET_WEIGHT = {"longmemeval": 10.0, "beam": 2.0}
# The same turns as if each stood alone, so that the ranker is sane where there is no conversation;
# as if some did, as notes beside chats; and as if nothing but a few turns around the answers had
# been said, as in a memory that has just begun. A third of the questions each.
ALONE, MIXED, SHORT = " alone", " mixed", " short"
VARIANT_WEIGHT = {ALONE: 0.6, MIXED: 1.2, SHORT: 1.0}
NEAR = 3
FOLDS = 4
# How firmly weights are held to their prior, which is zero for most: the few questions with a
# date cannot teach that a memory of that time is worth more, nor those that name a thing that
# what is tied to it is.
RIDGE = 20.0
WORDY_RIDGE = 40.0
PRIOR_RIDGE = 10_000.0
LEFT_OUT = 1e12
MATCHING = frozenset(
    {
        *("vector", "vector.part", "vector.mean", "vector.feedback", "tokens", "tokens.spread"),
        *("tokens.pair", "tokens.pair.spread", "tokens.pair.place", "words", "words.share"),
        *("tokens.around", "tokens.before", "tokens.covered", "tokens.rarest", "tokens.place"),
        *("tokens.speaker", "tokens.pair.speaker", "vector.place", "vector.before"),
        *("around.words", "around.share", "around.session"),
    }
)
PRIOR = {"time": 0.5, "time.words": 0.15, "time.said": 0.14}
# What known answers cannot teach: there, the older statement counts as found too.
SET = frozenset({"time.only", "time.outdated", "time.outdated.now"})
# The same for a signal so rare that its scale says nothing: what the full signal is worth.
WHOLE_PRIOR = {
    "graph": 1.0,
    "form.answered": -1.6,
    "time.only": 6.0,
    "time.outdated": -0.3,
    "time.outdated.now": -3.0,
}


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One question's pool: its signals, and which of it is gold."""

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
    embedders: Mapping[str, str] | None = None,
) -> list[Sample]:
    """The signals of every question's pool, computed by the very code a search runs.

    `embedders` names another embedder than the usual one for a corpus: one that never saw it.
    """
    samples: list[Sample] = []
    for corpus in corpora:
        if not corpus.probes:
            continue
        own = {"embedder": embedders[corpus.name]} if embedders else {}
        with filled(corpus, folder, **own) as memory:
            for probe in corpus.probes:
                samples += _samples(memory, corpus, probe, names)
        if on_corpus:
            on_corpus(corpus.name)
    return samples


def _samples(
    memory: Memory, corpus: Corpus, probe: Probe, names: Sequence[str]
) -> Iterator[Sample]:
    """The question's pool as it is, and in one of the variants."""
    query = query_of(
        probe.question, tenant=memory.tenant, clock_now=probe.now, user_id=corpus.name, limit=WIDE
    )
    [scene] = leading(memory.parts.recall.scenes(query))
    keys = scene.columns.key[scene.rows].tolist()
    records = memory.parts.store.recall.records(scene.partition, keys)
    ids = np.array([str(records[key].external_id) for key in keys])
    short = _short(scene, np.isin(ids, list(probe.turns)))
    variant = ((ALONE, _alone(scene)), (MIXED, _mixed(scene)), (SHORT, short))[_third(probe)]
    for name, seen in (("", scene), variant):
        rows = np.isin(scene.rows, seen.rows)
        yield Sample(
            dataset=corpus.dataset + name,
            corpus=corpus.name,
            probe=probe,
            ids=tuple(ids[rows].tolist()),
            sessions=tuple(str(records[key].session_id) for key in np.array(keys)[rows].tolist()),
            figures=measure(seen, extents_of([seen]), names),
        )


def _third(probe: Probe) -> int:
    return crc32(probe.question.encode()) % 3


def _short(scene: Scene, gold: NDArray[np.bool_]) -> Scene:
    """The pool as if nothing but a few turns around the answers had been said."""
    session, rows = scene.columns.session[scene.rows], scene.rows
    apart = np.abs(rows[:, None] - rows[gold][None]) <= NEAR
    together = session[:, None] == session[gold][None]
    near = (apart & together).any(axis=1)
    return replace(scene, pool=replace(scene.pool, rows=rows[near])) if near.any() else scene


def _alone(scene: Scene) -> Scene:
    nobody = np.full(len(scene.columns), NO_SESSION, np.int32)
    return replace(scene, columns=replace(scene.columns, session=nobody))


def _mixed(scene: Scene) -> Scene:
    """Every second turn of the pool, whichever, as if it stood alone."""
    session = scene.columns.session.copy()
    picked = np.random.default_rng(len(scene.question.text)).random(len(scene.rows)) < 0.5
    session[scene.rows[picked]] = NO_SESSION
    return replace(scene, columns=replace(scene.columns, session=session))


def train(samples: Sequence[Sample], names: Sequence[str] = SIGNALS) -> Fitted:
    """Weights from samples; questions whose gold never reached the pool teach nothing.

    A signal that says "this matches" never counts against a memory: where the data would have
    it so, to make up for another, it is left out and the rest is fitted again.
    """
    ridge = np.array([_ridge(name) for name in names])
    fitted: Fitted | None = None
    while True:
        fitted = _fitted(samples, names, ridge, fitted)
        wrong = [n for n, weight in enumerate(_least(fitted, names)) if weight < -1e-6]
        wrong = [n for n in wrong if ridge[n] < LEFT_OUT]
        if not wrong:
            return fitted
        ridge[wrong] = LEFT_OUT


def _least(fitted: Fitted, names: Sequence[str]) -> list[float]:
    """The least each matching signal counts, whatever the wordiness and alone; 0 for others."""
    plain = dict(zip(names, fitted.weight / fitted.scale, strict=True))
    least = []
    for name in names:
        basic = name.removesuffix(WORDY).removesuffix(SOLO)
        total = plain[name] if name == basic else plain[basic] + plain[name]
        least.append(float(total) if basic in MATCHING else 0.0)
    return least


def _fitted(
    samples: Sequence[Sample],
    names: Sequence[str],
    ridge: NDArray[np.float64],
    before: Fitted | None,
) -> Fitted:
    usable = _usable(samples)
    if not usable:
        raise InvalidInput(
            "There is nothing to learn from: no question's answer is among what a search finds, "
            "beside memories that do not answer it."
        )
    figures = np.concatenate([sample.figures for sample in usable])
    return fit(
        figures,
        np.concatenate([sample.gold for sample in usable]),
        np.cumsum([0, *(len(sample.ids) for sample in usable[:-1])]),
        np.concatenate([np.full(len(s.ids), _weight(s.dataset)) for s in usable]),
        ridge,
        _prior(names, figures),
        None if before is None else before.weight,
    )


def _prior(names: Sequence[str], figures: NDArray[np.float32]) -> NDArray[np.float64]:
    columns = zip(names, figures.T, strict=True)
    return np.array([PRIOR.get(name, 0.0) + _whole(name, column) for name, column in columns])


def _whole(name: str, column: NDArray[np.float32]) -> float:
    """A whole signal's worth, on the scale of its column; one that is never seen has none."""
    if name not in WHOLE_PRIOR:
        return 0.0
    known = column[~np.isnan(column)]
    return WHOLE_PRIOR[name] * (float(known.std()) if known.any() else 1.0)


def _usable(samples: Sequence[Sample]) -> list[Sample]:
    """Those with gold in their pool, and something else to compare it with."""
    return [sample for sample in samples if sample.gold.any() and not sample.gold.all()]


def _weight(dataset: str) -> float:
    name, _, variant = dataset.partition(" ")
    return DATASET_WEIGHT.get(name, 1.0) * VARIANT_WEIGHT.get(f" {variant}", 1.0)


def _ridge(name: str) -> float:
    if name in SET:
        return LEFT_OUT
    if name in PRIOR or name in WHOLE_PRIOR:
        return PRIOR_RIDGE
    return WORDY_RIDGE if name.endswith(WORDY) else RIDGE


def left_out(
    samples: Sequence[Sample], names: Sequence[str] = SIGNALS
) -> Mapping[int, NDArray[np.float64]]:
    """Scores of samples by weights that never saw their corpus, nor others of its fold.

    A fold without which there is nothing to learn from has no scores.
    """
    corpora = {sample.corpus: sample.dataset.partition(" ")[0] for sample in samples}
    folds: dict[int, list[int]] = {}
    for number, sample in enumerate(samples):
        folds.setdefault(folds_of(corpora)[sample.corpus], []).append(number)
    scores: dict[int, NDArray[np.float64]] = {}
    for held in folds.values():
        inside = set(held)
        rest = [sample for n, sample in enumerate(samples) if n not in inside]
        if not _usable(rest):
            continue
        fitted = train(rest, names)
        scores |= {n: fitted.score(samples[n].figures) for n in held}
    return scores


def folds_of(corpora: Mapping[str, str]) -> dict[str, int]:
    """A fold for each corpus, such that each fold has its part of each data set."""
    seen: Counter[str] = Counter()
    folds = {}
    for corpus, dataset in corpora.items():
        folds[corpus] = seen[dataset] % FOLDS
        seen[dataset] += 1
    return folds

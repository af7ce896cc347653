"""What the benchmark commands do: run, train, and write down what came out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from remanence.recall.signals import SIGNALS
from remanence.tools.evaluation.datasets import Corpus, load_corpora
from remanence.tools.evaluation.logistic import Fitted
from remanence.tools.evaluation.run import all_at, first_places, recall_at, run_recall, summary
from remanence.tools.evaluation.training import Sample, left_out, samples_of, train

Step = Callable[[int, int], None]
NOTHING = 1e-4


def recall_report(
    data: Path, work: Path, step: Step | None = None, **settings: Any
) -> dict[str, Any]:
    """Figures by data set and category, then by system."""
    corpora = list(load_corpora(data))
    return summary(run_recall(corpora, work, _ticking(step, len(corpora)), **settings))


def train_report(
    corpora: Iterable[Corpus],
    work: Path,
    step: Step | None = None,
    embedders: Mapping[str, str] | None = None,
) -> tuple[Fitted, dict[str, Any]]:
    """Weights from all of the data, and the figures of weights that never saw what they rank.

    With a single conversation nothing can be left out, and there are no such figures. `embedders`
    is as in `samples_of`.
    """
    asked = [corpus for corpus in corpora if corpus.probes]
    ticking = _ticking(step, len(asked))
    samples = samples_of(asked, work, on_corpus=ticking, embedders=embedders)
    scores = left_out(samples)
    ranked = sorted(scores)
    return train(samples), _figures([samples[n] for n in ranked], [scores[n] for n in ranked])


def _ticking(step: Step | None, total: int) -> Callable[[object], None]:
    """What is called when a corpus is done: it counts them."""
    done = count(1)

    def tick(corpus: object) -> None:
        if step:
            step(next(done), total)

    return tick


def ranker_table(fitted: Fitted) -> dict[str, Any]:
    """The weights as the `ranker` file holds them; what weighs nothing or never differs is out."""
    rows = zip(SIGNALS, fitted.mean, fitted.scale, fitted.weight, strict=True)
    heavy = [row for row in rows if abs(row[3]) >= NOTHING and row[2] >= 1e-6]
    table = {name: [round(float(v), 6) for v in figures] for name, *figures in heavy}
    return {"base": round(fitted.base, 6), "table": table}


def save_ranker(fitted: Fitted, target: Path) -> None:
    """Write a ranker file for the setting `ranker`."""
    target.write_text(json.dumps(ranker_table(fitted), indent=1) + "\n", encoding="utf-8")


def _figures(samples: Sequence[Sample], scores: Sequence[Any]) -> dict[str, Any]:
    groups: dict[str, list[tuple[float, float]]] = {}
    for sample, score in zip(samples, scores, strict=True):
        order = (-score).argsort(kind="stable")
        turns = [sample.ids[n] for n in order]
        sessions = first_places(sample.sessions[n] for n in order)
        figures = (
            recall_at(turns, sample.probe.turns, 10),
            all_at(sessions, sample.probe.sessions, 5),
        )
        for name in (sample.dataset, f"{sample.dataset} · {sample.probe.category}"):
            groups.setdefault(name, []).append(figures)
    return {
        name: {
            "questions": len(found),
            "rec@10": round(sum(f[0] for f in found) / len(found), 4),
            "session all@5": round(sum(f[1] for f in found) / len(found), 4),
        }
        for name, found in sorted(groups.items())
    }

"""Recall by encoders and rankers that never saw the conversation, beside the usual baselines.

    python bench/left_out.py --data FOLDER [FOLDER ...] --encoders FOLDER [--work .bench]

`--encoders` is as of bench/train_ranker.py. For each fold a ranker is learned of all others, and
the questions of the fold are asked as `rem bench recall` asks them. Writes results/recall.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.progress import track

from encoder_data import encoders_of
from remanence.tools.evaluation import training
from remanence.tools.evaluation.datasets import load_corpora
from remanence.tools.evaluation.report import save_ranker
from remanence.tools.evaluation.run import run_recall, summary

TARGET = Path(__file__).parent / "results" / "recall.json"
SHOWN = ("rec@10", "session any@5", "session all@5")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, nargs="+", required=True)
    arguments.add_argument("--encoders", type=Path, required=True)
    arguments.add_argument("--work", type=Path, default=Path(".bench"))
    given = arguments.parse_args()
    encoders = encoders_of(given.data, given.encoders)
    corpora = [one for folder in given.data for one in load_corpora(folder) if one.probes]
    samples = training.samples_of(track(corpora, "reading"), given.work, embedders=encoders)
    folds = training.folds_of({corpus.name: corpus.dataset for corpus in corpora})
    rankers = {fold: given.work / f"ranker-{fold}.json" for fold in set(folds.values())}
    for fold, file in rankers.items():
        save_ranker(training.train([one for one in samples if folds[one.corpus] != fold]), file)
    outcomes = [
        outcome
        for corpus in track(corpora, "asking")
        for outcome in run_recall(
            [corpus],
            given.work,
            embedder=encoders[corpus.name],
            ranker=str(rankers[folds[corpus.name]]),
        )
    ]
    figures = summary(outcomes)
    TARGET.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for name, found in figures.items():
        print(f"{name:40}", *(f"{found['remanence'][one]:.4f}" for one in SHOWN))


if __name__ == "__main__":
    main()

"""Recall by encoders and rankers that never saw the conversation, beside the usual baselines.

    python bench/left_out.py --data FOLDER [FOLDER ...] --encoders FOLDER [--work .bench]

`--encoders` is as of bench/train_ranker.py. For each fold a ranker is learned of all others, and
the questions of the fold are asked as `rem bench recall` asks them. Writes results/recall.json.
Of the judged updates it tells how often the newest statement stands above the one it replaced.
`--contexts` also asks for contexts, and writes results/contexts.json; `--kept` takes the rankers
that an earlier run left in the work folder.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.progress import track

from encoder_data import encoders_of
from remanence.tools.evaluation import training
from remanence.tools.evaluation.contexts import COLUMNS as HELD
from remanence.tools.evaluation.contexts import ContextContents, contents_of, context_summary
from remanence.tools.evaluation.datasets import Corpus, load_corpora
from remanence.tools.evaluation.report import save_ranker
from remanence.tools.evaluation.run import Outcome, run_recall, summary

RESULTS = Path(__file__).parent / "results"
UPDATES = Path(__file__).parent / "judged" / "updates.jsonl"
Figures = Mapping[str, Mapping[str, Mapping[str, float]]]
SHOWN = ("rec@10", "session any@5", "session all@5")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, nargs="+", required=True)
    arguments.add_argument("--encoders", type=Path, required=True)
    arguments.add_argument("--work", type=Path, default=Path(".bench"))
    arguments.add_argument("--contexts", action="store_true")
    arguments.add_argument("--kept", action="store_true")
    given = arguments.parse_args()
    encoders = encoders_of(given.data, given.encoders)
    corpora = [one for folder in given.data for one in load_corpora(folder) if one.probes]
    folds = training.folds_of({corpus.name: corpus.dataset for corpus in corpora})
    rankers = {fold: given.work / f"ranker-{fold}.json" for fold in set(folds.values())}
    if not given.kept:
        _learn(corpora, given.work, encoders, folds, rankers)
    outcomes: list[Outcome] = []
    contents: list[ContextContents] = []
    for corpus in track(corpora, "asking"):
        own: dict[str, Any] = {
            "embedder": encoders[corpus.name],
            "ranker": str(rankers[folds[corpus.name]]),
        }
        outcomes += run_recall([corpus], given.work, **own)
        if given.contexts:
            contents += contents_of(corpus, given.work, **own)
    _tell("recall", summary(outcomes), SHOWN)
    print("newest first", *_newest_first(corpora, outcomes))
    if contents:
        _tell("contexts", context_summary(contents), HELD)


def _learn(
    corpora: Sequence[Corpus],
    work: Path,
    encoders: Mapping[str, str],
    folds: Mapping[str, int],
    rankers: Mapping[int, Path],
) -> None:
    """A ranker for each fold, of all others."""
    samples = training.samples_of(track(corpora, "reading"), work, embedders=encoders)
    for fold, file in rankers.items():
        save_ranker(training.train([one for one in samples if folds[one.corpus] != fold]), file)


def _tell(name: str, figures: Figures, columns: Sequence[str]) -> None:
    file = RESULTS / f"{name}.json"
    file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for group, systems in figures.items():
        for system in ("remanence", "top hits"):
            if system in systems:
                told = (f"{systems[system][one]:.4f}" for one in columns)
                print(f"{group:46} {system:10}", *told)


def _newest_first(corpora: Sequence[Corpus], outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Of the judged updates, how many have the newest statement above the one it replaced."""
    asked = {(corpus.name, n): probe for corpus in corpora for n, probe in enumerate(corpus.probes)}
    found = {id(one.probe): one.turns for one in outcomes if one.system == "remanence"}
    judged = [json.loads(line) for line in UPDATES.read_text(encoding="utf-8").splitlines()]
    updates = [one for one in judged if one["matter"] == "update"]
    newest = 0
    for one in updates:
        turns = found.get(id(asked.get((one["conversation"], one["question"]))), ())
        told = (turn for turn in turns if turn in (*one["current"], *one["outdated"]))
        newest += next(told, "") in one["current"]
    return newest, len(updates)


if __name__ == "__main__":
    main()

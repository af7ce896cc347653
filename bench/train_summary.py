"""What makes a sentence worth a place in a summary, learned of the judged turns.

    python bench/train_summary.py --data FOLDER [FOLDER ...]

A turn's importance (bench/judged/turns.jsonl) is laid on its sentences, the best of them first.
Prints the rank correlation of the best sentence with the judgement, left out by conversation, and
the weights, which stand in language/summary/clauses.py, rounded.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from math import log1p
from pathlib import Path

import numpy as np

from remanence.language.summary.clauses import manner_of, sentences
from remanence.language.summary.facts import times
from remanence.language.summary.runs import idle_terms
from remanence.language.summary.turns import cleaned
from remanence.language.words import terms
from remanence.tools.evaluation.datasets import load_corpora

JUDGED = Path(__file__).parent / "judged" / "turns.jsonl"
NAMES = ("plain", "own", "own and past", "own and to you", "to you", "when", "words")
FOLDS, ROUNDS, RIDGE, SHARPNESS = 5, 5, 1.0, 2.0
READ, MOST = 6_000, 40  # characters and sentences of a turn
Floats = np.ndarray


def figures(sentence: str) -> list[float]:
    """The figures of a sentence, in the order of `NAMES`."""
    said = manner_of(sentence, timed=next(times(sentence), None) is not None)
    words = log1p(len(set(terms(sentence)) - idle_terms()))
    own, you = said.own, said.to_you
    return [1, own, own and said.past, own and you, you and not own, said.when, words]


def learned(rows: Floats, wanted: Floats, weight: Floats) -> Floats:
    """Ridge regression with weighted rows."""
    scaled = rows * np.sqrt(weight)[:, None]
    left = scaled.T @ scaled + RIDGE * np.eye(rows.shape[1])
    return np.asarray(np.linalg.solve(left, scaled.T @ (wanted * np.sqrt(weight))))


def ranks(values: Floats) -> Floats:
    """Places with equals sharing theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def left_out(rows: Floats, turn: Floats, wanted: Floats, fold: Floats) -> tuple[float, Floats]:
    """The rank correlation on turns of other conversations, and the weights of all."""
    weight = 1 / np.bincount(turn)[turn]
    for _ in range(ROUNDS):
        told = np.zeros(len(rows))
        for one in range(FOLDS):
            out = fold[turn] == one
            told[out] = rows[out] @ learned(rows[~out], wanted[turn][~out], weight[~out])
        lifted = np.exp(SHARPNESS * told)
        weight = lifted / np.bincount(turn, lifted)[turn]
    best = np.full(len(wanted), -np.inf)
    np.maximum.at(best, turn, told)
    rho = np.corrcoef(ranks(best), ranks(wanted))[0, 1]
    return float(rho), learned(rows, wanted[turn], weight)


def judged(folders: Sequence[Path]) -> tuple[Floats, Floats, Floats, Floats]:
    """Figures of the sentences, whose turn each is of, what the turns are worth, their folds."""
    said = {
        (one.dataset, one.name, turn.id): turn.text
        for folder in folders
        for one in load_corpora(folder)
        for turn in one.turns
    }
    labels = [json.loads(line) for line in JUDGED.read_text(encoding="utf-8").splitlines()]
    talks = sorted({one["conversation"] for one in labels})
    rows, turn = [], []
    for number, one in enumerate(labels):
        text = said[one["set"], one["conversation"], one["turn"]][:READ]
        found = [sentence.text for sentence in sentences(cleaned(text), frozenset())][:MOST]
        rows += [figures(sentence) for sentence in found or [text]]
        turn += [number] * len(found or [text])
    fold = [talks.index(one["conversation"]) % FOLDS for one in labels]
    wanted = [one["importance"] for one in labels]
    return np.array(rows, float), np.array(turn), np.array(wanted, float), np.array(fold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    rho, weights = left_out(*judged(parser.parse_args().data))
    print(f"rank correlation, left out by conversation: {rho:.3f}")
    print(", ".join(f"{name} {w:+.2f}" for name, w in zip(NAMES, weights, strict=True)))


if __name__ == "__main__":
    main()

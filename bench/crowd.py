"""Recall in a crowd: questions about conversations that stand among 100,000 other memories.

    python bench/crowd.py --data FOLDER --work crowd

The crowd is the one of bench/search_load.py: synthetic turns with made-up vectors and codes. All
conversations of the question sets in FOLDER (those with speakers, such as LoCoMo's) are added to
it as one person's, in sessions of their own, and every question is put to the whole. The store is
made once in `--work` and used again. With `--encoders`, as of bench/train_ranker.py, each
conversation stands in a crowd of its own, read by the encoder that never saw it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from encoder_data import encoders_of
from remanence.tools.evaluation.datasets import Corpus, Probe, load_corpora
from remanence.tools.evaluation.run import Outcome
from search_load import opened, prepared
from speed import about

LIMIT = 10
SHOWN = ("rec@5", "rec@10", "ndcg@10", "mrr", "session all@5")


def main() -> None:
    given = arguments()
    corpora = [corpus for corpus in load_corpora(given.data) if corpus.probes]
    spoken = [corpus for corpus in corpora if all(turn.speaker for turn in corpus.turns)]
    told: dict[str, Any] = {"about": about(given)}
    if given.encoders is None:
        found = answered(given, spoken)
    else:
        found, encoders = [], encoders_of([given.data], given.encoders)
        for corpus in spoken:
            os.environ["REMANENCE_EMBEDDER"] = encoders[corpus.name]
            own = argparse.Namespace(**vars(given) | {"work": given.work / corpus.name})
            found += answered(own, [corpus])
    figures = [outcome.figures() for outcome in found]
    told["questions"] = len(figures)
    told |= {name: round(float(np.mean([f[name] for f in figures])), 4) for name in SHOWN}
    print(json.dumps(told, indent=1))


def answered(given: argparse.Namespace, corpora: Sequence[Corpus]) -> list[Outcome]:
    """What is found for all questions about the conversations, in one crowd with them."""
    prepared(given)
    with opened(given) as memory:
        if memory.count() == given.size:
            for number, corpus in enumerate(track(corpora, "adding")):
                add(memory, corpus, f"{number}:")
        if memory.count() != given.size + sum(len(corpus.turns) for corpus in corpora):
            sys.exit(f"{given.work} does not hold all conversations; remove it and start again.")
        probes = [(f"{n}:", probe) for n, c in enumerate(corpora) for probe in c.probes]
        return [asked_of(memory, mark, probe) for mark, probe in track(probes, "asking")]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder of question sets")
    parser.add_argument("--work", type=Path, required=True, help="folder of the store")
    parser.add_argument("--encoders", type=Path, help="folder of the models of each fold")
    parser.add_argument("--size", type=int, default=100_000, help="of the crowd")
    parser.add_argument("--seed", type=int, default=1)
    parser.set_defaults(switch_ms=None)
    return parser.parse_args()


def add(memory: Any, corpus: Corpus, mark: str) -> None:
    """Add a conversation; its ids are marked, since each counts its sessions from one."""
    for session, turns in groupby(corpus.turns, key=lambda turn: turn.session):
        said = [turn.message() | {"id": mark + turn.id} for turn in turns]
        memory.add_messages(said, session_id=mark + session)


def asked_of(memory: Any, mark: str, probe: Probe) -> Outcome:
    """What is found for a question."""
    hits = memory.search(probe.question, limit=LIMIT, now=probe.now)
    return Outcome(
        system="remanence",
        dataset="crowd",
        probe=probe,
        turns=tuple(str(hit.memory.external_id).removeprefix(mark) for hit in hits),
        sessions=tuple(str(hit.memory.session_id).removeprefix(mark) for hit in hits),
    )


if __name__ == "__main__":
    main()

"""What sleep distils from the development conversations, beside the grades that readers gave it.

    python bench/distilled.py --data FOLDER [FOLDER ...] --work FOLDER [--models FOLDER]

`--models` holds the encoders that never saw a fold, 0 to 3. What nobody has judged yet is printed
with its digest, to be graded in bench/judged/distilled.jsonl. No memory is changed.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path

from rich.progress import track

from encoder_data import all_corpora, encoders_of
from remanence.model.write import Insert
from remanence.tools.evaluation.datasets import Corpus, filled

GRADES = Path(__file__).parent / "judged" / "distilled.jsonl"
LATER = timedelta(days=40)  # so that every month is over


def distilled(corpus: Corpus, work: Path, **settings: object) -> Iterator[str]:
    """The texts that a night would write for a conversation."""
    last = max(turn.at for turn in corpus.turns)
    with filled(corpus, work, **settings) as memory:
        (plan,) = memory.sleep.plan("distil", user_id=corpus.name, now=last + LATER)
        for deed in plan.deeds:
            yield from (one.record.text for one in deed.actions if isinstance(one, Insert))


def digest_of(text: str) -> str:
    """What stands for a text that stays with the data sets."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def grades_of(path: Path = GRADES) -> Mapping[tuple[str, str], str]:
    """The grade of each text that was judged, by conversation and digest."""
    judged = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(one["conversation"], one["digest"]): one["grade"] for one in judged}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--models", type=Path)
    given = parser.parse_args()
    encoders = encoders_of(given.data, given.models) if given.models else {}
    grades, counts = grades_of(), Counter[str]()
    for corpus in track(all_corpora(given.data)):
        own = {"embedder": encoders[corpus.name]} if corpus.name in encoders else {}
        for text in distilled(corpus, given.work, **own):
            grade = grades.get((corpus.name, digest_of(text)), "not judged")
            counts[grade] += 1
            if grade == "not judged":
                print(f"{corpus.dataset} {corpus.name} {digest_of(text)} {text}")
    judged = counts.total() - counts["not judged"]
    print(dict(counts), f"useful: {counts['useful'] / max(judged, 1):.2f} of {judged}")


if __name__ == "__main__":
    main()

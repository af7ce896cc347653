"""Makes extraction/person_weights.json from judged names; prints left-out figures.

    python bench/train_persons.py --data FOLDER [FOLDER ...]

`judged/names.jsonl` says of names of the development conversations whether they are a person's, of
something else, or no names. Each text that speaks of a name is a sample, all of a name weigh as
the square root of their number. A conversation is judged by weights that never saw it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from remanence.language.english.extraction.persons import spoken_names
from remanence.language.english.extraction.sentences import MAX_TEXT
from remanence.model.knowledge import folded_name
from remanence.tools.evaluation.datasets import Corpus, load_corpora

ROOT = Path(__file__).parents[1]
JUDGED = ROOT / "bench" / "judged" / "names.jsonl"
TARGET = ROOT / "src/remanence/language/english/extraction/person_weights.json"
KINDS = ("person", "none")
FOLDS = 10
RIDGE = 1.5
STEPS = 12
# A cue counts that so many names have, in so many conversations.
NAMES, CONVERSATIONS = 8, 4
LEAST = (0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8)
Array = NDArray[np.float64]
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Sample:
    """What a text shows of a judged name."""

    key: Key
    judged: str
    cues: Mapping[str, float]


def key_of(corpus: Corpus, name: str) -> Key:
    """A name of a conversation, without the name."""
    digest = blake2b(folded_name(name).encode(), digest_size=8).hexdigest()
    return corpus.dataset, corpus.name, digest


def judged() -> dict[Key, str]:
    rows = map(json.loads, JUDGED.read_text(encoding="utf-8").splitlines())
    return {(one["set"], one["conversation"], one["name"]): one["is"] for one in rows}


def samples_of(corpora: Sequence[Corpus]) -> Iterator[Sample]:
    labels = judged()
    for corpus in corpora:
        for turn in corpus.turns:
            if turn.role != "assistant":
                for name, spoken in spoken_names(turn.text[: MAX_TEXT + 1]).items():
                    key = key_of(corpus, name)
                    if key in labels:
                        yield Sample(key, labels[key], spoken.shares())


def cues_of(samples: Sequence[Sample]) -> list[str]:
    names: dict[str, set[Key]] = defaultdict(set)
    for one in samples:
        for cue in one.cues:
            names[cue].add(one.key)
    return sorted(
        cue
        for cue, keys in names.items()
        if len(keys) >= NAMES and len({key[:2] for key in keys}) >= CONVERSATIONS
    )


def table_of(samples: Sequence[Sample], cues: Sequence[str]) -> Array:
    places = {cue: place for place, cue in enumerate(cues)}
    table = np.zeros((len(samples), len(cues) + 1))
    table[:, -1] = 1
    for row, one in enumerate(samples):
        for cue, share in one.cues.items():
            if cue in places:
                table[row, places[cue]] = share
    return table


def fitted(samples: Sequence[Sample], cues: Sequence[str], kind: str) -> Array:
    """Weights by Newton's method, the base last."""
    table = table_of(samples, cues)
    is_so = np.array([one.judged == kind for one in samples], np.float64)
    count = Counter(one.key for one in samples)
    heavy = np.array([count[one.key] ** -0.5 for one in samples])
    ridge = np.append(np.full(len(cues), RIDGE), 1e-6)
    weights = np.zeros(len(ridge))
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-table @ weights))
        slope = table.T @ (heavy * (chance - is_so)) + ridge * weights
        bend = (table * (heavy * chance * (1 - chance))[:, None]).T @ table + np.diag(ridge)
        weights -= np.linalg.solve(bend, slope)
    return weights


def left_out(samples: Sequence[Sample]) -> dict[Key, tuple[str, float, float]]:
    """For each name what it was judged, and its highest chances by weights that never saw it."""
    conversations = sorted({one.key[:2] for one in samples})
    folds = {name: number % FOLDS for number, name in enumerate(conversations)}
    found: dict[Key, tuple[str, float, float]] = {}
    for fold in range(FOLDS):
        rest = [one for one in samples if folds[one.key[:2]] != fold]
        held = [one for one in samples if folds[one.key[:2]] == fold]
        cues = cues_of(rest)
        weights = np.stack([fitted(rest, cues, kind) for kind in KINDS], axis=1)
        chances = 1 / (1 + np.exp(-table_of(held, cues) @ weights))
        for one, (person, none) in zip(held, chances, strict=True):
            _, most, least = found.get(one.key, ("", 0.0, 1.0))
            found[one.key] = one.judged, max(most, person), min(least, none)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, nargs="+", required=True)
    corpora = [one for folder in arguments.parse_args().data for one in load_corpora(folder)]
    samples = list(samples_of(corpora))
    found = left_out(samples).values()
    for kind, place in zip(KINDS, (1, 2), strict=True):
        for least in LEAST:
            kept = [one[0] for one in found if float(one[place]) >= least]
            right = kept.count(kind)
            whole = sum(one[0] == kind for one in found)
            print(f"{kind:6} from {least}: right {right / max(len(kept), 1):.3f} of {len(kept)},"
                  f" found {right / whole:.3f} of {whole}")  # fmt: skip
    cues = cues_of(samples)
    weights = [fitted(samples, cues, kind).round(3).tolist() for kind in KINDS]
    rows = zip([*cues, "base"], zip(*weights, strict=True), strict=True)
    lines = ",\n".join(f"{json.dumps(cue, ensure_ascii=False)}: {[*pair]}" for cue, pair in rows)
    TARGET.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

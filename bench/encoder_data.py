"""What the encoder is trained on: the development conversations, cut and worded as when stored.

    python bench/encoder_data.py --data FOLDER [FOLDER ...] --out data.npz

Every piece is embedded with who said it, every question as it is and in the words of whom it names,
so training has to see both as the product makes them. The texts become token ids here; training
needs nothing of the package.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path

import numpy as np
from rich.progress import track

from remanence.backends.embedding.onnx import content_tokens
from remanence.language import chunking
from remanence.language.words import terms
from remanence.recall.columns import Lexicon
from remanence.recall.question import Question
from remanence.tools.evaluation.datasets import Corpus, Probe, load_corpora

EXTRA = Path(__file__).parent / "encoder" / "questions.jsonl"
MOST = 126  # tokens of a piece, without the two special ones
FOLDS = 4
FIRST, LAST = 101, 102


@dataclass(slots=True)
class Texts:
    """Token ids of many texts, one after the other, and what each token is worth."""

    ids: list[int] = field(default_factory=list)
    worth: list[float] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, ids: Sequence[int], worth: Mapping[int, float]) -> None:
        """A text's tokens within the special ones; those without worth are not compared."""
        self.ids += [FIRST, *ids, LAST]
        self.worth += [0.0, *(worth.get(at, 0.0) for at in range(len(ids))), 0.0]
        self.ends.append(len(self.ids))

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """As they are saved."""
        return {
            f"{name}.ids": np.array(self.ids, np.uint16),
            f"{name}.worth": np.array(self.worth, np.float16),
            f"{name}.ends": np.array(self.ends, np.int32),
        }


class Cutter:
    """Cuts texts into pieces as the product does, and counts the words of one corpus."""

    def __init__(self, tokenizer: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def encoded(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids and spans of a text's tokens."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return found.ids, found.offsets

    def pieces(self, text: str) -> list[str]:
        """The pieces of a text."""
        _, spans = self.encoded(text)
        cut = chunking.pieces(text, spans, max_tokens=MOST)
        return [text[piece.start : piece.end] for piece in cut]

    def add(self, texts: Texts, text: str) -> None:
        """A piece: every content token counts alike."""
        ids, spans = self.encoded(text)
        kept = content_tokens(text, spans[:MOST])
        texts.add(ids[:MOST], dict.fromkeys(kept, 1.0))

    def ask(self, texts: Texts, question: Question, idf: Mapping[str, float]) -> None:
        """A question: a content token is worth the idf of its word."""
        ids, spans = self.encoded(question.text)
        ids, spans = ids[:MOST], spans[:MOST]
        least = min(idf.values(), default=1.0)
        kept = content_tokens(question.text, spans)
        texts.add(ids, {at: question.worth(spans[at], idf, least) for at in kept})


def prepared(corpora: Sequence[Corpus], cutter: Cutter) -> Iterator[dict[str, np.ndarray]]:
    """Each corpus as arrays: pieces, questions in both wordings, and which turns are gold."""
    for corpus in track(corpora, "reading"):
        places = {turn.id: n for n, turn in enumerate(corpus.turns)}
        pieces, of = Texts(), []
        for place, turn in enumerate(corpus.turns):
            for piece in cutter.pieces(turn.text):
                cutter.add(pieces, f"{turn.speaker}: {piece}" if turn.speaker else piece)
                of.append(place)
        counts = Counter(term for turn in corpus.turns for term in set(terms(turn.text)))
        asked, voiced, gold = Texts(), Texts(), []
        for number, probe in enumerate(corpus.probes):
            plain, own = wordings(corpus, probe)
            idf = {term: _idf(len(corpus.turns), counts[term]) for term in plain.terms}
            cutter.ask(asked, plain, idf)
            cutter.ask(voiced, own, idf)
            gold += [(number, places[turn]) for turn in sorted(probe.turns)]
        made = pieces.arrays("pieces") | asked.arrays("asked") | voiced.arrays("voiced")
        yield made | {"of": np.array(of, np.int32), "gold": np.array(gold, np.int32)}


def wordings(corpus: Corpus, probe: Probe) -> tuple[Question, Question]:
    """A question as it is, and in the words of whom it names."""
    speakers = Lexicon()
    for turn in corpus.turns:
        speakers.number(turn.speaker)
    plain = Question(probe.question, probe.now)
    named = (speakers.names[n] for n in plain.people(speakers))
    return plain, plain.in_voice_of(named)


def _idf(texts: int, having: int) -> float:
    return log(1 + (texts - having + 0.5) / (having + 0.5))


def all_corpora(folders: Sequence[Path], extra: Path = EXTRA) -> list[Corpus]:
    """The corpora of these folders, with the questions that were written besides."""
    from dataclasses import replace

    more: dict[str, list[dict[str, object]]] = {}
    if extra.exists():
        for line in extra.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            more.setdefault(told["corpus"], []).append(told)
    found = []
    for corpus in (corpus for folder in folders for corpus in load_corpora(folder)):
        sessions = {turn.id: turn.session for turn in corpus.turns}
        last = max(turn.at for turn in corpus.turns)
        written = tuple(
            Probe(
                question=told["question"],
                category=f"written-{told['category']}",
                now=last,
                turns=frozenset(told["evidence"]),
                sessions=frozenset(sessions[id] for id in told["evidence"]),
            )
            for told in more.get(corpus.name, [])
        )
        found.append(replace(corpus, probes=corpus.probes + written))
    return [corpus for corpus in found if corpus.probes]


def folds_of(corpora: Sequence[Corpus]) -> list[int]:
    """A fold for each corpus, so that each fold has its part of each set."""
    seen: Counter[str] = Counter()
    folds = []
    for corpus in corpora:
        folds.append(seen[corpus.dataset] % FOLDS)
        seen[corpus.dataset] += 1
    return folds


def encoders_of(folders: Sequence[Path], models: Path) -> dict[str, str]:
    """The model that never saw it, for each corpus: 0 to 3 in the folder of models."""
    corpora = all_corpora(folders)
    return {
        corpus.name: str(models / str(fold))
        for corpus, fold in zip(corpora, folds_of(corpora), strict=True)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json of the model")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    corpora = all_corpora(given.data)
    saved: dict[str, np.ndarray] = {}
    for number, arrays in enumerate(prepared(corpora, Cutter(given.tokenizer))):
        saved |= {f"{number}.{name}": array for name, array in arrays.items()}
    about = {
        "names": [corpus.name for corpus in corpora],
        "datasets": [corpus.dataset for corpus in corpora],
        "folds": folds_of(corpora),
        "categories": [[probe.category for probe in corpus.probes] for corpus in corpora],
    }
    saved["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez_compressed(given.out, **saved)
    print(f"{len(corpora)} corpora, {given.out.stat().st_size / 2**20:.1f} MB")


if __name__ == "__main__":
    main()

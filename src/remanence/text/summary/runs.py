"""What a summary could hold: runs of clauses as they would be written, and how much they matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from remanence.text.cues import importance
from remanence.text.summary.carriers import Carriers
from remanence.text.summary.choice import Candidate
from remanence.text.summary.clauses import Sentence, bare, cleaned, sentences, starts_well
from remanence.text.summary.hollow import UNRESOLVED
from remanence.text.summary.said import Voice
from remanence.text.words import fold

_LONGEST_RUN = 4
_SHORT_ANSWER, _LONG_QUESTION = 24, 90
_MACHINES = frozenset(["assistant", "system", "tool", "ai", "bot", "model"])
_OF_A_MACHINE, _ASKED, _NOTED, _UNCLEAR = 0.35, 0.5, 0.4, 0.5


def candidates(heard: Sequence[Voice]) -> Iterator[Candidate]:
    """Every run of clauses that could stand in the summary, in the order of what was said."""
    speakers = frozenset(part for voice in heard for part in fold(voice.speaker).split())
    texts = [cleaned(voice.text) for voice in heard]
    carriers = Carriers(texts, speakers)
    number, question = 0, ""
    for voice, text in zip(heard, texts, strict=True):
        asked, question = question, ""
        for sentence in sentences(text, carriers.people):
            found = _runs(voice, sentence, number, carriers)
            yield from (_answering(asked, run, carriers) for run in found) if asked else found
            number, asked = number + 1, ""
            question = sentence.text if sentence.asks else ""


def _runs(voice: Voice, sentence: Sentence, number: int, carriers: Carriers) -> Iterator[Candidate]:
    carried = [carriers.of(sentence.text[start:end]) for start, end in sentence.clauses]
    weight = _weight(voice, sentence)
    for first, (start, _) in enumerate(sentence.clauses):
        for last in range(first, min(first + _LONGEST_RUN, len(sentence.clauses))):
            written = sentence.text[start : sentence.clauses[last][1]]
            if first and not starts_well(written) and sentence.text[start - 2] != ";":
                break
            text = bare(written, drop_self=bool(voice.speaker))
            if not text:
                continue
            yield Candidate(
                place=voice.place,
                sentence=number,
                clauses=(first, last),
                speaker=voice.speaker,
                day=voice.day,
                text=carriers.uncapitalised(text),
                carriers={k: v for one in carried[first : last + 1] for k, v in one.items()},
                factor=weight * (_UNCLEAR if _is_unclear(text) else 1.0),
            )


def _answering(question: str, run: Candidate, carriers: Carriers) -> Candidate:
    """A short answer with the question it answers, without which "five years" says nothing."""
    if len(run.text) > _SHORT_ANSWER or len(question) > _LONG_QUESTION:
        return run
    asked = carriers.uncapitalised(bare(question, drop_self=False))
    return replace(
        run,
        text=f"{run.text} ({asked})",
        carriers={**carriers.of(question), **run.carriers},
    )


def _weight(voice: Voice, sentence: Sentence) -> float:
    weight = importance(sentence.text)
    if sentence.asks:
        weight *= _ASKED
    if sentence.text.startswith("["):
        weight *= _NOTED
    return weight * (_OF_A_MACHINE if voice.speaker.lower() in _MACHINES else 1.0)


def _is_unclear(text: str) -> bool:
    return text.partition(" ")[0].lower().replace("’", "'") in UNRESOLVED

"""How well facts are read out of sentences: precision and recall by sort, times, speed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time

from remanence.evaluation.fact_updates import Updates, update_figures
from remanence.evaluation.judged_facts import Judged, Scenario, Sentence, Wanted, fits, times_fit
from remanence.knowledge.extract.reading import read
from remanence.knowledge.extract.statement import Named, Reading, Statement
from remanence.model.knowledge import EntityType

IN_ALL = "in all"

Reader = Callable[[Sentence], Reading]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One sentence judged: what was found, what was missed, what should not be there."""

    sentence: Sentence
    found: int
    missed: tuple[Wanted, ...]
    wrong: tuple[Statement, ...]
    timed: int
    times_right: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The figures of some sentences."""

    sentences: int
    facts: int
    precision: float
    recall: float
    f1: float
    times: float
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """A sentence that was not read as it should be, to be looked at."""

    id: str
    text: str
    missed: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Figures by split: of sentences by sort, of update scenarios; and what went wrong."""

    sentences: Mapping[str, Mapping[str, Score]]
    updates: Mapping[str, Updates]
    slips: tuple[Slip, ...] = ()


def facts_report(judged: Judged, *, slips: bool = False) -> Report:
    """Read every sentence and tell every scenario to a memory."""
    outcomes = judge(judged.sentences)
    read_in: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        read_in.setdefault(outcome.sentence.split, []).append(outcome)
    told_in: dict[str, list[Scenario]] = {}
    for scenario in judged.scenarios:
        told_in.setdefault(scenario.split, []).append(scenario)
    return Report(
        sentences={split: by_sort(ones) for split, ones in read_in.items()},
        updates={split: update_figures(ones, slips=slips) for split, ones in told_in.items()},
        slips=tuple(_slip(one) for one in outcomes if one.missed or one.wrong) if slips else (),
    )


def by_rules(sentence: Sentence) -> Reading:
    """What the rules read in a sentence."""
    speaker = Named(sentence.speaker, EntityType.PERSON)
    return read(sentence.text, speaker=speaker, at=sentence.at)


def judge(sentences: Iterable[Sentence], reader: Reader = by_rules) -> list[Outcome]:
    """Every sentence read and compared; the first is read once before, to warm up."""
    asked = list(sentences)
    for sentence in asked[:1]:
        reader(sentence)
    return [_judged(sentence, reader) for sentence in asked]


def by_sort(outcomes: Sequence[Outcome]) -> dict[str, Score]:
    """The figures of all and of each sort."""
    sorts = sorted({one.sentence.sort for one in outcomes})
    groups = {sort: [one for one in outcomes if one.sentence.sort == sort] for sort in sorts}
    return {IN_ALL: score(outcomes)} | {sort: score(ones) for sort, ones in groups.items()}


def score(outcomes: Sequence[Outcome]) -> Score:
    """Precision and recall over all facts together; a share of nothing counts as whole."""
    found = sum(one.found for one in outcomes)
    wrong = sum(len(one.wrong) for one in outcomes)
    missed = sum(len(one.missed) for one in outcomes)
    precision, recall = _share(found, found + wrong), _share(found, found + missed)
    both = precision + recall
    return Score(
        sentences=len(outcomes),
        facts=found + missed,
        precision=precision,
        recall=recall,
        f1=round(2 * precision * recall / both, 4) if both else 0.0,
        times=_share(sum(one.times_right for one in outcomes), sum(one.timed for one in outcomes)),
        ms=round(1000 * sum(one.seconds for one in outcomes) / max(len(outcomes), 1), 4),
    )


def _judged(sentence: Sentence, reader: Reader) -> Outcome:
    begun = process_time()
    reading = reader(sentence)
    seconds = process_time() - begun
    hits, wrong = _compared(sentence, reading.statements)
    checks = [times_fit(wanted, given, sentence.at) for wanted, given in hits]
    met = [wanted for wanted, _ in hits]
    return Outcome(
        sentence=sentence,
        found=len(hits),
        missed=tuple(one for one in sentence.facts if not one.optional and one not in met),
        wrong=tuple(wrong),
        timed=sum(check is not None for check in checks),
        times_right=sum(check is True for check in checks),
        seconds=seconds,
    )


def _compared(
    sentence: Sentence, statements: Iterable[Statement]
) -> tuple[list[tuple[Wanted, Statement]], list[Statement]]:
    """Facts met, each by the first statement that says it, and statements that say none.

    A fact said twice in two ways, or an optional one, is neither.
    """
    hits: list[tuple[Wanted, Statement]] = []
    wrong: list[Statement] = []
    for given in statements:
        fitting = [one for one in sentence.facts if fits(one, given, sentence.at)]
        met = [wanted for wanted, _ in hits]
        new = [one for one in fitting if not one.optional and one not in met]
        if new:
            hits.append((new[0], given))
        elif not fitting:
            wrong.append(given)
    return hits, wrong


def _slip(outcome: Outcome) -> Slip:
    sentence = outcome.sentence
    return Slip(
        id=sentence.id,
        text=sentence.text,
        missed=tuple(_told(one.subjects[0], one.predicates[0], one.objects[0], one.ended)
                     for one in outcome.missed),
        wrong=tuple(_told(one.subject.text, one.predicate, one.value, one.ended)
                    for one in outcome.wrong),
    )  # fmt: skip


def _told(subject: str, predicate: str, value: str, ended: object) -> str:
    return f"{subject} · {predicate} · {value}{' (ended)' if ended is not None else ''}"


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0

"""How well facts are read out of sentences, by sort and by rule, and kept over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import process_time

from remanence.api.memory import Memory
from remanence.language.english.extraction.areas import AREAS
from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity, Reading, Statement
from remanence.model.clock import FixedClock
from remanence.model.knowledge import EntityType, Fact
from remanence.model.predicates import Holds, predicate_of
from remanence.tools.evaluation.judged_facts import (
    Expected,
    JudgedFacts,
    Scenario,
    Sentence,
    Wanted,
    fits,
    folded,
    same_object,
    times_fit,
)

IN_ALL = "in all"
TUNING = "tuning"

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
    """Figures by split, of sentences by sort and of update scenarios; slips; figures of rules."""

    sentences: Mapping[str, Mapping[str, Score]]
    updates: Mapping[str, Updates]
    slips: tuple[Slip, ...] = ()
    rules: tuple[RuleFigures, ...] = ()


def facts_report(judged: JudgedFacts, *, slips: bool = False, rules: bool = False) -> Report:
    """Read every sentence and tell every scenario to a memory.

    With `rules` also what each rule gives on the sentences that no rule was made for.
    """
    held = (one for one in judged.sentences if one.split != TUNING)
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
        rules=tuple(rule_figures(held)) if rules else (),
    )


def by_rules(sentence: Sentence) -> Reading:
    """What the rules read in a sentence."""
    speaker = NamedEntity(sentence.speaker, EntityType.PERSON)
    return read(sentence.text, speaker=speaker, at=sentence.at, all=True)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFigures:
    """How many statements of a rule were right and how many wrong."""

    rule: str
    right: int
    wrong: int


def rule_figures(sentences: Iterable[Sentence]) -> list[RuleFigures]:
    """The figures of every rule, in the order of the areas, those that never fire too."""
    judged: dict[str, list[bool]] = defaultdict(list)
    for sentence in sentences:
        for given in by_rules(sentence).statements:
            right = any(fits(one, given, sentence.at) for one in sentence.facts)
            judged[given.rule].append(right)
    rules = [one.name for ones in AREAS.values() for one in ones]
    return [
        RuleFigures(rule=name, right=sum(judged[name]), wrong=judged[name].count(False))
        for name in dict.fromkeys([*rules, *judged])
    ]


_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """The figures of some scenarios, and what failed in words.

    `current` and `past` are the shares of questions answered right; `retired` counts facts that
    nothing was said against and that were known and hold no more, `unknown` those never known.
    """

    scenarios: int
    questions: int
    current: float
    past: float
    retired: int
    unknown: int
    failures: tuple[str, ...] = ()


def update_figures(scenarios: Sequence[Scenario], *, slips: bool = False) -> Updates:
    """Tell each scenario under a user of its own, then ask as of a day after its last statement."""
    last = max(said.at for one in scenarios for said in one.statements)
    with Memory(":memory:", clock=FixedClock(last + _AFTER)) as memory:
        for scenario in scenarios:
            _tell(memory, scenario)
        asked = {
            name: [(one, expected) for one in scenarios for expected in getattr(one, name)]
            for name in ("now", "past", "untouched")
        }
        wrong = {
            name: [pair for pair in pairs if not answers(pair[1], _held(memory, *pair))]
            for name, pairs in asked.items()
        }
        retired = [pair for pair in wrong["untouched"] if _ever(memory, *pair)]
        told = [*wrong["now"], *wrong["past"], *retired] if slips else []
        failures = tuple(_failure(memory, *pair) for pair in told)
    now, past = len(asked["now"]), len(asked["past"])
    return Updates(
        scenarios=len(scenarios),
        questions=now + past,
        current=_share(now - len(wrong["now"]), now),
        past=_share(past - len(wrong["past"]), past),
        retired=len(retired),
        unknown=len(wrong["untouched"]) - len(retired),
        failures=failures,
    )


def answers(expected: Expected, facts: Iterable[Fact]) -> bool:
    """Whether what holds is what was expected, and nothing beside it where there is but one."""
    held = [fact for fact in facts if _speaks_of(fact, expected)]
    right = [fact for fact in held if _is(fact, expected)]
    if not expected.objects:
        return not held
    single = all(predicate_of(name).holds is not Holds.MANY for name in expected.predicates)
    return bool(right) and not (single and len(right) < len(held))


def _tell(memory: Memory, scenario: Scenario) -> None:
    for said in scenario.statements:
        message = {"role": "user", "name": said.speaker, "content": said.text, "at": said.at}
        memory.add_messages([message], user_id=scenario.id)


def _held(memory: Memory, scenario: Scenario, asked: Expected) -> list[Fact]:
    then = asked.as_of or max(said.at for said in scenario.statements) + _AFTER
    return list(memory.facts.about(asked.subject, user_id=scenario.id, as_of=then))


def _ever(memory: Memory, scenario: Scenario, asked: Expected) -> bool:
    known = memory.facts.about(asked.subject, history=True, user_id=scenario.id)
    return any(_is(fact, asked) for fact in known)


def _speaks_of(fact: Fact, expected: Expected) -> bool:
    ends = {folded(fact.subject)} | ({folded(fact.object)} if _mirrored(fact) else set())
    return fact.predicate in expected.predicates and folded(expected.subject) in ends


def _is(fact: Fact, expected: Expected) -> bool:
    own = folded(fact.subject) == folded(expected.subject)
    other = fact.object if own or not _mirrored(fact) else fact.subject
    return _speaks_of(fact, expected) and same_object(fact.predicate, other, expected.objects)


def _mirrored(fact: Fact) -> bool:
    return predicate_of(fact.predicate).inverse == fact.predicate


def _failure(memory: Memory, scenario: Scenario, asked: Expected) -> str:
    held = _held(memory, scenario, asked)
    given = [fact.object for fact in held if _speaks_of(fact, asked)]
    when = f"{asked.as_of:%Y-%m-%d}" if asked.as_of else "now"
    wanted = " or ".join(asked.objects) or "nothing"
    return (
        f"{scenario.id} {when}: {asked.subject} {asked.predicates[0]} {wanted}, "
        f"not {', '.join(given) or 'nothing'}"
    )

"""How well facts are kept over time: scenarios told to a real memory, then asked about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from remanence.clock import FixedClock
from remanence.evaluation.judged_facts import Expected, Scenario, folded, same_object
from remanence.memory import Memory
from remanence.model.knowledge import Fact
from remanence.model.predicates import Holds, predicate_of

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    current: tuple[bool, ...]
    past: tuple[bool, ...]
    retired: int
    unknown: int
    failures: tuple[str, ...]


def update_figures(scenarios: Sequence[Scenario], *, slips: bool = False) -> Updates:
    """Tell each scenario under a user of its own, then ask as of a day after its last statement."""
    last = max(said.at for one in scenarios for said in one.statements)
    with Memory(":memory:", clock=FixedClock(last + _AFTER)) as memory:
        told = [_told(memory, scenario) for scenario in scenarios]
    current = [right for one in told for right in one.current]
    past = [right for one in told for right in one.past]
    return Updates(
        scenarios=len(scenarios),
        questions=len(current) + len(past),
        current=_share(current),
        past=_share(past),
        retired=sum(one.retired for one in told),
        unknown=sum(one.unknown for one in told),
        failures=tuple(failure for one in told for failure in one.failures) if slips else (),
    )


def answers(expected: Expected, facts: Iterable[Fact]) -> bool:
    """Whether what holds is what was expected, and nothing beside it where there is but one."""
    held = [fact for fact in facts if _speaks_of(fact, expected)]
    right = [fact for fact in held if _is(fact, expected)]
    if not expected.objects:
        return not held
    single = all(predicate_of(name).holds is not Holds.MANY for name in expected.predicates)
    return bool(right) and not (single and len(right) < len(held))


def _told(memory: Memory, scenario: Scenario) -> _Told:
    for said in scenario.statements:
        message = {"role": "user", "name": said.speaker, "content": said.text, "at": said.at}
        memory.add_messages([message], user_id=scenario.id)
    now = [(one, answers(one, _held(memory, scenario, one))) for one in scenario.now]
    past = [(one, answers(one, _held(memory, scenario, one))) for one in scenario.past]
    lost = [one for one in scenario.untouched if not answers(one, _held(memory, scenario, one))]
    known = [one for one in lost if _ever(memory, scenario, one)]
    return _Told(
        current=tuple(right for _, right in now),
        past=tuple(right for _, right in past),
        retired=len(known),
        unknown=len(lost) - len(known),
        failures=tuple(
            _failure(memory, scenario, one)
            for one in [*(one for one, right in [*now, *past] if not right), *known]
        ),
    )


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


def _share(right: Sequence[bool]) -> float:
    return round(sum(right) / len(right), 4) if right else 1.0

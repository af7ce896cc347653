"""A rule: which verbs it reads, what must follow them, what that says, and since when it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from remanence.language.english.extraction.clauses import Clause
from remanence.language.english.extraction.statement import NamedEntity
from remanence.language.english.extraction.subjects import People
from remanence.language.english.extraction.times import NO_TIMES, Times, is_later
from remanence.language.english.extraction.verb_group import Phase, Tense, VerbGroup
from remanence.model.knowledge import Timespan

_JUST = re.compile(r"\b(?:just|recently|newly|finally)\b", re.IGNORECASE)
_LASTS = re.compile(
    r"\bsince\b|\bfor (?:ages|years|ever|a long time)\b|\b(?:my|his|her|our) (?:whole|entire) "
    r"life\b|\ball (?:my|his|her|our) li(?:fe|ves)\b",
    re.IGNORECASE,
)
_PARTLY = re.compile(
    r"\bnot (?:only|just|merely|simply|quite|exactly|really|sure|even)\b|\byet\b|\balone\b"
    r"|\b(?:every|full-?time|all the time|on (?:mon|tues|wednes|thurs|fri|satur|sun|week)\w+)\b",
    re.IGNORECASE,
)
# Where "I don't live in Porto" ends what held; "I don't have a car" names no car.
_DENIABLE = frozenset(
    ["lives in", "works at", "works as", "studies at", "studies", "member of", "allergic to",
     "has condition", "takes", "diet", "speaks", "plays", "married to", "engaged to", "dating",
     "boss"]
)  # fmt: skip
_ANYMORE = re.compile(r"\b(?:any ?more|any longer|these days|now)\b", re.IGNORECASE)


class Aspect(StrEnum):
    """What the words say of time: a state, its start or end, an event, a plan, or for ever."""

    STATE = "state"
    START = "start"
    END = "end"
    EVENT = "event"
    PLAN = "plan"
    EVER = "ever"


@dataclass(frozen=True, slots=True)
class ClauseScene:
    """A clause as a rule sees it: who, the verb, and what follows with `times` taken out.

    `timed` if the clause speaks of a time, `coming` if of one to come; `lower` if the text has
    no capital letters; `sentence` is the whole sentence.
    """

    clause: Clause
    group: VerbGroup
    who: tuple[NamedEntity, ...]
    rest: str
    people: People
    sentence: str
    lower: bool = False
    timed: bool = False
    coming: bool = False
    times: Times = NO_TIMES


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What a rule found. `subject` if it is not the clause's own, `denied` if a denial is meant.

    What is `implied` is not said but follows. `rule` names the rule that found it.
    """

    predicate: str
    value: str
    aspect: Aspect = Aspect.STATE
    sure: float = 1.0
    subject: NamedEntity | None = None
    denied: bool = False
    implied: bool = False
    rule: str = ""


Give: TypeAlias = Callable[[ClauseScene, str, re.Match[str]], Iterable[RuleFinding]]
Shape: TypeAlias = Callable[[str, bool], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What certain verbs say when `tail` follows; `passive` where only that voice is meant."""

    verbs: tuple[str, ...]
    tail: re.Pattern[str]
    give: Give
    passive: bool = False
    name: str = ""


def rule(verbs: str, tail: str, give: Give, *, passive: bool = False) -> Rule:
    """A rule for the verbs. The tail is a pattern for what follows, in small or capital letters.

    `give` gets the scene, what stands after the tail, and the tail.
    """
    return Rule(tuple(verbs.split()), re.compile(r"\s*" + tail, re.IGNORECASE), give, passive)


def each(predicate: str, shape: Shape, aspect: Aspect = Aspect.STATE) -> Give:
    """What gives one statement for each value that the shape finds after the tail."""

    def give(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
        return [RuleFinding(predicate, one, aspect) for one in shape(after, scene.lower)]

    return give


def plain(predicate: str, value: str = "", aspect: Aspect = Aspect.STATE) -> Give:
    """What gives one statement whose value is known before."""
    return lambda _scene, _after, _tail: (RuleFinding(predicate, value, aspect),)


@dataclass(frozen=True, slots=True)
class Dated:
    """When it began and ended, or why nothing is said.

    A denial says nothing, and yet has an end: that of what was said before.
    """

    began: Timespan | None = None
    ended: Timespan | None = None
    refusal: str = ""


_HABIT = Dated(refusal="habit")


def dated(
    found: RuleFinding, group: VerbGroup, times: Times, at: datetime, clause: Clause
) -> Dated:
    """When what was found began and ended, as the verb and the times of the clause say."""
    rest, denied = clause.rest, found.denied
    if group.supposed:
        return Dated(refusal="hypothetical")
    aspect = _phased(found.aspect, group.phase)
    if (group.negated or group.no_longer) and not denied:
        over = group.no_longer or (_ANYMORE.search(rest) and group.tense is Tense.PRESENT)
        if aspect is Aspect.STATE and over:
            return Dated(began=None, ended=times.since or times.point or Timespan(end=at))
        denial = aspect is Aspect.STATE and _is_denial(found, group, clause)
        return Dated(ended=Timespan(end=at) if denial else None, refusal="negation")
    if aspect is Aspect.STATE:
        return _state(group, times, at, since=clause.since or _LASTS.search(rest) is not None)
    reader = {
        Aspect.START: _start, Aspect.END: _end,
        Aspect.EVENT: _event, Aspect.PLAN: _plan, Aspect.EVER: _ever,
    }[aspect]  # fmt: skip
    when = reader(group, times, at)
    if aspect is Aspect.START and when == Dated() and _JUST.search(clause.text, 0, group.end):
        return Dated(began=Timespan(end=at))
    return when


def _is_denial(found: RuleFinding, group: VerbGroup, clause: Clause) -> bool:
    """Whether a present state is plainly denied of what is named: "I don't live in Porto"."""
    said = clause.subject.match if clause.subject else None
    several = said is not None and (said["also"] or said["other"])
    plain = group.tense is Tense.PRESENT and not (group.able or group.hedged or group.always)
    named = found.predicate in _DENIABLE and bool(found.value)
    return plain and named and not several and _PARTLY.search(clause.text) is None


def loose(found: RuleFinding, at: datetime) -> Dated:
    """When what is said by the way began and ended: over only if the words say so."""
    return Dated(ended=Timespan(end=at)) if found.aspect is Aspect.END else Dated()


def _phased(aspect: Aspect, phase: Phase | None) -> Aspect:
    if aspect is not Aspect.STATE or phase in (None, Phase.ON):
        return aspect
    return Aspect.START if phase is Phase.START else Aspect.END


def _state(group: VerbGroup, times: Times, at: datetime, *, since: bool) -> Dated:
    if group.tense is Tense.FUTURE:
        return _to_come(times, at)
    if group.tense is Tense.USED:
        return Dated(began=times.since, ended=times.until or _over(times.point, at))
    if group.tense is Tense.PAST:
        point = times.point
        began = times.since or (point if point and point.start else None)
        return Dated(began=began, ended=times.until or _over(point, at))
    lasts = group.progressive or group.always or times.begun or since
    if group.tense is Tense.PERFECT and not lasts:
        return Dated(refusal="not sure it lasts")
    if times.point and times.point.start and times.point.start > at:
        return Dated(began=times.since or times.point, ended=times.until)
    return Dated(began=times.begun, ended=times.until)


def _over(when: Timespan | None, at: datetime) -> Timespan:
    """That it ended then, or some time before now."""
    return when if when and when.end else Timespan(start=when.start if when else None, end=at)


def _start(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense in (Tense.PAST, Tense.PERFECT):
        return Dated(began=times.at_some_time or times.since, ended=times.until)
    if group.tense is Tense.USED:
        return Dated(refusal="not sure it lasts")
    return _to_come(times, at) if _ahead(group, times, at) else _HABIT


def _end(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense in (Tense.PAST, Tense.PERFECT):
        return Dated(ended=_over(times.at_some_time or times.until, at))
    if group.verb == "be" and group.tense is Tense.PRESENT:
        return Dated(ended=times.since or Timespan(end=at))
    come = _to_come(times, at) if _ahead(group, times, at) else _HABIT
    return Dated(ended=come.began, refusal=come.refusal)


def _ahead(group: VerbGroup, times: Times, at: datetime) -> bool:
    """Whether it is still to happen."""
    return group.tense is Tense.FUTURE or group.progressive or is_later(times.at_some_time, at)


def _event(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense not in (Tense.PAST, Tense.PERFECT) or group.progressive:
        return Dated(refusal="no event")
    return Dated(began=times.at_some_time)


def _plan(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense is Tense.USED:
        return Dated(refusal="no longer planned")
    planned = times.at_some_time or times.since
    return Dated(ended=planned if is_later(planned, at) else None)


def _ever(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense is Tense.FUTURE:
        return Dated(refusal="hypothetical")
    return Dated()


def _to_come(times: Times, at: datetime) -> Dated:
    """What is to come is as good as done where its day is known; else it is no more than a plan."""
    point = times.at_some_time or times.since
    return Dated(began=point) if point and is_later(point, at) else Dated(refusal="a plan")

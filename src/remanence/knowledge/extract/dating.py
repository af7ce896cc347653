"""From what a clause says of time to when its statement began and ended; or why it is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from remanence.knowledge.extract.clauses import Clause
from remanence.knowledge.extract.rule import Aspect, Found
from remanence.knowledge.extract.times import Times
from remanence.knowledge.extract.verb_group import Phase, Tense, VerbGroup
from remanence.model.knowledge import When

_JUST = re.compile(r"\b(?:just|recently|newly|finally)\b", re.IGNORECASE)
_SINCE = re.compile(
    r"\bsince\b|\bfor (?:ages|years|ever|a long time)\b|\b(?:my|his|her|our) (?:whole|entire) "
    r"life\b"
    r"|\ball (?:my|his|her|our) li(?:fe|ves)\b",
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


@dataclass(frozen=True, slots=True)
class Dated:
    """When it began and ended, or why nothing is said.

    A denial says nothing, and yet has an end: that of what was said before.
    """

    began: When | None = None
    ended: When | None = None
    refusal: str = ""


def dated(found: Found, group: VerbGroup, times: Times, at: datetime, clause: Clause) -> Dated:
    """When what was found began and ended, as the verb and the times of the clause say."""
    rest, denied = clause.rest, found.denied
    if group.supposed:
        return Dated(refusal="hypothetical")
    aspect = _phased(found.aspect, group.phase)
    if (group.negated or group.no_longer) and not denied:
        over = group.no_longer or (_ANYMORE.search(rest) and group.tense is Tense.PRESENT)
        if aspect is Aspect.STATE and over:
            return Dated(began=None, ended=times.since or times.point or When(end=at))
        denial = aspect is Aspect.STATE and _is_denial(found, group, clause)
        return Dated(ended=When(end=at) if denial else None, refusal="negation")
    if aspect is Aspect.STATE:
        return _state(group, times, at, since=clause.since or _SINCE.search(rest) is not None)
    reader = {
        Aspect.START: _start, Aspect.END: _end,
        Aspect.EVENT: _event, Aspect.PLAN: _plan, Aspect.EVER: _ever,
    }[aspect]  # fmt: skip
    when = reader(group, times, at)
    if aspect is Aspect.START and when == Dated() and _JUST.search(clause.text, 0, group.end):
        return Dated(began=When(end=at))
    return when


def _is_denial(found: Found, group: VerbGroup, clause: Clause) -> bool:
    """Whether a present state is plainly denied of what is named: "I don't live in Porto"."""
    said = clause.subject.match if clause.subject else None
    several = said is not None and (said["also"] or said["other"])
    plain = group.tense is Tense.PRESENT and not (group.able or group.hedged or group.always)
    named = found.predicate in _DENIABLE and bool(found.value)
    return plain and named and not several and _PARTLY.search(clause.text) is None


def loose(found: Found, at: datetime) -> Dated:
    """When what is said by the way began and ended: over only if the words say so."""
    return Dated(ended=When(end=at)) if found.aspect is Aspect.END else Dated()


def _phased(aspect: Aspect, phase: Phase | None) -> Aspect:
    if aspect is not Aspect.STATE or phase in (None, Phase.ON):
        return aspect
    return Aspect.START if phase is Phase.START else Aspect.END


def _state(group: VerbGroup, times: Times, at: datetime, *, since: bool) -> Dated:
    if group.tense is Tense.FUTURE:
        return Dated(began=_to_come(times, at))
    if group.tense is Tense.USED:
        return Dated(began=times.since, ended=times.until or times.point or When(end=at))
    if group.tense is Tense.PAST:
        began = times.since or times.point
        return Dated(began=began, ended=times.until or times.point or When(end=at))
    lasts = group.progressive or group.always or times.begun or since
    if group.tense is Tense.PERFECT and not lasts:
        return Dated(refusal="not sure it lasts")
    if times.point and times.point.start and times.point.start > at:
        return Dated(began=times.point, ended=times.until)
    return Dated(began=times.begun, ended=times.until)


def _start(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense in (Tense.PAST, Tense.PERFECT):
        return Dated(began=times.point or times.since, ended=times.until)
    if group.tense is Tense.USED:
        return Dated(refusal="not sure it lasts")
    soon = times.point is not None and times.point.end is not None and times.point.end > at
    if group.tense is Tense.FUTURE or group.progressive or soon:
        return Dated(began=_to_come(times, at))
    return Dated(refusal="habit")


def _end(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense in (Tense.PAST, Tense.PERFECT):
        return Dated(ended=times.point or times.until or When(end=at))
    if group.verb == "be" and group.tense is Tense.PRESENT:
        return Dated(ended=times.since or When(end=at))
    soon = times.point is not None and times.point.end is not None and times.point.end > at
    if group.tense is Tense.FUTURE or group.progressive or soon:
        return Dated(ended=_to_come(times, at))
    return Dated(refusal="habit")


def _event(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense not in (Tense.PAST, Tense.PERFECT) or group.progressive:
        return Dated(refusal="no event")
    return Dated(began=times.point or times.since)


def _plan(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense is Tense.USED:
        return Dated(refusal="no longer planned")
    point = times.point
    return Dated(ended=point if point and point.end and point.end > at else None)


def _ever(group: VerbGroup, times: Times, at: datetime) -> Dated:
    if group.tense is Tense.FUTURE:
        return Dated(refusal="hypothetical")
    return Dated()


def _to_come(times: Times, at: datetime) -> When:
    point = times.point or times.since
    if point and point.end and point.end > at:
        return point
    return When(start=at)

"""A rule: which verbs it reads, what must follow them, and what that says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from remanence.knowledge.extract.clauses import Clause
from remanence.knowledge.extract.statement import Named
from remanence.knowledge.extract.subjects import People
from remanence.knowledge.extract.times import NO_TIMES, Times
from remanence.knowledge.extract.verb_group import VerbGroup


class Aspect(StrEnum):
    """What the words say of time: a state, its start or end, an event, a plan, or for ever."""

    STATE = "state"
    START = "start"
    END = "end"
    EVENT = "event"
    PLAN = "plan"
    EVER = "ever"


@dataclass(frozen=True, slots=True)
class Scene:
    """A clause as a rule sees it: who, the verb, and what follows with `times` taken out.

    `timed` if the clause speaks of a time, `coming` if of one to come; `lower` if the text has
    no capital letters; `sentence` is the whole sentence.
    """

    clause: Clause
    group: VerbGroup
    who: tuple[Named, ...]
    rest: str
    people: People
    sentence: str
    lower: bool = False
    timed: bool = False
    coming: bool = False
    times: Times = NO_TIMES


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found. `subject` if it is not the clause's own, `denied` if a denial is meant.

    What is `implied` is not said but follows.
    """

    predicate: str
    value: str
    aspect: Aspect = Aspect.STATE
    sure: float = 1.0
    subject: Named | None = None
    denied: bool = False
    implied: bool = False


Give: TypeAlias = Callable[[Scene, str, re.Match[str]], Iterable[Found]]
Shape: TypeAlias = Callable[[str, bool], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What certain verbs say when `tail` follows; `passive` where only that voice is meant."""

    verbs: tuple[str, ...]
    tail: re.Pattern[str]
    give: Give
    passive: bool = False


def rule(verbs: str, tail: str, give: Give, *, passive: bool = False) -> Rule:
    """A rule for the verbs. The tail is a pattern for what follows, in small or capital letters.

    `give` gets the scene, what stands after the tail, and the tail.
    """
    return Rule(tuple(verbs.split()), re.compile(r"\s*" + tail, re.IGNORECASE), give, passive)


def each(predicate: str, shape: Shape, aspect: Aspect = Aspect.STATE, *, sure: float = 1.0) -> Give:
    """What gives one statement for each value that the shape finds after the tail."""

    def give(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
        return [Found(predicate, one, aspect, sure) for one in shape(after, scene.lower)]

    return give


def plain(predicate: str, value: str = "", aspect: Aspect = Aspect.STATE) -> Give:
    """What gives one statement whose value is known before."""
    return lambda _scene, _after, _tail: (Found(predicate, value, aspect),)

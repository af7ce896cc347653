"""The verbs of facts: stated, confirmed, corrected, retracted, and asked for at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from remanence.model.knowledge import Fact
from remanence.operations.knowledge_responses import Conflicts, Facts, Read, Refused
from remanence.operations.operation import Answer, Group, Scoping, given, of_layer, where_erasing
from remanence.operations.responses import Count
from remanence.operations.scopes import ABOUT_TRUST, Place

ABOUT_TIME = "a date such as 2024-03-05, 2024-03 or 2024, or a moment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Add(Place):
    """A fact to believe from now on."""

    subject: str = given("who or what it is about", ..., positional=True)
    predicate: str = given("such as lives in, works at, likes, sister", ..., positional=True)
    object: str = given("a name or a value", ..., positional=True)
    text: str | None = given("the same in plain words")
    kind: str | None = given("fact, preference, context, plan, event or your own word")
    confidence: float = given("0 to 1: how sure it is", 1.0)
    trust: float = given("0 to 1: how far whoever says so is trusted", 1.0)
    valid_from: str | None = given(f"since when it is true: {ABOUT_TIME}")
    valid_to: str | None = given(f"until when it was true: {ABOUT_TIME}")
    observed_at: datetime | None = given("when it was seen to be so; now when left out")
    subject_type: str | None = given("person, place, organisation, thing, event or topic")
    object_type: str | None = given("the same for the object, if it is more than a value")
    source: str | None = given("the id of the memory that says so")
    actor: str | None = given("who states it")
    metadata: Mapping[str, Any] | None = given("anything else about it", flag="--meta", short="-m")


@dataclass(frozen=True, slots=True, kw_only=True)
class ById:
    """One fact."""

    id: str = given("the fact's id", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Get(ById):
    """One fact, as it is believed now or was believed."""

    known_at: datetime | None = given("as it was believed then")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm(ById):
    """That a fact is so indeed."""

    confidence: float = given("0 to 1: how sure that makes it", 0.9)
    source: str | None = given("the id of the memory that says so")


@dataclass(frozen=True, slots=True, kw_only=True)
class Correct(ById):
    """What is right instead; what is left out stays."""

    object: str | None = given("the right name or value", positional=True)
    valid_from: str | None = given(f"since when it is true: {ABOUT_TIME}")
    valid_to: str | None = given(f"until when it was true: {ABOUT_TIME}")
    text: str | None = given("the same in plain words")
    reason: str | None = given("why; kept with the fact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retract(ById):
    """A fact not to be believed any more."""

    reason: str | None = given("why; kept with the fact")
    erase: bool = given("remove it for good, if callers stated it", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Place):
    """Whose facts, and as of when."""

    include_shared: bool = given("also see what belongs to no user", False)
    min_trust: float | None = given(ABOUT_TRUST)
    as_of: datetime | None = given("what was true then; now when left out")
    known_at: datetime | None = given("as it was believed then")


@dataclass(frozen=True, slots=True, kw_only=True)
class About(Asked):
    """Somebody or something."""

    entity: str = given("a name", ..., positional=True)
    predicate: str | None = given("only this predicate", positional=True)
    standing: str | None = given("only holds, ended, disputed, doubted or retracted")
    history: bool = given("also what ended, was retracted or is doubted", False)
    limit: int = given("how many at most", 100, short="-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline(Place):
    """Somebody's or something's facts in order of time."""

    entity: str = given("a name", ..., positional=True)
    predicate: str | None = given("only this predicate", positional=True)
    include_shared: bool = given("also see what belongs to no user", False)
    min_trust: float | None = given(ABOUT_TRUST)
    known_at: datetime | None = given("as it was believed then")


@dataclass(frozen=True, slots=True, kw_only=True)
class Find(Asked):
    """Which facts."""

    predicate: str | None = given("only this predicate")
    object: str | None = given("only with this object")
    kind: str | None = given("only of this kind")
    standing: str | None = given("only holds, ended, disputed, doubted or retracted")
    limit: int = given("how many at most", 100, short="-k")
    offset: int = given("leave out so many first", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disputed(Place):
    """Whose facts."""

    include_shared: bool = given("also see what belongs to no user", False)
    min_trust: float | None = given(ABOUT_TRUST)
    known_at: datetime | None = given("as it was believed then")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """A text to be read, and nothing to be kept."""

    text: str = given("the text", ..., positional=True, piped=True)
    speaker: str | None = given("who says I in it")
    at: datetime | None = given("when it was said")
    model: bool = given("by the language model, if one is configured", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learn(Place):
    """Memories to be read anew."""

    all_users: bool = given("every user's memories", False)
    model: bool = given("by the language model, if one is configured", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """No more is needed."""


_operation = partial(of_layer, scope=Scoping.SCOPED, group=Group.FACTS)
_lists = partial(
    _operation,
    response=Facts,
    writes=False,
    wrap=lambda found: Facts(facts=tuple(found)),
    listing="facts",
)
_changes = partial(_operation, response=Fact, writes=True, scope=Scoping.BY_ID)

FACTS = (
    _operation("facts.add", "State a fact.", request=Add, response=Fact, writes=True),
    _lists("facts.about", "Show what is known of somebody or something.", request=About),
    _lists("facts.timeline", "Show facts in order of time, past ones too.", request=Timeline),
    _lists("facts.find", "List facts.", request=Find, command="list"),
    _operation(
        "facts.get",
        "Show a fact.",
        request=Get,
        response=Fact,
        writes=False,
        scope=Scoping.BY_ID,
    ),
    _changes("facts.confirm", "Say that a fact is so.", request=Confirm),
    _changes("facts.correct", "Say what is right instead.", request=Correct),
    _changes(
        "facts.retract",
        "Take a fact back.",
        request=Retract,
        destructive=True,
        erases=where_erasing,
    ),
    _operation(
        "facts.conflicts",
        "Show facts that contradict each other.",
        request=Disputed,
        response=Conflicts,
        writes=False,
        wrap=lambda found: Conflicts(conflicts=tuple(tuple(one) for one in found)),
        listing="conflicts",
    ),
    _operation(
        "facts.extract",
        "Show what a text says, and keep nothing.",
        request=Extract,
        response=Read,
        writes=False,
        scope=Scoping.TENANT,
        wrap=lambda reading: Read(
            statements=tuple(reading.statements),
            names=tuple(reading.names),
            refused=dict(reading.refused),
        ),
    ),
    _operation(
        "facts.learn",
        "Read memories anew, such as those stored before facts were.",
        request=Learn,
        response=Count,
        writes=True,
        wrap=lambda count: Count(count=count),
        reports=True,
        answers=Answer.FIGURES,
    ),
    _operation(
        "facts.refused",
        "Count what did not become a fact, and why, since the memory was opened.",
        request=Nothing,
        response=Refused,
        writes=False,
        scope=Scoping.TENANT,
        wrap=lambda reasons: Refused(reasons=dict(reasons)),
        answers=Answer.FIGURES,
    ),
)

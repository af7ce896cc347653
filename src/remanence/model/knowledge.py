"""Knowledge: entities, claims about them with two axes of time, and the facts claims add up to."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from uuid import UUID, uuid5

from remanence.errors import InvalidInput
from remanence.model.memory import EMPTY, Metadata, aware, unit_interval

# In a claim's metadata: where its days are days, unless in UTC.
TIMEZONE = "remanence.timezone"
_DAY, _MONTH, _YEAR = "%Y-%m-%d", "%Y-%m", "%Y"
_A_DAY, _A_WEEK = 1.5, 8.5
# How a stretch of up to so many days is told that no calendar names: by its middle, or both ends.
_UNNAMED = (
    (4.5, "", _DAY), (31.5, "about", _DAY), (92.5, "about", _MONTH), (210.0, "", _MONTH),
    (1100.0, "about", _YEAR), (math.inf, "", _YEAR),
)  # fmt: skip
_NAMES = UUID("6f2d3a0e-93b4-5c51-8f0a-7c1f2f6f9f55")


class EntityType(StrEnum):
    """What sort of thing an entity is; callers may use other words."""

    PERSON = "person"
    ANIMAL = "animal"
    PLACE = "place"
    ORGANISATION = "organisation"
    THING = "thing"
    EVENT = "event"
    TOPIC = "topic"


class FactKind(StrEnum):
    """What sort of knowledge it is; callers may use other words."""

    FACT = "fact"
    PREFERENCE = "preference"
    CONTEXT = "context"
    PLAN = "plan"
    EVENT = "event"
    OBSERVATION = "observation"


class Standing(StrEnum):
    """How a fact fares beside the others of its kind.

    `holds` and `ended` are believed; `disputed` has an equal that says otherwise; `doubted` lost
    to a claim of more trust; `retracted` is believed no more.
    """

    HOLDS = "holds"
    ENDED = "ended"
    DISPUTED = "disputed"
    DOUBTED = "doubted"
    RETRACTED = "retracted"


def folded_name(name: str) -> str:
    """A name as it is compared: case, accents, spaces and a leading article do not count."""
    plain = name.lower()
    if not name.isascii():
        plain = unicodedata.normalize("NFKD", name).casefold()
        plain = "".join(c for c in plain if not unicodedata.combining(c))
    plain = " ".join(plain.split())
    return plain.removeprefix("the ") or plain


def entity_id(user_id: str | None, name: str) -> str:
    """The id of what a user calls so: the same name is the same entity, in every process."""
    return str(uuid5(_NAMES, f"{user_id or ''}\0{folded_name(name)}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timespan:
    """A moment not exactly known: at `start` at the earliest, before `end`; None is not known."""

    start: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            if getattr(self, name) is not None:
                aware(name, getattr(self, name))
        if self.start is not None and self.end is not None and self.start > self.end:
            raise InvalidInput("A time must not end before it starts.")

    @property
    def precision(self) -> str:
        """How exactly it is known: moment, day, week, month, season, year, decade or open."""
        if self.start is None or self.end is None:
            return "open"
        days = (self.end - self.start).total_seconds() / 86_400
        steps = (("moment", 0.5), ("day", 1.5), ("week", 14), ("month", 32), ("season", 100))
        fitting = (name for name, most in (*steps, ("year", 367)) if days <= most)
        return next(fitting, "decade")

    def __str__(self) -> str:
        """The time as exactly as it is known, and no more: 2024-03-05, about 2016, before 2024."""
        if self.start is not None and self.end is not None:
            return _calendar_words(self.start, self.end)
        if self.end is not None:
            return f"before {self.end:{_YEAR if _is_new_year(self.end) else _DAY}}"
        if self.start is None:
            return "some time"
        form = _YEAR if _is_new_year(self.start) else _DAY
        return f"after {self.start - timedelta(microseconds=1):{form}}"


def _is_new_year(at: datetime) -> bool:
    return (at.month, at.day, at.time()) == (1, 1, time())


def _calendar_words(start: datetime, end: datetime) -> str:
    """A stretch of the calendar by its name; one without a name by its middle or its ends."""
    days = (end - start) / timedelta(days=1)
    first, last = start.date(), max(start, end - timedelta(microseconds=1)).date()
    after = last + timedelta(days=1)
    if days <= _A_DAY:
        return f"{first}"
    if first.day == after.day == 1:
        return _between(first, last, _YEAR if first.month == after.month == 1 else _MONTH)
    if days < _A_WEEK and after.weekday() == 0 and first.weekday() in (0, 5):
        return f"the {'week' if first.weekday() == 0 else 'weekend'} of {first}"
    named, form = next(told for most, *told in _UNNAMED if days <= most)
    return f"{named} {start + (end - start) / 2:{form}}" if named else _between(first, last, form)


def _between(first: date, last: date, form: str) -> str:
    one, other = f"{first:{form}}", f"{last:{form}}"
    return one if one == other else f"between {one} and {other}"


def when_said(kind: str, began: Timespan | None, ended: Timespan | None) -> str:
    """When something was so, in words, as exactly as somebody said; of an event, when it was."""
    if kind == FactKind.EVENT:
        return "" if began is None else str(began)
    since = "" if began is None or began.start is None else _after("since", "began", began)
    last = ("planned for", "planned") if kind == FactKind.PLAN else ("until", "ended")
    until = "" if ended is None else _after(*last, ended)
    return f"{since} {until}".strip()


def _after(word: str, verb: str, time: Timespan) -> str:
    """The time after a word that goes before a date, or after a verb that goes before the rest."""
    told = str(time)
    if told.startswith("after "):
        return told if word == "since" else f"ends {told}"
    return f"{verb if told.startswith(('before ', 'between ')) else word} {told}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Somebody or something spoken of. `given` if a caller made it: it stays when unmentioned."""

    id: str
    name: str
    type: str
    created_at: datetime
    user_id: str | None = None
    given: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Somebody said so, once: the evidence that facts are made of. Claims are never edited.

    `object` is the entity that `value` names, None for a plain value. `observed_at` is when it was
    said to be so, `began` and `ended` what was said of its time. `denies` says that it is not so:
    it takes back what was recorded before. `memory` is where it was found, None if a caller said
    it; such a claim rests while its memory does not take part in recall, and is retired when the
    memory's text says something else.
    """

    id: str
    subject: str
    predicate: str
    value: str
    text: str
    observed_at: datetime
    recorded_at: datetime
    object: str | None = None
    kind: str = FactKind.FACT
    confidence: float = 1.0
    trust: float = 1.0
    began: Timespan | None = None
    ended: Timespan | None = None
    denies: bool = False
    origin: str = "caller"
    memory: str | None = None
    reason: str | None = None
    rested_at: datetime | None = None
    retired_at: datetime | None = None
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    metadata: Metadata = field(default_factory=lambda: EMPTY)

    def __post_init__(self) -> None:
        aware("observed_at", self.observed_at)
        aware("recorded_at", self.recorded_at)
        unit_interval("confidence", self.confidence)
        unit_interval("trust", self.trust)

    def known_at(self, moment: datetime) -> bool:
        """Whether it was part of what the memory knew then."""
        gone = [at for at in (self.rested_at, self.retired_at) if at is not None]
        return self.recorded_at <= moment and all(moment < at for at in gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What the claims add up to: subject, predicate, object, and over which time it was true.

    `valid_from` and `valid_to` say when it was true, None where nobody said; `began` and `ended`
    how exactly that is known, and `when` in words: "since 2024-03", "until about 2016". Of a plan,
    `ended` is what it is planned for. `recorded_at` and `retired_at` say when it was believed.
    `sources` are the memories that say so; `rivals` the facts that say otherwise at the same time.
    """

    id: str
    subject: str
    subject_id: str
    predicate: str
    object: str
    text: str
    kind: str
    confidence: float
    trust: float
    standing: Standing
    recorded_at: datetime
    object_id: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    began: Timespan | None = None
    ended: Timespan | None = None
    retired_at: datetime | None = None
    sources: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    user_id: str | None = None

    when: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        told = when_said(self.kind, self.began, self.ended)
        if self.valid_to is not None and self.ended is None:
            told = f"{told} ended by {self.valid_to:{_DAY}}".lstrip()
        object.__setattr__(self, "when", told)

    def holds_at(self, moment: datetime) -> bool:
        """Whether it was true then, as far as anybody said."""
        believed = self.standing in (Standing.HOLDS, Standing.ENDED, Standing.DISPUTED)
        begun = self.valid_from is None or self.valid_from <= moment
        return believed and begun and (self.valid_to is None or moment < self.valid_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A memory speaks of an entity."""

    entity: str
    memory: str
    happened_at: datetime
    session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What a memory says, found in its text: it replaces what was found in it before.

    What was found in a former text stays, retired at the moment of the change; with `afresh` it
    is removed instead, as the text is the same and only read better. With a `version`, a memory
    that has another one by now is passed over.
    """

    memory: str
    entities: tuple[Entity, ...] = ()
    mentions: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    afresh: bool = False
    version: int | None = None

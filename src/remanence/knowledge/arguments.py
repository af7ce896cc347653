"""What callers say and ask of facts and of the graph, checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypedDict

from remanence.errors import InvalidInput, NotFound
from remanence.language.timerange import calendar
from remanence.model import validation
from remanence.model.knowledge import Standing, Timespan, folded_name
from remanence.model.predicates import NOTE, PREDICATES, SAME_AS
from remanence.model.scope import Reach

MAX_NAME = 256
MAX_PREDICATE = 128
MAX_VALUE = 2_000
_ANY_DAY = datetime(2020, 1, 1, tzinfo=UTC)
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")

MAX_RELATION = 128
MAX_OBSERVATION = 65_536
MOST_DEPTH = 6
MOST_STEPS = 8
_INSTEAD = {NOTE: "observe(name, text)", SAME_AS: "merge(name, into)"}


class KnowledgeOwner(TypedDict, total=False):
    """Whose knowledge: a user's, and what an agent or a session said of it."""

    user_id: str | None
    agent_id: str | None
    session_id: str | None


class Believed(KnowledgeOwner, total=False):
    """Whose knowledge, with what is nobody's if `include_shared`, by what was known when.

    It must be trusted so far, or as the setting says.
    """

    include_shared: bool
    min_trust: float | None
    known_at: datetime | None


class KnowledgeQuery(Believed, total=False):
    """What is known, and when it was true."""

    as_of: datetime | None


def name_of(what: str, value: object) -> str:
    """A name that says something once case, accents and blanks are gone."""
    name = " ".join(validation.text_of(what, value, MAX_NAME).split())
    if not folded_name(name) or not any(c.isprintable() and c != " " for c in name):
        raise InvalidInput(f"{what} {name[:40]!r} has no letter, digit or sign to be told by.")
    return name


def predicate_name(value: object) -> str:
    """A predicate in its one spelling: lower case, blanks rather than underscores."""
    given = validation.text_of("predicate", value, MAX_PREDICATE).replace("_", " ")
    name = " ".join(given.split()).lower()
    if not name:
        raise InvalidInput("predicate has no letter; say e.g. 'lives in', 'works at' or 'sister'.")
    if name == SAME_AS:
        raise InvalidInput("'same as' is no fact to state; call graph.merge or graph.unmerge.")
    return name


def value_of(value: object) -> str:
    """An object as text, on one line."""
    return " ".join(validation.text_of("object", value, MAX_VALUE).split())


def when_of(what: str, value: object) -> Timespan | None:
    """A moment, or a date as exactly as it is written: 2024, 2024-03, 2024-03-05."""
    if value is None:
        return None
    if isinstance(value, str) and (date := _DATE.fullmatch(value.strip())):
        year, month, day = (None if part is None else int(part) for part in date.groups())
        return _range(what, value, year or 0, month, day)
    moment = validation.moment_of(what, value)
    return Timespan(start=moment, end=moment)


def period_of(valid_from: object, valid_to: object) -> tuple[Timespan | None, Timespan | None]:
    """Both ends of a time, the second not before the first."""
    began, ended = when_of("valid_from", valid_from), when_of("valid_to", valid_to)
    check_period(began, ended)
    return began, ended


def check_period(began: Timespan | None, ended: Timespan | None) -> None:
    """Refuse a time that ends before it starts."""
    if began is None or ended is None or began.start is None or ended.end is None:
        return
    earlier = ended.start is not None and ended.start < began.start
    if ended.end < began.start or (ended.end == began.start and earlier):
        raise InvalidInput(
            f"It would end ({ended}) before it starts ({began}); "
            "give a valid_to that is not before valid_from."
        )


def _range(what: str, text: str, year: int, month: int | None, day: int | None) -> Timespan:
    try:
        span = calendar(_ANY_DAY, year, month, day)
        return Timespan(start=span.start, end=span.end)
    except (ValueError, OverflowError):
        raise InvalidInput(f"{what} {text[:20]!r} is no date that there is.") from None


def by_actor(actor: object) -> dict[str, str]:
    """In a claim's metadata: who states it, where that is said; a purge looks for it there."""
    name = validation.label_of("actor", actor)
    return {} if name is None else {"actor": name}


def standing_of(value: object) -> Standing | None:
    """A standing by its name."""
    if value is None:
        return None
    try:
        return Standing(str(value))
    except ValueError:
        known = ", ".join(Standing)
        raise InvalidInput(f"Unknown standing {str(value)[:40]!r}; known: {known}.") from None


def fact_id(value: object) -> str:
    """The id of a fact in its canonical form; anything that is no UUID is simply not here."""
    try:
        return validation.id_of(value)
    except NotFound:
        raise no_fact(value) from None


def no_fact(id: object) -> NotFound:
    """The one answer for an id that is not here, whoever's it may be."""
    return NotFound(
        f"There is no fact {str(id)[:64]!r} here; `facts.about` and `rem facts list` show ids."
    )


def relation_name(value: object) -> str:
    """The name of a relation: as given, or in its one spelling where rules hold for it.

    Notes and merges have verbs of their own.
    """
    given = " ".join(validation.text_of("relation", value, MAX_RELATION).split())
    plain = " ".join(given.replace("_", " ").split()).lower()
    relation = plain if plain in PREDICATES else given
    if relation in _INSTEAD:
        raise InvalidInput(f"{relation!r} is no relation to give; call {_INSTEAD[relation]}.")
    return relation


def reach_of(tenant: str, asked: Believed, trust: float) -> Reach:
    """Where it is asked; what is trusted less than `trust` does not count, unless they say how."""
    least = asked.get("min_trust")
    return Reach(
        tenant=tenant,
        user_id=asked.get("user_id"),
        agent_id=asked.get("agent_id"),
        session_id=asked.get("session_id"),
        include_shared=asked.get("include_shared", False),
        min_trust=trust if least is None else least,
    )


def texts_of(what: str, value: object) -> list[str]:
    """One text or several, each once."""
    given = [value] if isinstance(value, str) else validation.several(what, value)
    texts = (
        validation.text_of(f"An item of {what}", one, MAX_OBSERVATION).strip() for one in given
    )
    return list(dict.fromkeys(texts))


def relations_of(value: str | Sequence[str] | None) -> frozenset[str] | None:
    """The relations to walk along: None for all, one or several."""
    return None if value is None else frozenset(texts_of("relations", value))


def moment_or_none(what: str, value: datetime | str | None) -> datetime | None:
    """A moment, if one is given."""
    return None if value is None else validation.moment_of(what, value)


def moments_of(asked: KnowledgeQuery) -> tuple[datetime | None, datetime | None]:
    """When it was true, and by what was known when."""
    return (
        moment_or_none("as_of", asked.get("as_of")),
        moment_or_none("known_at", asked.get("known_at")),
    )


def unknown(name: str) -> NotFound:
    """The one answer for a name that nothing goes by here, whoever's it may be elsewhere."""
    return NotFound(
        f"There is no entity {name[:64]!r} here; `graph.entities(text=…)` finds those there are, "
        "`graph.add` makes one."
    )

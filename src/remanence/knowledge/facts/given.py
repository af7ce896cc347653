"""What callers say of facts, checked: names, predicates, and times as exact as they are given."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from remanence.errors import InvalidInput, NotFound
from remanence.model import accept
from remanence.model.knowledge import Standing, When, folded_name
from remanence.model.predicates import SAME_AS

MAX_NAME = 256
MAX_PREDICATE = 128
MAX_VALUE = 2_000
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


def name_of(what: str, value: object) -> str:
    """A name that says something once case, accents and blanks are gone."""
    name = " ".join(accept.text_of(what, value, MAX_NAME).split())
    if not folded_name(name) or not any(c.isprintable() and c != " " for c in name):
        raise InvalidInput(f"{what} {name[:40]!r} has no letter, digit or sign to be told by.")
    return name


def predicate_name(value: object) -> str:
    """A predicate in its one spelling: lower case, blanks rather than underscores."""
    given = accept.text_of("predicate", value, MAX_PREDICATE).replace("_", " ")
    name = " ".join(given.split()).lower()
    if not name:
        raise InvalidInput("predicate has no letter; say e.g. 'lives in', 'works at' or 'sister'.")
    if name == SAME_AS:
        raise InvalidInput("'same as' is no fact to state; call graph.merge or graph.unmerge.")
    return name


def value_of(value: object) -> str:
    """An object as text, on one line."""
    return " ".join(accept.text_of("object", value, MAX_VALUE).split())


def when_of(what: str, value: object) -> When | None:
    """A moment, or a date as exactly as it is written: 2024, 2024-03, 2024-03-05."""
    if value is None:
        return None
    if isinstance(value, str) and (date := _DATE.fullmatch(value.strip())):
        year, month, day = (None if part is None else int(part) for part in date.groups())
        return _range(what, value, year or 0, month, day)
    moment = accept.moment_of(what, value)
    return When(start=moment, end=moment)


def period_of(valid_from: object, valid_to: object) -> tuple[When | None, When | None]:
    """Both ends of a time, the second not before the first."""
    began, ended = when_of("valid_from", valid_from), when_of("valid_to", valid_to)
    check_period(began, ended)
    return began, ended


def check_period(began: When | None, ended: When | None) -> None:
    """Refuse a time that ends before it starts."""
    if began is None or ended is None or began.start is None or ended.end is None:
        return
    earlier = ended.start is not None and ended.start < began.start
    if ended.end < began.start or (ended.end == began.start and earlier):
        raise InvalidInput(
            f"It would end ({ended}) before it starts ({began}); "
            "give a valid_to that is not before valid_from."
        )


def _range(what: str, text: str, year: int, month: int | None, day: int | None) -> When:
    try:
        start = datetime(year, 1 if month is None else month, 1 if day is None else day, tzinfo=UTC)
        return When(start=start, end=_end(start, month, day))
    except (ValueError, OverflowError):
        raise InvalidInput(f"{what} {text[:20]!r} is no date that there is.") from None


def _end(start: datetime, month: int | None, day: int | None) -> datetime:
    if day is not None:
        return start + timedelta(days=1)
    if month is None or month == 12:
        return start.replace(year=start.year + 1, month=1)
    return start.replace(month=month + 1)


def by_actor(actor: object) -> dict[str, str]:
    """In a claim's metadata: who states it, where that is said; a purge looks for it there."""
    name = accept.label_of("actor", actor)
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
        return accept.id_of(value)
    except NotFound:
        raise no_fact(value) from None


def no_fact(id: object) -> NotFound:
    """The one answer for an id that is not here, whoever's it may be."""
    return NotFound(
        f"There is no fact {str(id)[:64]!r} here; `facts.about` and `rem facts list` show ids."
    )

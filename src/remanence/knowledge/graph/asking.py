"""What callers ask of the graph, checked: names, moments, numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from remanence.errors import InvalidInput, NotFound
from remanence.model import accept
from remanence.model.knowledge import folded_name
from remanence.model.predicates import NOTE, PREDICATES, SAME_AS

MAX_NAME = 256
MAX_RELATION = 128
MAX_OBSERVATION = 65_536
MOST_DEPTH = 6
MOST_STEPS = 8
_INSTEAD = {NOTE: "observe(name, text)", SAME_AS: "merge(name, into)"}


def name_of(what: str, value: object) -> str:
    """A name that something can be found by, on one line."""
    name = " ".join(accept.text_of(what, value, MAX_NAME).split())
    if not folded_name(name) or not any(c.isprintable() and c != " " for c in name):
        raise InvalidInput(f"{what} {name[:40]!r} has no letter, digit or sign to be told by.")
    return name


def relation_name(value: object) -> str:
    """The name of a relation: as given, or in its one spelling where rules hold for it.

    Notes and merges have verbs of their own.
    """
    given = " ".join(accept.text_of("relation", value, MAX_RELATION).split())
    plain = " ".join(given.replace("_", " ").split()).lower()
    relation = plain if plain in PREDICATES else given
    if relation in _INSTEAD:
        raise InvalidInput(f"{relation!r} is no relation to give; call {_INSTEAD[relation]}.")
    return relation


def texts_of(what: str, value: object) -> list[str]:
    """One text or several, each once."""
    given = [value] if isinstance(value, str) else accept.several(what, value)
    texts = (accept.text_of(f"An item of {what}", one, MAX_OBSERVATION).strip() for one in given)
    return list(dict.fromkeys(texts))


def relations_of(value: str | Sequence[str] | None) -> frozenset[str] | None:
    """The relations to walk along: None for all, one or several."""
    return None if value is None else frozenset(texts_of("relations", value))


def moment_or_none(what: str, value: datetime | str | None) -> datetime | None:
    """A moment, if one is given."""
    return None if value is None else accept.moment_of(what, value)


def whole(what: str, value: object, least: int, most: int) -> int:
    """A whole number in bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(
            f"{what} must be a whole number from {least} to {most:,}; got {value!r}."
        )
    return value


def unknown(name: str) -> NotFound:
    """The one answer for a name that nothing goes by here, whoever's it may be elsewhere."""
    return NotFound(
        f"There is no entity {name[:64]!r} here; `graph.entities(text=…)` finds those there are, "
        "`graph.add` makes one."
    )

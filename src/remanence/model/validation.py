"""The door: what callers hand in is checked here, refused with a reason or made into a value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any
from uuid import UUID

from remanence.errors import InvalidInput, NotFound
from remanence.model.memory import EMPTY, Kind, State, aware, same_json
from remanence.model.zones import own_zone, placed, says_no_zone

MAX_TEXT = 1_000_000
MAX_LABEL = 1_024
MAX_METADATA = 65_536
MAX_DEPTH = 8
MAX_INTEGER = 2**63 - 1

# Where memories come from, as far as rules ask for it, and what nobody may claim from outside.
ORIGIN = "summary"  # the origin of a conversation's or a period's summary
SLEEP = "sleep"  # … of what sleep derives
ORIGINS = (ORIGIN, SLEEP)
STATED = "user"  # the source of what the user said to be so
OWN = "remanence."  # how metadata begins that is not the callers'

# Names other memory systems use for types, and what they are here.
KNOWN_AS = {
    "short_term": "message",
    "working": "working memory: memory.working.set(key, value, session_id=…)",
    "long_term": "semantic",
    "fact": "semantic",
    "context": "episodic",
    "preference": "semantic",
    "conversation": "message",
    "archival": "semantic",
}


def text_of(what: str, value: object, most: int = MAX_TEXT) -> str:
    """A text that can be stored and found: not empty, no NUL, no half characters, not endless."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}.")
    if not value.strip():
        raise InvalidInput(f"{what} is empty; there is nothing to remember or look for.")
    if len(value) > most:
        raise InvalidInput(
            f"{what} has {len(value):,} characters and at most {most:,} are taken; "
            "split it into several memories."
        )
    return _storable(what, value)


def label_of(what: str, value: object) -> str | None:
    """A short text or None."""
    return None if value is None else text_of(what, value, MAX_LABEL)


def several(what: str, values: object) -> list[Any]:
    """The items of a list or another iterable; one text or one mapping is not a list of items."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list, not {type(values).__name__}.")
    return list(values)


def truth_of(what: str, value: object) -> bool:
    """True or False, and nothing that merely looks like it."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be True or False, not {str(value)[:40]!r}.")
    return value


def whole_of(what: str, value: object, least: int, most: int) -> int:
    """A whole number that lies between these two."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(
            f"{what} must be a whole number from {least:,} to {most:,}; got {value!r:.40}."
        )
    return value


def kind_of(value: str) -> Kind:
    """The kind by its name, or `InvalidInput` that says which there are."""
    try:
        return Kind(value)
    except ValueError:
        hint = KNOWN_AS.get(str(value))
        advice = f" What others call {value!r} is {hint} here." if hint else ""
        raise InvalidInput(f"Unknown kind {value!r}; known: {', '.join(Kind)}.{advice}") from None


def kinds_of(values: str | Iterable[str] | None) -> tuple[Kind, ...]:
    """Kinds by name: None for all, one or several."""
    if values is None:
        return ()
    chosen = [values] if isinstance(values, str) else several("kinds", values)
    return tuple(kind_of(value) for value in chosen)


def state_of(value: str) -> State:
    """The state by its name, or `InvalidInput` that says which there are."""
    try:
        return State(value)
    except ValueError:
        raise InvalidInput(f"Unknown state {value!r}; known: {', '.join(State)}.") from None


def moment_of(what: str, value: object) -> datetime:
    """A datetime in UTC, from one that carries a time zone or an ISO 8601 text that does."""
    if isinstance(value, str):
        try:
            return moment_of(what, datetime.fromisoformat(value))
        except ValueError as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"{what} {value[:40]!r} is not an ISO 8601 date and time; write e.g. "
                "2024-03-01T00:00:00+00:00."
            ) from None
    moment = aware(what, value)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{what} lies outside the years 1 to 9999.") from None


def local_moment_of(what: str, value: object) -> datetime:
    """The same on the clocks of its own zone, whose calendar counts; in UTC if that says none."""
    utc = moment_of(what, value)
    own = datetime.fromisoformat(value) if isinstance(value, str) else aware(what, value)
    return utc if says_no_zone(own) else placed(utc, own_zone(own))


def metadata_of(value: object) -> dict[str, Any]:
    """Plain JSON data with text keys, small and finite; a copy, so that the caller's may change."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type(value).__name__}.")
    copied = _Copier("metadata").mapping("metadata", value, 0)
    size = len(json.dumps(copied))
    if size > MAX_METADATA:
        raise InvalidInput(f"metadata takes {size:,} bytes as JSON; at most {MAX_METADATA:,} fit.")
    return copied


def json_of(what: str, value: object) -> Any:
    """A copy of any JSON value: text, numbers, booleans, None, lists, mappings with text keys."""
    return _Copier(what).plain(what, value, 0)


class _Copier:
    """Copies nested data; counts what it copies, since a small value may hold itself many times."""

    def __init__(self, whole: str) -> None:
        self._whole = whole
        self._left = MAX_METADATA

    def mapping(self, what: str, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        named = ((text_of(f"A {self._whole} key", key, 128), item) for key, item in value.items())
        return {key: self.plain(f"{what}[{key!r}]", item, depth + 1) for key, item in named}

    def plain(self, what: str, value: object, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise InvalidInput(f"{self._whole} holds more than {MAX_METADATA:,} values.")
        if depth > MAX_DEPTH:
            raise InvalidInput(f"{what} is nested deeper than {MAX_DEPTH} levels.")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _storable(what, value)
        if isinstance(value, int | float):
            return _number(what, value)
        if isinstance(value, Mapping):
            return self.mapping(what, value, depth)
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return [self.plain(f"{what}[{n}]", item, depth + 1) for n, item in enumerate(value)]
        raise InvalidInput(
            f"{what} is a {type(value).__name__}; {self._whole} takes text, numbers, booleans, "
            "lists and mappings (pass dates as .isoformat())."
        )


def _number(what: str, value: int | float) -> int | float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{what} is {value!r}; only finite numbers can be kept.")
        return float(value)
    if abs(value) > MAX_INTEGER:
        raise InvalidInput(f"{what} does not fit into 64 bits; pass it as text.")
    return int(value)


def _storable(what: str, value: str) -> str:
    if "\0" in value:
        raise InvalidInput(f"{what} holds a NUL character; remove it.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} holds half a character (a lone surrogate) at {error.start}; decode it anew, "
            "e.g. text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')."
        ) from None
    return str.__str__(value)  # an enum's member is kept as its text


def id_of(value: object) -> str:
    """A memory's id in its canonical form; anything that is no UUID is simply not here."""
    try:
        return str(UUID(value)) if isinstance(value, str) else str(UUID(str(value)))
    except ValueError:
        raise missing(value) from None


def missing(id: object) -> NotFound:
    """The one answer for an id that is not here, whoever's it may be."""
    shown = str(id)[:64]
    return NotFound(f"There is no memory {shown!r} here; check the id.")


def is_loopback(host: str) -> bool:
    """Whether it is this machine alone, by name or address; no proxy stands before it."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_origin(given: Any) -> None:
    """Refuse the origins of what the memory makes itself."""
    if given in ORIGINS:
        raise InvalidInput(
            f"origin cannot be {' or '.join(map(repr, ORIGINS))}: these words are kept for what "
            "the memory makes itself; take another."
        )


def check_metadata(given: Any, there: Mapping[str, Any] = EMPTY) -> None:
    """Refuse what would look as if the memory had made it itself, unless it is there already."""
    for name, value in given.items() if isinstance(given, Mapping) else ():
        known = name in there and same_json({name: value}, {name: there[name]})
        if str(name).startswith(OWN) and not known:
            raise InvalidInput(
                f"metadata[{str(name)[:128]!r}]: keys that begin with {OWN!r} are kept for what "
                "the memory makes itself; take another name."
            )

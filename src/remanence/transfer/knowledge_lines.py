"""The lines of an export that knowledge makes: entities, then claims, then mentions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from remanence.errors import InvalidInput
from remanence.model import accept
from remanence.model.knowledge import Claim, Entity, Mention, When
from remanence.model.memory import unit_interval
from remanence.model.scope import check_name
from remanence.operations.rendering import plain
from remanence.transfer.lines import Line, check_names, uuid_of

ENDS = {"start", "end"}


def entity_line(entity: Entity) -> dict[str, Any]:
    """An entity; what sort of thing it is stands under `sort`."""
    told = _plain(entity)
    return {"type": "entity", "sort": told.pop("type"), **told}


def claim_line(claim: Claim) -> dict[str, Any]:
    """A claim with all its fields."""
    return {"type": "claim", **_plain(claim)}


def mention_line(mention: Mention) -> dict[str, Any]:
    """A memory speaks of an entity."""
    return {"type": "mention", **_plain(mention)}


def entity_of(line: Line, most: int) -> Entity:
    """The entity of a line, its name no longer than `most`."""
    values = {n: v for n, v in line.items() if n not in ("type", "sort")}
    check_names(values | {"type": line.get("sort")}, Entity)
    read = _read(values, most)
    return Entity(type=_word("sort", line.get("sort"), most), **read)


def claim_of(line: Line, most: int) -> Claim:
    """The claim of a line, no text in it longer than `most`."""
    values = {n: v for n, v in line.items() if n != "type"}
    check_names(values, Claim)
    return Claim(**_read(values, most))


def mention_of(line: Line) -> Mention:
    """The mention of a line."""
    values = {n: v for n, v in line.items() if n != "type"}
    check_names(values, Mention)
    return Mention(**_read(values, 0) | {"memory": uuid_of("memory", values["memory"])})


def _read(values: Line, most: int) -> dict[str, Any]:
    return {
        name: _READERS[name](name, value) if name in _READERS else _TEXTS[name](name, value, most)
        for name, value in values.items()
    }


def _plain(value: Any) -> dict[str, Any]:
    told = plain(value)
    assert isinstance(told, dict)
    return told


def _words(what: str, value: Any, most: int) -> str:
    """Any text that a store can keep, an empty one too."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}.")
    if len(value) > most:
        raise InvalidInput(f"{what} has {len(value):,} characters; at most {most:,} are taken.")
    return str(accept.json_of(what, value))


def _word(what: str, value: Any, most: int) -> str:
    if value == "":
        raise InvalidInput(f"{what} is empty.")
    return _words(what, value, most)


def _words_or_none(what: str, value: Any, most: int) -> str | None:
    return None if value is None else _words(what, value, most)


def _id_or_none(what: str, value: Any) -> str | None:
    return None if value is None else uuid_of(what, value)


def _moment_or_none(what: str, value: Any) -> Any:
    return None if value is None else accept.moment_of(what, value)


def _name(what: str, value: Any) -> str | None:
    check_name(what, value)
    return None if value is None else str(value)


def _when(what: str, value: Any) -> When | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or set(value) - ENDS:
        raise InvalidInput(f"{what} must be an object with start and end.")
    return When(**{end: _moment_or_none(f"{what}.{end}", value.get(end)) for end in ENDS})


_TEXTS: Mapping[str, Callable[[str, Any, int], Any]] = {
    "name": _word,
    "predicate": _word,
    "value": _words,
    "text": _words,
    "kind": _word,
    "origin": _word,
    "reason": _words_or_none,
}
_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "id": uuid_of,
    "subject": uuid_of,
    "entity": uuid_of,
    "object": _id_or_none,
    "memory": _id_or_none,
    "created_at": accept.moment_of,
    "observed_at": accept.moment_of,
    "recorded_at": accept.moment_of,
    "happened_at": accept.moment_of,
    "rested_at": _moment_or_none,
    "retired_at": _moment_or_none,
    "confidence": unit_interval,
    "trust": unit_interval,
    "began": _when,
    "ended": _when,
    "denies": accept.truth_of,
    "given": accept.truth_of,
    "user_id": _name,
    "agent_id": _name,
    "session_id": _name,
    "metadata": lambda what, value: accept.metadata_of(value),
}

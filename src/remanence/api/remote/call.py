"""A call of a verb, bound by its own signature, as a request; what cannot travel is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin
from uuid import UUID

from remanence.api.values import Misfit, plain, read
from remanence.api.verb import UNSET, AnyVerb, Parameter
from remanence.api.verbs.table import verb_of
from remanence.errors import InvalidInput
from remanence.model import validation
from remanence.model.hit import Hit
from remanence.model.memory import Json
from remanence.model.progress import Progress

DEEPEST = 32
# What is kept as it is given: the memory refuses anything in it that JSON does not have.
VERBATIM = frozenset({"changes", "data", "metadata", "value"})
_HERE = "cannot be sent to a server; leave it out, or open the memory where it is."


class Otherwise(Enum):
    """What to give for something that is not there."""

    RAISE = "no default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What to ask of a server: the fields of a request that were given, as JSON data.

    `progress` hears how far a long run is. `default` is the answer where the server has none.
    """

    verb: AnyVerb
    data: Mapping[str, Json]
    progress: Progress | None = None
    default: Any = Otherwise.RAISE

    @property
    def repeatable(self) -> bool:
        """Whether asking twice does no more than asking once.

        A write's key sees to that, but a server keeps no answer of what erases, nor of a stream.
        """
        kept = not self.verb.destructive and self.progress is None
        return kept or not self.verb.writes


def call_of(verb: AnyVerb, args: tuple[Any, ...], named: Mapping[str, Any]) -> Call:
    """Bind the arguments and check their shape; what their values may be, the server says."""
    if verb.short_for:
        verb = verb_of(verb.short_for)
    if verb.local:
        raise InvalidInput(f"{verb.name} works only where the memory is: {verb.local}.")
    given = {name: one for name, one in verb.bound(args, named).items() if one is not UNSET}
    progress = given.pop("progress", None)
    default = given.pop("default", Otherwise.RAISE)
    data = _data(verb, given)
    _check_shape(verb.request, data)
    return Call(verb=verb, data=data, progress=progress, default=default)


def _check_shape(kind: type, data: Mapping[str, Json]) -> None:
    try:
        request: Any = read(kind, data)
    except Misfit as error:
        raise InvalidInput(str(error)) from error
    for name, value in data.items():
        if isinstance(value, float) and isinstance(getattr(request, name), int):
            raise InvalidInput(f"{name} must be a whole number; got {value!r}.")


def _data(verb: AnyVerb, given: Mapping[str, Any]) -> dict[str, Json]:
    known = {one.own: one for one in verb.parameters if one.name in verb.asked}
    data: dict[str, Json] = {}
    for name, value in given.items():
        one = known.get(name)
        if one is None:
            if value is not None:
                raise InvalidInput(f"{name} {_HERE}")
            continue
        if value is None and one.absent is UNSET:
            raise InvalidInput(f"{name} cannot be emptied through a server; give it a value.")
        told = _told(one, value)
        if verb.in_query and told.get(name) == []:
            raise InvalidInput(f"{name} is empty, which a query cannot say; leave out the call.")
        data |= told
    return data


def _told(one: Parameter, value: Any) -> dict[str, Json]:
    """A value as a field of the request."""
    name = one.name
    if any(get_origin(each) is tuple for each in _parts(one.kind)):
        return _list(name, value, alone=len(_parts(one.given)) > 1)
    if date in _parts(one.given) and isinstance(value, datetime):
        return {name: validation.moment_of(name, value).date().isoformat()}
    if name == "id":  # what is no id at all is simply not there
        return {name: str(value.memory.id if isinstance(value, Hit) else value)}
    return {name: verbatim(name, value) if name in VERBATIM else data_of(name, value)}


def _list(name: str, value: object, *, alone: bool) -> dict[str, Json]:
    """A list as data; where the verb takes one thing alone too, that is a list of one."""
    if alone and value is None:
        return {}
    if alone and (isinstance(value, str | Mapping) or not isinstance(value, Iterable)):
        value = [value]
    items = validation.several(name, value)
    if name == "memories":
        items = [{"text": item} if isinstance(item, str) else item for item in items]
    return {name: data_of(name, items)}


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def data_of(what: str, value: object, depth: int = 0) -> Json:
    """The value as JSON data, or `InvalidInput`."""
    if depth > DEEPEST:
        raise InvalidInput(f"{what} is nested deeper than {DEEPEST} levels.")
    match value:
        case Enum():
            return plain(value)
        case None | bool() | int():
            return value
        case float():
            return _finite(what, value)
        case str():
            return str.__str__(value)
        case datetime():
            return validation.moment_of(what, value).isoformat()
        case date() | Path() | UUID():
            return str(value)
        case Mapping():
            return {_text_key(what, key): _item(key, item, depth) for key, item in value.items()}
        case Iterable() if not isinstance(value, bytes | bytearray | memoryview):
            return [data_of(f"{what}[{n}]", item, depth + 1) for n, item in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        return plain(value)
    raise InvalidInput(f"{what} is a {type(value).__name__}, which cannot be sent to a server.")


def verbatim(what: str, value: object) -> Json:
    """A value that is kept as it is given: `InvalidInput` where it is no JSON."""
    copied: Json = validation.json_of(what, value)
    return copied


def _item(key: str, value: object, depth: int) -> Json:
    return verbatim(key, value) if key == "metadata" else data_of(key, value, depth + 1)


def _text_key(what: str, key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"A key of {what} must be text, not {type(key).__name__}.")
    return str.__str__(key)


def _finite(what: str, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInput(f"{what} is {value!r}; only finite numbers can be sent.")
    return value

"""A call of a verb, bound by the verb's own signature, as the request of its operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from remanence.client.values import VERBATIM, data_of, verbatim
from remanence.errors import InvalidInput
from remanence.model import accept
from remanence.model.hit import Hit
from remanence.model.memory import Json
from remanence.operations.operation import Operation
from remanence.operations.reading import Misfit, read
from remanence.operations.routes import asked_of
from remanence.ports.store import Progress

Verb = Callable[..., Any]


class Otherwise(Enum):
    """What to give for something that is not there."""

    RAISE = "no default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What to ask of a server: the fields of a request that were given, as JSON data.

    `progress` hears how far a long run is. `default` is the answer where the server has none.
    """

    operation: Operation
    verb: Verb
    data: Mapping[str, Json]
    progress: Progress | None = None
    default: Any = Otherwise.RAISE

    @property
    def repeatable(self) -> bool:
        """Whether asking twice does no more than asking once.

        A write's key sees to that, but a server keeps no answer of what erases, nor of a stream.
        """
        kept = not self.operation.destructive and self.progress is None
        return kept or not self.operation.writes


def call_of(
    operation: Operation, verb: Verb, args: tuple[Any, ...], named: Mapping[str, Any]
) -> Call:
    """Bind the arguments and check their shape; what their values may be, the server says."""
    given = _bound(operation, verb, args, named)
    progress = given.pop("progress", None)
    default = given.pop("default", Otherwise.RAISE)
    if "hit_or_id" in given:
        named_by = given.pop("hit_or_id")
        given["id"] = named_by.memory.id if isinstance(named_by, Hit) else named_by
    data = _data(operation, verb, given)
    _check_shape(operation.request, data)
    return Call(operation=operation, verb=verb, data=data, progress=progress, default=default)


def _check_shape(kind: type, data: Mapping[str, Json]) -> None:
    try:
        request: Any = read(kind, data)
    except Misfit as error:
        raise InvalidInput(str(error)) from error
    for name, value in data.items():
        if isinstance(value, float) and isinstance(getattr(request, name), int):
            raise InvalidInput(f"{name} must be a whole number; got {value!r}.")


def _bound(
    operation: Operation, verb: Verb, args: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    signature = inspect.signature(verb)
    try:
        bound = dict(signature.bind(None, *args, **named).arguments)
    except TypeError as error:
        raise TypeError(f"{operation.name}() {error}") from None
    bound.pop("self")
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            bound |= _known(operation, bound.pop(parameter.name, {}))
    return bound


def _known(operation: Operation, named: Mapping[str, Any]) -> Mapping[str, Any]:
    known = {each.name for each in fields(operation.request)}
    for name, value in named.items():
        if name not in known:
            raise InvalidInput(f"{operation.name} has no argument {name!r}.")
        if value is None and operation.name == "update":
            raise InvalidInput(f"{name} cannot be emptied through a server; give it a value.")
    return named


def _data(operation: Operation, verb: Verb, given: Mapping[str, Any]) -> dict[str, Json]:
    taken, lists = asked_of(operation), _lists(operation.request)
    data: dict[str, Json] = {}
    for name, value in given.items():
        if name not in taken:
            _refuse(name, value)
        elif name in lists:
            data |= _list(name, value, alone=name not in _only_lists(verb))
        elif name in _days(verb) and isinstance(value, datetime):
            data[name] = accept.moment_of(name, value).date().isoformat()
        elif name == "id":
            data[name] = str(value)  # what is no id at all is simply not there
        else:
            data[name] = verbatim(name, value) if name in VERBATIM else data_of(name, value)
    return data


def _refuse(name: str, value: object) -> None:
    if value is not None:
        raise InvalidInput(
            f"{name} cannot be sent to a server; leave it out, or open the memory where it is."
        )


def _list(name: str, value: object, *, alone: bool) -> dict[str, Json]:
    """A list as data; where the verb takes one thing alone too, that is a list of one."""
    if alone and value is None:
        return {}
    if alone and (isinstance(value, str | Mapping) or not isinstance(value, Iterable)):
        value = [value]
    items = accept.several(name, value)
    if name == "memories":
        items = [{"text": item} if isinstance(item, str) else item for item in items]
    return {name: data_of(name, items)}


@cache
def _lists(request: type) -> frozenset[str]:
    """The fields of a request that are lists."""
    hints = get_type_hints(request)
    return frozenset(name for name, kind in hints.items() if any(map(_is_list, _parts(kind))))


@cache
def _days(verb: Verb) -> frozenset[str]:
    """The parameters of a verb that are a day, which may be given as a moment of it."""
    hints = get_type_hints(verb)
    return frozenset(name for name, kind in hints.items() if date in _parts(kind))


@cache
def _only_lists(verb: Verb) -> frozenset[str]:
    """The parameters of a verb that take nothing but one thing; of lists, those that are one."""
    hints = get_type_hints(verb)
    return frozenset(name for name, kind in hints.items() if len(_parts(kind)) == 1)


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)

"""JSON data as the values it stands for, and values as JSON: times in ISO 8601, enums as text."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, ForwardRef, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from remanence.model.memory import Json

T = TypeVar("T")
EXACT = 2**53 - 1  # beyond it, two whole numbers of JSON may be one
_NAMES: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    datetime: "a time such as 2026-05-01T09:30:00Z",
    date: "a day such as 2026-05-01",
    dict: "an object",
    tuple: "a list",
    type(None): "null",
}


class Misfit(ValueError):
    """The data is not of the shape that was asked for."""


def read(kind: type[T], data: Any, *, where: str = "") -> T:
    """The value of this type that the data stands for.

    `Misfit` if the data is of another shape, lacks a field that has no default or holds one that
    is unknown. What the values themselves may be, their types check: `InvalidInput`.
    """
    wanted: Any = kind
    return reader(wanted)(data, where)  # type: ignore[no-any-return]


@cache
def reader(kind: Any) -> Callable[[Any, str], Any]:
    """What reads data of a type; made once for each."""
    if kind is Any or isinstance(kind, ForwardRef | TypeVar):
        return lambda data, where: data
    if is_dataclass(kind) and isinstance(kind, type):
        return _of_dataclass(kind)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _of_union(get_args(kind))
    if origin is not None:
        return _of_container(origin, get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _of_enum(kind)
    return _PLAIN[kind]


def _of_dataclass(kind: type) -> Callable[[Any, str], Any]:
    slots: dict[str, tuple[Callable[[Any, str], Any], bool]] = {}

    def told(data: Any, where: str) -> Any:
        if not slots:  # a type may hold itself, so its fields are looked at late
            hints = get_type_hints(kind)
            for each in (each for each in fields(kind) if each.init):
                needed = each.default is MISSING and each.default_factory is MISSING
                slots[each.name] = (reader(hints[each.name]), needed)
        given = _object(data, where)
        known = {each.name for each in fields(kind) if not each.init}
        for name in given:
            if name not in slots and name not in known:
                raise Misfit(f"{_at(where, name)} is unknown; there are {', '.join(slots)}.")
        for name, (_, needed) in slots.items():
            if needed and name not in given:
                raise Misfit(f"{_at(where, name)} is missing.")
        values = {
            name: slots[name][0](value, _at(where, name))
            for name, value in given.items()
            if name in slots
        }
        return kind(**values)

    return told


def _of_union(kinds: tuple[Any, ...]) -> Callable[[Any, str], Any]:
    readers = [reader(each) for each in kinds]
    verbatim = {bool, int, float} <= set(kinds)  # any JSON value: its numbers stay as they are

    def told(data: Any, where: str) -> Any:
        if data is None and type(None) in kinds:
            return None
        if verbatim and isinstance(data, int | float):
            return data
        refused: Misfit | None = None
        for read_one, each in zip(readers, kinds, strict=True):
            if each is type(None):
                continue
            try:
                return read_one(data, where)
            except Misfit as error:
                refused = refused or error
        assert refused is not None
        raise refused

    return told


def _of_container(origin: Any, args: tuple[Any, ...]) -> Callable[[Any, str], Any]:
    if origin in (tuple, list, frozenset):
        if origin is tuple and Ellipsis not in args:
            return _of_fixed([reader(each) for each in args])
        item = reader(args[0])

        def told(data: Any, where: str) -> Any:
            return origin(item(one, f"{where}[{n}]") for n, one in enumerate(_list(data, where)))

        return told
    key, value = (reader(each) for each in args)
    return lambda data, where: {
        key(name, where): value(one, _at(where, str(name)))
        for name, one in _object(data, where).items()
    }


def _of_fixed(items: list[Callable[[Any, str], Any]]) -> Callable[[Any, str], Any]:
    def told(data: Any, where: str) -> Any:
        given = _list(data, where)
        if len(given) != len(items):
            raise Misfit(f"{where or 'The list'} must have {len(items)} items.")
        pairs = enumerate(zip(items, given, strict=True))
        return tuple(item(one, f"{where}[{n}]") for n, (item, one) in pairs)

    return told


def _of_enum(kind: type[Enum]) -> Callable[[Any, str], Any]:
    known = {str(one.value): one for one in kind}

    def told(data: Any, where: str) -> Any:
        if not isinstance(data, str) or data not in known:
            raise Misfit(f"{where or 'The value'} must be one of {', '.join(known)}.")
        return known[data]

    return told


def _plain(kind: type, *also: type) -> Callable[[Any, str], Any]:
    def told(data: Any, where: str) -> Any:
        if isinstance(data, bool) and kind is not bool:
            raise _misfit(kind, where)
        if not isinstance(data, (kind, *also)):
            raise _misfit(kind, where)
        try:
            return kind(data)
        except OverflowError:  # a whole number beyond all others
            raise _misfit(kind, where) from None

    return told


def _whole(data: Any, where: str) -> int:
    if isinstance(data, float) and data.is_integer():
        data = int(data)  # JSON knows one kind of number
    found: int = _plain(int)(data, where)
    if abs(found) > EXACT:
        raise Misfit(f"{where or 'The value'} is larger than JSON's numbers are exact.")
    return found


def _moment(kind: type[datetime] | type[date]) -> Callable[[Any, str], Any]:
    def told(data: Any, where: str) -> Any:
        if not isinstance(data, str):
            raise _misfit(kind, where)
        try:
            found = kind.fromisoformat(data)
        except ValueError as error:
            raise _misfit(kind, where) from error
        if isinstance(found, datetime) and found.tzinfo is None:
            raise Misfit(f"{where or 'The time'} lacks a time zone; add one, such as Z.")
        return found

    return told


def _nothing(data: Any, where: str) -> None:
    if data is not None:
        raise _misfit(type(None), where)


def _object(data: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise _misfit(dict, where)
    return data


def _list(data: Any, where: str) -> list[Any]:
    if not isinstance(data, list | tuple):
        raise _misfit(tuple, where)
    return list(data)


def _misfit(kind: type, where: str) -> Misfit:
    return Misfit(f"{where or 'The value'} must be {_NAMES.get(kind, kind.__name__)}.")


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


_PLAIN: Mapping[Any, Callable[[Any, str], Any]] = {
    str: _plain(str),
    int: _whole,
    float: _plain(float, int),
    bool: _plain(bool),
    datetime: _moment(datetime),
    date: _moment(date),
    Path: lambda data, where: Path(_plain(str)(data, where)),
    dict: _object,
    type(None): _nothing,
    object: lambda data, where: data,
}


def plain(value: Any) -> Json:
    """The value as JSON data, as whoever reads the bytes has it."""
    data: Json = msgspec.json.decode(encoded(value))
    return data


def encoded(value: Any) -> bytes:
    """The value as the bytes of its JSON; numbers that JSON cannot tell are null."""
    return _ENCODER.encode(value)


def dumped(value: Any) -> str:
    """The value as JSON on one line."""
    return encoded(value).decode()


def _other(value: Any) -> Any:
    match value:
        case Mapping():
            return dict(value)
        case Path():
            return str(value)
        case Iterable():
            return list(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")


_ENCODER = msgspec.json.Encoder(enc_hook=_other)

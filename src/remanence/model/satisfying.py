"""What a filter means, in plain Python: stores answer the same, and so does the past."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import ge, gt, le, lt
from typing import Any

from remanence.model.filter import Both, Compare, Contains, Either, Filter, Not
from remanence.model.memory import MemoryRecord

_ORDER: dict[str, Callable[[Any, Any], bool]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}


def satisfies(record: MemoryRecord, where: Filter | None) -> bool:
    """Whether a record belongs to the answer.

    A list equals each of its elements; `ne` and `not_in` hold also where nothing is; null is the
    same as nothing; numbers compare with numbers and texts with texts; a boolean is 0 or 1.
    """
    match where:
        case None:
            return True
        case Both(parts):
            return all(satisfies(record, part) for part in parts)
        case Either(parts):
            return any(satisfies(record, part) for part in parts)
        case Not(part):
            return not satisfies(record, part)
        case Contains(text, wanted):
            return (text.casefold() in record.text.casefold()) == wanted
        case Compare(field=True):
            value = getattr(record, where.name)
            return _compares([] if value is None else [value], value is not None, where)
        case Compare():
            found = list(_at(record.metadata, where.name))
            scalars = [value for value in found if not isinstance(value, list | dict)]
            return _compares(scalars, bool(found), where)


def _compares(values: list[Any], there: bool, where: Compare) -> bool:
    match where.operator:
        case "eq":
            return _equals(values, there, where.value)
        case "ne":
            return not _equals(values, there, where.value)
        case "in":
            return any(_equals(values, there, one) for one in _many(where.value))
        case "not_in":
            return not any(_equals(values, there, one) for one in _many(where.value))
        case "exists":
            return there == where.value
    compare = _ORDER[where.operator]
    return any(_alike(value, where.value) and compare(value, where.value) for value in values)


def _many(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _equals(values: list[Any], there: bool, wanted: Any) -> bool:
    return not there if wanted is None else wanted in values


def _alike(one: Any, other: Any) -> bool:
    return isinstance(one, str) == isinstance(other, str)


def _at(value: Any, path: str) -> Iterator[Any]:
    """Everything that stands at a dotted path; null is left out, lists are opened."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == path:
                yield from _opened(inner)
            elif path.startswith(f"{key}."):
                yield from _at(inner, path[len(key) + 1 :])
    elif isinstance(value, list | tuple):
        for element in value:
            yield from _at(element, path)


def _opened(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        yield []
        for element in value:
            yield from _opened(element)
    elif value is not None:
        yield value

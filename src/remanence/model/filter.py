"""Filters: a small tree over metadata, fields and text, read from callers; and what it means."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from remanence.errors import InvalidInput
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.validation import moment_of

Scalar: TypeAlias = str | int | float | bool | None

OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in", "exists")
TEXT_OPERATORS = ("contains", "not_contains")
FIELDS = frozenset(
    {
        *("kind", "state", "source", "actor", "origin", "role", "speaker"),
        *("agent_id", "session_id", "external_id", "importance", "trust", "pinned"),
        *("happened_at", "created_at", "updated_at", "uses"),
    }
)
TEXT_FIELDS = frozenset(
    {
        *("source", "actor", "origin", "role", "speaker"),
        *("agent_id", "session_id", "external_id"),
    }
)
NUMBER_FIELDS = frozenset({"importance", "trust", "uses"})
TIME_FIELDS = frozenset({"happened_at", "created_at", "updated_at"})
MAX_DEPTH = 16
MAX_LEAVES = 256

_KEY = re.compile(r"[\w.\- ]{1,128}\Z")
_SPELLINGS = {"=": "eq", "==": "eq", "!=": "ne", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_SPELLINGS |= {"nin": "not_in", "not in": "not_in"}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}


@dataclass(frozen=True, slots=True)
class Compare:
    """`name` of the metadata (or of the record, when `field`) compared with `value`."""

    name: str
    operator: str
    value: Scalar | datetime | tuple[Scalar, ...]
    field: bool = False


@dataclass(frozen=True, slots=True)
class Contains:
    """The text holds (or does not hold) these characters, whatever their case."""

    text: str
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Both:
    """Every part holds; with no parts, always true."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part holds; with no parts, never true."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter


Filter: TypeAlias = Compare | Contains | Both | Either | Not

ACTIVE = Compare("state", "eq", State.ACTIVE, field=True)


def happened(since: datetime | None, until: datetime | None) -> tuple[Filter, ...]:
    """It happened from `since` up to before `until`; either may be left open."""
    ends = (("gte", since), ("lt", until))
    return tuple(Compare("happened_at", how, at, field=True) for how, at in ends if at is not None)


def parse_filter(given: Mapping[str, Any] | None) -> Filter | None:
    """Read a filter as callers write it.

    `{"team": "sales"}` · `{"age": {"gte": 18, "lt": 65}}` · `{"or": [{…}, {…}]}` · `{"not": {…}}`
    · `{"text": {"contains": "Lisbon"}}` · `{"field.source": {"in": ["crm", "mail"]}}` for the
    record's own fields. Operators may carry a `$`, so Chroma's and Mongo's spellings work.
    """
    if given is None:
        return None
    return _Reader().read(given, 0)


class _Reader:
    def __init__(self) -> None:
        self._leaves = 0

    def read(self, given: Any, depth: int) -> Filter:
        if not isinstance(given, Mapping):
            raise InvalidInput(f"A filter is a mapping like {{'team': 'sales'}}, not {given!r}.")
        if depth > MAX_DEPTH:
            raise InvalidInput(f"The filter is nested deeper than {MAX_DEPTH} levels.")
        if not given:
            self._count()
        parts = tuple(self._entry(key, value, depth) for key, value in given.items())
        return parts[0] if len(parts) == 1 else Both(parts)

    def _entry(self, key: Any, value: Any, depth: int) -> Filter:
        if not isinstance(key, str):
            raise InvalidInput(f"Filter keys are text, not {key!r}.")
        word = key.removeprefix("$").lower()
        if word in ("and", "or") and isinstance(value, Sequence) and not isinstance(value, str):
            if not value:
                self._count()
            parts = tuple(self.read(part, depth + 1) for part in value)
            return Both(parts) if word == "and" else Either(parts)
        if word == "not" and isinstance(value, Mapping):
            return Not(self.read(value, depth + 1))
        return self._leaf(key, value)

    def _leaf(self, key: str, value: Any) -> Filter:
        if not _KEY.match(key):
            raise InvalidInput(
                f"Filter key {key[:60]!r} is not allowed: use letters, digits, '_', '.', '-'."
            )
        if isinstance(value, Mapping):
            tests = tuple(self._test(key, op, operand) for op, operand in value.items())
            if not tests:
                raise InvalidInput(f"The filter on {key!r} has no operator.")
            return tests[0] if len(tests) == 1 else Both(tests)
        return self._test(key, "eq", value)

    def _count(self) -> None:
        """Every end of the tree counts, so that with the depth the whole tree is bounded."""
        self._leaves += 1
        if self._leaves > MAX_LEAVES:
            raise InvalidInput(f"The filter has more than {MAX_LEAVES} conditions.")

    def _test(self, key: str, operator: Any, operand: Any) -> Filter:
        self._count()
        op = str(operator).removeprefix("$").lower()
        op = _SPELLINGS.get(op, op)
        if key == "text" and op in TEXT_OPERATORS:
            return _contains(op, operand)
        if op not in OPERATORS:
            known = ", ".join(OPERATORS + TEXT_OPERATORS)
            raise InvalidInput(f"Unknown operator {operator!r} on {key!r}; known: {known}.")
        name = key.removeprefix("field.")
        is_field = name != key
        if is_field and name not in FIELDS:
            raise InvalidInput(f"Unknown field {name!r}; known: {', '.join(sorted(FIELDS))}.")
        return Compare(name, op, _operand(name, op, operand, is_field), is_field)


def _contains(op: str, operand: Any) -> Contains:
    if not isinstance(operand, str) or not operand or "\0" in operand:
        raise InvalidInput("contains takes a non-empty text.")
    return Contains(operand, op == "contains")


def _operand(name: str, op: str, value: Any, is_field: bool) -> Any:
    if op in ("in", "not_in"):
        if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
            raise InvalidInput(f"{op} on {name!r} takes a list of values.")
        return tuple(_scalar(name, item, is_field) for item in value)
    if op == "exists":
        if not isinstance(value, bool):
            raise InvalidInput(f"exists on {name!r} takes true or false.")
        return value
    if op in ("gt", "gte", "lt", "lte") and (value is None or isinstance(value, bool)):
        raise InvalidInput(f"{op} on {name!r} takes a number, a text or a datetime.")
    return _scalar(name, value, is_field)


def _scalar(name: str, value: Any, is_field: bool) -> Any:
    if is_field:
        return _field_value(name, value)
    if isinstance(value, datetime):
        return moment_of(name, value).isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"The filter on {name!r} holds {value!r}, which nothing can equal.")
    if value is None or isinstance(value, str | int | float):
        return value
    raise InvalidInput(f"The filter on {name!r} takes text, numbers, booleans; not {value!r}.")


def _field_value(name: str, value: Any) -> Any:
    if name in TIME_FIELDS:
        return moment_of(f"field.{name}", value)
    if name in TEXT_FIELDS and not (value is None or isinstance(value, str)):
        raise InvalidInput(f"field.{name} is compared with a text, not {str(value)[:60]!r}.")
    if name == "pinned" and not isinstance(value, bool):
        raise InvalidInput("field.pinned is true or false.")
    if name in NUMBER_FIELDS and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InvalidInput(f"field.{name} is compared with a number.")
    if name == "kind" and value not in list(Kind):
        raise InvalidInput(f"Unknown kind {value!r}; known: {', '.join(Kind)}.")
    if name == "state" and value not in list(State):
        raise InvalidInput(f"Unknown state {value!r}; known: {', '.join(State)}.")
    return value


def satisfies(record: MemoryRecord, where: Filter | None) -> bool:
    """Whether a record belongs to the answer: stores answer the same, and so does the past.

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

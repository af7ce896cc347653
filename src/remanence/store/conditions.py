"""Filters as SQL conditions, as far as every database does them alike, and metadata as labels.

Names and values are always bound, each at a `?`. No condition is ever NULL, so NOT means *not*.

There is one label (name, value) per scalar, so that filters find it through an index. A nested
mapping is named by its dotted path and every element of a list is a label of its own. A boolean is
the number 0 or 1, null is no label. An empty blob stands for a mapping or for a list without
scalars (it is there, and equals nothing); text longer than `MAX_TEXT` bytes is its digest.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

import orjson

from remanence.errors import InvalidInput
from remanence.model.filter import (
    FIELDS,
    NUMBER_FIELDS,
    TIME_FIELDS,
    Both,
    Compare,
    Contains,
    Either,
    Filter,
    Not,
    Scalar,
)
from remanence.model.scope import Reach
from remanence.store.rows import KIND_CODES, STATE_CODES, micros

Label: TypeAlias = tuple[str, "str | int | float | bytes"]

MAX_TEXT = 256
MAX_NAME = 128
SOMETHING = b""
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}

_WHOLE = 2**63


def labels(metadata: Mapping[str, Any]) -> set[Label]:
    """The labels of a metadata mapping; `InvalidInput` if it holds what JSON cannot."""
    if not metadata:
        return set()
    found = _leaves(None, metadata)
    return {(name, label_value(value)) for name, value in found if len(name) <= MAX_NAME}


def readable_labels(metadata: str) -> set[Label]:
    """The labels of metadata as a row has it; none of metadata that is damaged."""
    try:
        return labels(orjson.loads(metadata))
    except (orjson.JSONDecodeError, InvalidInput, AttributeError):
        return set()


def label_value(value: Any) -> Any:
    """The value as it stands in a label."""
    if isinstance(value, str) and is_long(value):
        return blake2b(value.encode(), digest_size=16).digest()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -_WHOLE <= value < _WHOLE:
        raise InvalidInput(f"{value!r} does not fit in 64 bits; store it as text.")
    return value


def is_long(text: str) -> bool:
    """Whether a text is labelled by its digest."""
    return len(text) * 4 > MAX_TEXT and len(text.encode()) > MAX_TEXT


def any_long_text(metadata: str, name: str, operator: str, value: str) -> bool:
    """Whether a text under `name`, too long for a label, compares so with `value`."""
    compare = COMPARISONS[operator]
    return any(
        compare(found, value)
        for label, found in _leaves(None, orjson.loads(metadata))
        if label == name and isinstance(found, str) and is_long(found)
    )


def _leaves(name: str | None, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        if name is not None:
            yield name, SOMETHING
        for key, inner in value.items():
            yield from _leaves(_joined(name, key), inner)
    elif isinstance(value, list | tuple):
        yield from _elements(name or "", value)
    elif value is not None:
        yield name or "", _scalar(name, value)


def _scalar(name: str | None, value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise InvalidInput(f"metadata {name!r} holds a {type(value).__name__}; use JSON values.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"metadata {name!r} holds {value!r}, which JSON cannot hold.")
    return value


def _elements(name: str, values: list[Any] | tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    if not any(isinstance(value, str | int | float) for value in values):
        yield name, SOMETHING
    for value in values:
        yield from _leaves(name, value)


def _joined(name: str | None, key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"metadata keys are text, not {key!r}.")
    return key if name is None else f"{name}.{key}"


SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
COLUMNS: Mapping[str, str] = {name: f"m.{name}" for name in FIELDS - {"uses"}}

_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": eq, "ne": ne, "gt": gt, "gte": ge, "lt": lt, "lte": le,
    "in": lambda one, many: one in many,
    "not_in": lambda one, many: one not in many,
    "exists": lambda _, wanted: bool(wanted),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition on `memories AS m`, with the values it binds."""

    sql: str
    values: tuple[Any, ...] = ()


ALWAYS, NEVER = Condition("1 = 1"), Condition("1 = 0")


def joined(word: str, parts: Iterable[Condition]) -> Condition:
    """The parts with AND or OR between them."""
    found = list(parts)
    text = f" {word} ".join(f"({part.sql})" for part in found)
    return Condition(text, tuple(value for part in found for value in part.values))


def negated(condition: Condition) -> Condition:
    """What holds where the condition does not."""
    return Condition(f"NOT ({condition.sql})", condition.values)


def narrowing(reach: Reach, table: str, *, trust: bool = True) -> list[Condition]:
    """The agent, session and, of what has one, trust that a read asks for."""
    asked: list[tuple[str, object]] = [
        ("agent_id = ?", reach.agent_id),
        ("session_id = ?", reach.session_id),
        ("trust >= ?", reach.min_trust or None if trust else None),
    ]
    return [Condition(f"{table}.{test}", (one,)) for test, one in asked if one is not None]


class Compiler(ABC):
    """One walk over a filter. A database says how it looks up labels, lists and text."""

    columns: Mapping[str, str]

    @abstractmethod
    def inside(self) -> Condition:
        """The memory is in the partitions that are read."""

    @abstractmethod
    def contains(self, folded: str) -> Condition:
        """The casefolded text holds these characters."""

    @abstractmethod
    def among(self, column: str, values: Sequence[Any]) -> Condition:
        """The column has one of the values; NULL where the column is."""

    @abstractmethod
    def labelled(self, name: str) -> Condition:
        """There is a label of that name."""

    @abstractmethod
    def labelled_any(self, name: str, values: Sequence[Any]) -> Condition:
        """There is a label of that name with one of these values, given as labels have them."""

    @abstractmethod
    def labelled_so(self, name: str, operator: str, value: Any) -> Condition:
        """There is a label of that name, and of the value's type, that compares so with it."""

    def reached(self, reach: Reach, where: Filter | None) -> Condition:
        """What a read may see and wants to see."""
        wanted = [] if where is None else [self.condition(where)]
        return joined("AND", [self.inside(), *narrowing(reach, "m"), *wanted])

    def condition(self, where: Filter) -> Condition:
        """What satisfies the filter."""
        match where:
            case Both(parts):
                return joined("AND", map(self.condition, parts)) if parts else ALWAYS
            case Either(parts):
                return joined("OR", map(self.condition, parts)) if parts else NEVER
            case Not(part):
                return negated(self.condition(part))
            case Contains(text, wanted):
                found = self.contains(text.casefold())
                return found if wanted else negated(found)
            case Compare(field=True):
                return self._field(where)
            case Compare():
                return self._metadata(where)

    def _metadata(self, where: Compare) -> Condition:
        name, value = where.name, where.value
        match where.operator:
            case "eq":
                return self._any_of(name, (value,))
            case "ne":
                return negated(self._any_of(name, (value,)))
            case "in":
                return self._any_of(name, value)
            case "not_in":
                return negated(self._any_of(name, value))
            case "exists":
                there = self.labelled(name)
                return there if value else negated(there)
        return self.labelled_so(name, where.operator, label_of(value))

    def _any_of(self, name: str, values: Any) -> Condition:
        given = [label_value(value) for value in values if value is not None]
        parts = [self.labelled_any(name, given)] if given else []
        if len(given) < len(values):
            parts.append(negated(self.labelled(name)))
        return joined("OR", parts) if parts else NEVER

    def _field(self, where: Compare) -> Condition:
        name, operator, value = where.name, where.operator, where.value
        if name == "kind":
            return _coded("m.kind", KIND_CODES, operator, value)
        if name == "state":
            return _coded("m.state", STATE_CODES, operator, value)
        column = self.columns[name]
        if operator == "exists":
            return Condition(f"{column} IS NOT NULL" if value else f"{column} IS NULL")
        if operator in SIGNS:
            if not _comparable(name, value):
                return NEVER
            return Condition(f"coalesce({column} {SIGNS[operator]} ?, FALSE)", (_stored(value),))
        values = value if isinstance(value, tuple) else (value,)
        return self._one_of(column, [item for item in values if _comparable(name, item)], operator)

    def _one_of(self, column: str, values: Sequence[Any], operator: str) -> Condition:
        given = [_stored(value) for value in values if value is not None]
        found = self.among(column, given) if given else NEVER
        parts = [Condition(f"coalesce({found.sql}, FALSE)", found.values)] if given else []
        if len(given) < len(values):
            parts.append(Condition(f"{column} IS NULL"))
        either = joined("OR", parts) if parts else NEVER
        return negated(either) if operator in ("ne", "not_in") else either


def label_of(value: Any) -> Any:
    """A value to compare labels with; a text stays whole, however long."""
    return value if isinstance(value, str) else label_value(value)


def _coded(column: str, codes: dict[Any, int], operator: str, value: Any) -> Condition:
    test = _TESTS[operator]
    wanted = [code for member, code in codes.items() if test(str(member), value)]
    return Condition(f"{column} IN ({', '.join(map(str, wanted))})") if wanted else NEVER


def _comparable(name: str, value: Scalar | datetime | tuple[Scalar, ...]) -> bool:
    if value is None or name in TIME_FIELDS | NUMBER_FIELDS | {"pinned"}:
        return True
    return isinstance(value, str)


def _stored(value: Any) -> Any:
    if isinstance(value, datetime):
        return micros(value)
    return label_value(value) if isinstance(value, int) else value

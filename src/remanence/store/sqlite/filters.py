"""Filters as SQL conditions; the only place where a statement is put together.

Names and values are always bound. A condition is never NULL, so that NOT means *not*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import eq, ge, gt, le, lt, ne
from typing import Any

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
from remanence.store.labels import label_value
from remanence.store.rows import KIND_CODES, STATE_CODES, micros
from remanence.store.sqlite.statements import sql

_MOST_VALUES = 30_000
_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": eq, "ne": ne, "gt": gt, "gte": ge, "lt": lt, "lte": le,
    "in": lambda one, many: one in many,
    "not_in": lambda one, many: one not in many,
    "exists": lambda _, wanted: bool(wanted),
}  # fmt: skip
_COLUMNS = {name: f"m.{name}" for name in FIELDS - {"uses"}}
_COLUMNS["uses"] = "coalesce((SELECT count FROM uses WHERE memory = m.key), 0)"


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition on `memories AS m`, with the values it binds."""

    sql: str
    values: tuple[Any, ...] = ()


def statement(name: str, condition: Condition) -> str:
    """The named statement with its `{condition}` filled in."""
    return sql(name).replace("{condition}", condition.sql)


def reached(partitions: Sequence[int], reach: Reach, where: Filter | None) -> Condition:
    """What a read of these partitions may see and wants to see."""
    parts = [Condition("m.partition " + _among(partitions), _bound(partitions))]
    if reach.agent_id is not None:
        parts.append(Condition("m.agent_id IS ?", (reach.agent_id,)))
    if reach.session_id is not None:
        parts.append(Condition("m.session_id = ?", (reach.session_id,)))
    return _limited(_joined("AND", [*parts, *_wanted(partitions, where)]))


def within(partition: int, where: Filter) -> Condition:
    """What satisfies the filter in one partition."""
    here = Condition("m.partition = ?", (partition,))
    return _limited(_joined("AND", [here, *_wanted([partition], where)]))


def _wanted(partitions: Sequence[int], where: Filter | None) -> list[Condition]:
    return [] if where is None else [_Compiler(partitions).condition(where)]


def _limited(condition: Condition) -> Condition:
    if len(condition.values) > _MOST_VALUES:
        raise InvalidInput(f"The filter holds more than {_MOST_VALUES} values; ask in parts.")
    return condition


def _among(partitions: Sequence[int]) -> str:
    return "= ?" if len(partitions) == 1 else "IN (SELECT value FROM json_each(?))"


def _bound(partitions: Sequence[int]) -> tuple[int | str]:
    return (partitions[0] if len(partitions) == 1 else orjson.dumps(list(partitions)).decode(),)


def _joined(word: str, parts: Iterable[Condition]) -> Condition:
    found = list(parts)
    text = f" {word} ".join(f"({part.sql})" for part in found)
    return Condition(text, tuple(value for part in found for value in part.values))


def _negated(condition: Condition) -> Condition:
    return Condition(f"NOT ({condition.sql})", condition.values)


_TRUE, _FALSE = Condition("1"), Condition("0")


class _Compiler:
    def __init__(self, partitions: Sequence[int]) -> None:
        self._partitions = partitions

    def condition(self, where: Filter) -> Condition:
        match where:
            case Both(parts):
                return _joined("AND", map(self.condition, parts)) if parts else _TRUE
            case Either(parts):
                return _joined("OR", map(self.condition, parts)) if parts else _FALSE
            case Not(part):
                return _negated(self.condition(part))
            case Contains(text, wanted):
                found = Condition("remanence_contains(m.text, ?)", (text.casefold(),))
                return found if wanted else _negated(found)
            case Compare(field=True):
                return _field(where)
            case Compare():
                return self._metadata(where)

    def _metadata(self, where: Compare) -> Condition:
        name, value = where.name, where.value
        match where.operator:
            case "eq":
                return self._any_of(name, (value,))
            case "ne":
                return _negated(self._any_of(name, (value,)))
            case "in":
                return self._any_of(name, value)
            case "not_in":
                return _negated(self._any_of(name, value))
            case "exists":
                there = self._labelled(name, "1")
                return there if value else _negated(there)
        return self._ordered(name, where.operator, value)

    def _any_of(self, name: str, values: Any) -> Condition:
        given = [label_value(value) for value in values if value is not None]
        marks = ", ".join("?" * len(given))
        parts = [self._labelled(name, f"value IN ({marks})", *given)] if given else []
        if len(given) < len(values):
            parts.append(_negated(self._labelled(name, "1")))
        return _joined("OR", parts) if parts else _FALSE

    def _ordered(self, name: str, operator: str, value: Any) -> Condition:
        sign = _SIGNS[operator]
        if not isinstance(value, str):
            test = f"value {sign} ? AND typeof(value) IN ('integer', 'real')"
            return self._labelled(name, test, label_value(value))
        short = self._labelled(name, f"value {sign} ? AND typeof(value) = 'text'", value)
        long = self._labelled(name, "length(value) = 16 AND typeof(value) = 'blob'")
        call = "remanence_any_long_text(m.metadata, ?, ?, ?)"
        lazily = f"CASE WHEN {long.sql} THEN {call} ELSE 0 END"
        exact = Condition(lazily, (*long.values, name, operator, value))
        return _joined("OR", [short, exact])

    def _labelled(self, name: str, test: str, *values: Any) -> Condition:
        among = _among(self._partitions)
        text = f"SELECT memory FROM labels WHERE partition {among} AND name = ? AND {test}"  # noqa: S608
        return Condition(f"m.key IN ({text})", (*_bound(self._partitions), name, *values))


def _field(where: Compare) -> Condition:
    name, operator, value = where.name, where.operator, where.value
    if name == "kind":
        return _coded("m.kind", KIND_CODES, operator, value)
    if name == "state":
        return _coded("m.state", STATE_CODES, operator, value)
    column = _COLUMNS[name]
    if operator == "exists":
        return Condition(f"({column} IS NOT NULL) = ?", (int(bool(value)),))
    if operator in _SIGNS:
        if not _comparable(name, value):
            return _FALSE
        return Condition(f"coalesce({column} {_SIGNS[operator]} ?, 0)", (_stored(value),))
    values = value if isinstance(value, tuple) else (value,)
    return _one_of(column, [item for item in values if _comparable(name, item)], operator)


def _coded(column: str, codes: dict[Any, int], operator: str, value: Any) -> Condition:
    test = _TESTS[operator]
    wanted = [code for member, code in codes.items() if test(str(member), value)]
    return Condition(f"{column} IN ({', '.join(map(str, wanted))})")


def _one_of(column: str, values: Sequence[Any], operator: str) -> Condition:
    given = [_stored(value) for value in values if value is not None]
    marks = ", ".join("?" * len(given))
    parts = [Condition(f"coalesce({column} IN ({marks}), 0)", tuple(given))] if given else []
    if len(given) < len(values):
        parts.append(Condition(f"{column} IS NULL"))
    found = _joined("OR", parts) if parts else _FALSE
    return _negated(found) if operator in ("ne", "not_in") else found


def _comparable(name: str, value: Scalar | datetime | tuple[Scalar, ...]) -> bool:
    if value is None or name in TIME_FIELDS | NUMBER_FIELDS | {"pinned"}:
        return True
    return isinstance(value, str)


def _stored(value: Any) -> Any:
    if isinstance(value, datetime):
        return micros(value)
    return label_value(value) if isinstance(value, int) else value

"""Filters as SQLite's conditions; with `store.conditions`, where statements are put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from remanence.errors import InvalidInput
from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.conditions import COLUMNS, SIGNS, Compiler, Condition, joined

_MOST_VALUES = 30_000
_USES = "coalesce((SELECT count FROM uses WHERE memory = m.key), 0)"


def reached(partitions: Sequence[int], reach: Reach, where: Filter | None) -> Condition:
    """What a read of these partitions may see and wants to see."""
    return _limited(_SqliteCompiler(partitions).reached(reach, where))


def within(partition: int, where: Filter) -> Condition:
    """What satisfies the filter in one partition."""
    compiler = _SqliteCompiler([partition])
    return _limited(joined("AND", [compiler.inside(), compiler.condition(where)]))


def _limited(condition: Condition) -> Condition:
    if len(condition.values) > _MOST_VALUES:
        raise InvalidInput(f"The filter holds more than {_MOST_VALUES} values; ask in parts.")
    return condition


class _SqliteCompiler(Compiler):
    """Labels are compared by SQLite's own types, text by a function that Python gives it."""

    columns = {**COLUMNS, "uses": _USES}  # noqa: RUF012

    def __init__(self, partitions: Sequence[int]) -> None:
        one = len(partitions) == 1
        self._among = "= ?" if one else "IN (SELECT value FROM json_each(?))"
        self._bound = partitions[0] if one else orjson.dumps(list(partitions)).decode()

    def inside(self) -> Condition:
        return Condition(f"m.partition {self._among}", (self._bound,))

    def contains(self, folded: str) -> Condition:
        return Condition("remanence_contains(m.text, ?)", (folded,))

    def among(self, column: str, values: Sequence[Any]) -> Condition:
        return Condition(f"{column} IN ({_marks(values)})", tuple(values))

    def labelled(self, name: str) -> Condition:
        return self._labelled(name, "1")

    def labelled_any(self, name: str, values: Sequence[Any]) -> Condition:
        return self._labelled(name, f"value IN ({_marks(values)})", *values)

    def labelled_so(self, name: str, operator: str, value: Any) -> Condition:
        sign = SIGNS[operator]
        if not isinstance(value, str):
            test = f"value {sign} ? AND typeof(value) IN ('integer', 'real')"
            return self._labelled(name, test, value)
        short = self._labelled(name, f"value {sign} ? AND typeof(value) = 'text'", value)
        long = self._labelled(name, "length(value) = 16 AND typeof(value) = 'blob'")
        call = "remanence_any_long_text(m.metadata, ?, ?, ?)"
        lazily = f"CASE WHEN {long.sql} THEN {call} ELSE 0 END"
        exact = Condition(lazily, (*long.values, name, operator, value))
        return joined("OR", [short, exact])

    def _labelled(self, name: str, test: str, *values: Any) -> Condition:
        text = f"SELECT memory FROM labels WHERE partition {self._among} AND name = ? AND {test}"  # noqa: S608
        return Condition(f"m.key IN ({text})", (self._bound, name, *values))


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))

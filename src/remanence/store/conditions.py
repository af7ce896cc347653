"""Filters as SQL conditions, as far as every database does them alike.

Names and values are always bound, each at a `?`. No condition is ever NULL, so NOT means *not*.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import eq, ge, gt, le, lt, ne
from typing import Any

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
from remanence.model.memory import State
from remanence.model.scope import Reach
from remanence.store.labels import label_value
from remanence.store.rows import KIND_CODES, STATE_CODES, micros

SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
COLUMNS: Mapping[str, str] = {name: f"m.{name}" for name in FIELDS - {"uses"}}

_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": eq, "ne": ne, "gt": gt, "gte": ge, "lt": lt, "lte": le,
    "in": lambda one, many: one in many,
    "not_in": lambda one, many: one not in many,
    "exists": lambda _, wanted: bool(wanted),
}  # fmt: skip
ACTIVE = Compare("state", "eq", str(State.ACTIVE), field=True)


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

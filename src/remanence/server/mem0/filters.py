"""mem0's filters as parts that our operations can ask: a user each, or everybody.

A user is a room of its own here and no condition on a memory, so what a filter says about users
is worked out first: for each user it names, and for everybody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from remanence.errors import InvalidInput
from remanence.model.filter import MAX_DEPTH
from remanence.server.mem0.dialect import ANY, IDENTITIES, OWN, day_after, moment_of

MOST_USERS = 50  # each is a search of its own
COLUMNS: Mapping[str, str] = {
    "agent_id": "field.agent_id",
    "run_id": "field.session_id",
    "app_id": f"{OWN}.app_id",
    "actor_id": "field.speaker",
    "role": "field.role",
    "created_at": "field.happened_at",
    "timestamp": "field.happened_at",
    "updated_at": "field.updated_at",
    "categories": f"{OWN}.categories",
    "expiration_date": f"{OWN}.expiration_date",
    "keywords": "text",
    "memory": "text",
    "text": "text",
}
TIMES = frozenset({"field.happened_at", "field.updated_at"})
OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "icontains")

Filters: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tree:
    """A filter: by whom is asked about, what is left to ask of the memory, or whether all fit.

    None is a user whom it does not name. One that `chooses` says something of users.
    """

    ask: Callable[[str | None], Filters | bool]
    users: frozenset[str] = frozenset()
    chooses: bool = False


@dataclass(frozen=True, slots=True)
class UserPart:
    """What to ask of one user, or of everybody."""

    user_id: str | None
    filters: Filters | None

    def sight(self) -> dict[str, Any]:
        """As our reading operations take it."""
        if self.user_id is None:
            return {"all_users": True, "filters": self.filters}
        return {"user_id": self.user_id, "filters": self.filters}


@dataclass(frozen=True, slots=True)
class AskedParts:
    """The parts of a question. What everybody is asked, the users are asked as well, and more."""

    users: tuple[UserPart, ...]
    everybody: UserPart | None

    @property
    def parts(self) -> tuple[UserPart, ...]:
        """All of them."""
        return self.users if self.everybody is None else (*self.users, self.everybody)


def asked_of(filters: object, *more: Mapping[str, Any]) -> AskedParts:
    """The parts of a filter and of further conditions, which all must hold.

    One of the identities must be named, so that nobody sees everything for want of a filter.
    """
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInput('filters must be an object such as {"user_id": "alice"}.')
    given = [one for one in (filters, *more) if one]
    tree = _joined("and", [_tree(one, 0) for one in given])
    if not any(_names_somebody(one) for one in given):
        raise InvalidInput(
            "filters must name at least one of user_id, agent_id, app_id and run_id; "
            '{"user_id": "*"} stands for everybody.'
        )
    return _parted(tree)


def _parted(tree: Tree) -> AskedParts:
    named = sorted(tree.users)
    if len(named) > MOST_USERS:
        raise InvalidInput(f"filters name {len(named)} users; at most {MOST_USERS} at once.")
    rest = tree.ask(None)
    everybody = None if rest is False else UserPart(None, None if rest is True else rest)
    users = []
    for name in named:
        own = tree.ask(name)
        if own is not False and own != rest:
            users.append(UserPart(name, None if own is True else own))
    return AskedParts(tuple(users), everybody)


def _leaf(filters: Filters) -> Tree:
    """A condition in our own words."""
    return Tree(lambda name: filters)


def _one_of(names: frozenset[str] | None) -> Tree:
    """One of these users; None for anybody."""
    return Tree(lambda name: names is None or name in names, names or frozenset(), chooses=True)


def _joined(word: str, parts: Iterable[Tree]) -> Tree:
    """All parts hold (`and`), or at least one does (`or`)."""
    several, usual = tuple(parts), word == "and"

    def ask(name: str | None) -> Filters | bool:
        asked = [one.ask(name) for one in several]
        if (not usual) in asked:
            return not usual
        left = [one for one in asked if not isinstance(one, bool)]
        if not left:
            return usual
        return left[0] if len(left) == 1 else {word: left}

    users = frozenset(name for one in several for name in one.users)
    return Tree(ask, users, any(one.chooses for one in several))


def _negated(tree: Tree) -> Tree:
    if tree.chooses:
        raise InvalidInput(
            'A user cannot be left out by a filter; name those wanted: {"user_id": {"in": […]}}.'
        )

    def ask(name: str | None) -> Filters | bool:
        inner = tree.ask(name)
        return not inner if isinstance(inner, bool) else {"not": inner}

    return Tree(ask)


def _names_somebody(given: Any) -> bool:
    if isinstance(given, Mapping):
        return any(
            key in IDENTITIES or (key != "metadata" and _names_somebody(value))
            for key, value in given.items()
        )
    return isinstance(given, list) and any(_names_somebody(one) for one in given)


def _tree(given: Any, depth: int) -> Tree:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"A filter is an object; got {str(given)[:40]!r}.")
    if depth > MAX_DEPTH:
        raise InvalidInput(f"The filter is nested deeper than {MAX_DEPTH} levels.")
    return _joined("and", [_entry(str(key), value, depth) for key, value in given.items()])


def _entry(key: str, value: Any, depth: int) -> Tree:
    word = key.removeprefix("$").upper()
    if word in ("AND", "OR", "NOT") and isinstance(value, list | Mapping):
        several = value if isinstance(value, list) else [value]
        tree = _joined("and" if word == "AND" else "or", [_tree(one, depth + 1) for one in several])
        return _negated(tree) if word == "NOT" else tree
    if key == "user_id":
        return _user(value)
    if key == "metadata" and isinstance(value, Mapping):
        tests = [one for k, v in value.items() for one in _tests(str(k), v)]
    else:
        tests = list(_tests(COLUMNS.get(key, key), value))
    return _joined("and", map(_leaf, tests))


def _user(value: Any) -> Tree:
    tests = value if isinstance(value, Mapping) else {"eq": value}
    found = []
    for operator, operand in tests.items():
        several = operand if isinstance(operand, list) else [operand]
        if operator not in ("eq", "in"):
            raise InvalidInput(f"user_id takes a name or {{'in': […]}}, not {operator!r}.")
        if not all(isinstance(one, str) for one in several):
            raise InvalidInput("user_id must be text.")
        found.append(_one_of(None if ANY in several else frozenset(several)))
    return _joined("and", found)


def _tests(column: str, value: Any) -> Iterator[Filters]:
    if isinstance(value, list):
        value = {"in": value}
    tests = value if isinstance(value, Mapping) else {"eq": value}
    if not tests:
        raise InvalidInput(f"The filter on {column!r} has no operator.")
    for operator, operand in tests.items():
        op = str(operator).removeprefix("$").lower().replace("not_in", "nin")
        if op not in OPERATORS:
            known = ", ".join(OPERATORS)
            raise InvalidInput(f"Unknown operator {str(operator)[:40]!r}; known: {known}.")
        yield _test(column, op, operand)


def _test(column: str, op: str, operand: Any) -> Filters:
    if operand == ANY and op in ("eq", "ne"):
        return {column: {"exists": op == "eq"}}
    if isinstance(operand, list) and ANY in operand and op == "in":
        return {column: {"exists": True}}
    if column == "text":
        return _in_text(op, operand)
    if op in ("contains", "icontains"):
        return _contained(column, operand)
    if column in TIMES:
        return _at(column, op, operand)
    return {column: {"not_in" if op == "nin" else op: operand}}


def _in_text(op: str, operand: Any) -> Filters:
    if op not in ("eq", "contains", "icontains"):
        raise InvalidInput(f"The text takes contains or icontains, not {op!r}.")
    return {"text": {"contains": operand}}


def _contained(column: str, operand: Any) -> Filters:
    """A list of the metadata holds a value, or one of several."""
    if column.startswith("field."):
        raise InvalidInput("contains works on categories, metadata and the text; use eq or in.")
    return {column: {"in": operand} if isinstance(operand, list) else {"eq": operand}}


def _at(column: str, op: str, operand: Any) -> Filters:
    """A comparison of times; a bare day is the whole of it."""
    if op in ("in", "nin"):
        raise InvalidInput("A time takes eq, gt, gte, lt and lte.")
    over = day_after(operand)
    if over is not None and op in ("lte", "gt"):
        return {column: {"lt" if op == "lte" else "gte": over}}
    start = moment_of("A time in filters", operand)
    if over is not None and op == "eq":
        return {column: {"gte": start, "lt": over}}
    return {column: {op: start}}

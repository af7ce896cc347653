"""mem0's deletions: what is deleted is erased, with all that was made of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import orjson

from remanence.errors import InvalidInput
from remanence.model import accept
from remanence.server.mem0.desk import Body, Desk
from remanence.server.mem0.given import ANY, IDENTITIES, OWN, identities_of, listed
from remanence.server.mem0.standing import superseded_in

# Holds for every memory: with it, `forget` leaves blocks and sessions of a scope alone.
EVERY_MEMORY: Mapping[str, Any] = {"field.trust": {"gte": 0}}
LONGEST = 10_000  # characters of filters in a query


def deleted(desk: Desk, id: str, *, linked: bool = False) -> dict[str, Any]:
    """Erase a memory; with `linked`, also the older ones in whose place it stands."""
    record = desk.do("get", id=id)
    ids = [record.id]
    if linked:
        over = superseded_in(desk.reading(), record.user_id)
        ids += [old for old, by in over.items() if by == record.id]
    desk.do("forget", id=tuple(ids), erase=True)
    return {"message": "Memory deleted successfully!"}


def deleted_many(desk: Desk, body: Body) -> dict[str, Any]:
    """Erase memories by their ids, all of them or none."""
    ids = [memory_id_of(one) for one in listed("memories", body.get("memories"))]
    if not ids:
        raise InvalidInput("memories are missing: [{'memory_id': …}].")
    desk.do("forget", id=tuple(dict.fromkeys(ids)), erase=True)
    return {"message": f"Successfully deleted {len(ids)} memories"}


def deleted_all(desk: Desk, query: Mapping[str, Any]) -> dict[str, Any]:
    """Erase every memory of those named; without a name, nothing."""
    named = identities_of(dict(query) | {"filters": _filters_in(query.get("filters"))})
    if not named:
        raise InvalidInput(
            f"Say whose memories to delete: one of {', '.join(IDENTITIES)}; '*' for all four "
            "means everything."
        )
    erased(desk, named)
    return {"message": "Memories deleted successfully!"}


def erased(desk: Desk, named: Mapping[str, str], *, whole: bool = False) -> None:
    """Erase the memories of those named; with `whole`, whatever else they have too."""
    scope: dict[str, Any] = {"agent_id": named.get("agent_id"), "session_id": named.get("run_id")}
    scope = {name: None if value == ANY else value for name, value in scope.items()}
    user = named.get("user_id", ANY)
    scope |= {"all_users": True} if user == ANY else {"user_id": user}
    conditions = [] if all(named.get(name) == ANY for name in IDENTITIES) else _present(named)
    if "app_id" in named and named["app_id"] != ANY:
        conditions.append({f"{OWN}.app_id": named["app_id"]})
    if not conditions and not whole:
        conditions.append(EVERY_MEMORY)
    filters = {"and": conditions} if conditions else None
    desk.do("forget", filters=filters, erase=True, **scope)


def memory_id_of(given: object) -> str:
    """The id in an item of a batch."""
    id = given.get("memory_id", given.get("id")) if isinstance(given, Mapping) else given
    if not isinstance(id, str):
        raise InvalidInput("Each of memories must have a memory_id.")
    return accept.id_of(id)


def _present(named: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Whoever is given as `*` must be there, unless all are: that means everything."""
    columns = {
        "agent_id": "field.agent_id",
        "run_id": "field.session_id",
        "app_id": f"{OWN}.app_id",
    }
    starred = [columns[name] for name in columns if named.get(name) == ANY]
    return [{column: {"exists": True}} for column in starred]


def _filters_in(given: object) -> Any:
    """Filters in a query: JSON, or a Python literal, which is how the client's options come."""
    if given is None or isinstance(given, Mapping):
        return given
    if not isinstance(given, str) or len(given) > LONGEST:
        raise InvalidInput("filters must be a JSON object in a query.")
    try:
        found = orjson.loads(given)
    except orjson.JSONDecodeError:
        found = _literal(given)
    unknown = set(found) - set(IDENTITIES) if isinstance(found, dict) else {"?"}
    if unknown:
        raise InvalidInput(f"filters of a deletion name {', '.join(IDENTITIES)} and nothing else.")
    return found


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise InvalidInput("filters must be a JSON object in a query.") from None

"""What changes in mem0's calls: memories are added, updated, judged and erased."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import orjson

from remanence.errors import InvalidInput, NotFound
from remanence.model import validation
from remanence.model.memory import MemoryRecord, State
from remanence.server.mem0 import dialect
from remanence.server.mem0.dialect import ANY, IDENTITIES, MOST, OWN, Body, Mem0Desk
from remanence.server.mem0.filters import COLUMNS
from remanence.server.mem0.reads import superseded_in

# Holds for every memory: with it, `forget` leaves blocks and sessions of a scope alone.
EVERY_MEMORY: Mapping[str, Any] = {"field.trust": {"gte": 0}}
LONGEST = 10_000  # characters of filters in a query


def deleted(desk: Mem0Desk, id: str, *, linked: bool = False) -> dict[str, Any]:
    """Erase a memory; with `linked`, also the older ones in whose place it stands."""
    record = desk.do("get", id=id)
    ids = [record.id]
    if linked:
        over = superseded_in(desk.reading(), record.user_id)
        ids += [old for old, by in over.items() if by == record.id]
    desk.do("forget", id=tuple(ids), erase=True)
    return {"message": "Memory deleted successfully!"}


def deleted_many(desk: Mem0Desk, body: Body) -> dict[str, Any]:
    """Erase memories by their ids, all of them or none."""
    ids = [memory_id_of(one) for one in dialect.listed("memories", body.get("memories"))]
    if not ids:
        raise InvalidInput("memories are missing: [{'memory_id': …}].")
    desk.do("forget", id=tuple(dict.fromkeys(ids)), erase=True)
    return {"message": f"Successfully deleted {len(ids)} memories"}


def deleted_all(desk: Mem0Desk, query: Mapping[str, Any]) -> dict[str, Any]:
    """Erase every memory of those named; without a name, nothing."""
    named = dialect.identities_of(dict(query) | {"filters": _filters_in(query.get("filters"))})
    if not named:
        raise InvalidInput(
            f"Say whose memories to delete: one of {', '.join(IDENTITIES)}; '*' for all four "
            "means everything."
        )
    erased(desk, named)
    return {"message": "Memories deleted successfully!"}


def erased(desk: Mem0Desk, named: Mapping[str, str], *, whole: bool = False) -> None:
    """Erase the memories of those named; with `whole`, whatever else they have too."""
    scope: dict[str, Any] = {"agent_id": named.get("agent_id"), "session_id": named.get("run_id")}
    scope = {name: None if value == ANY else value for name, value in scope.items()}
    user = named.get("user_id", ANY)
    scope |= {"all_users": True} if user == ANY else {"user_id": user}
    conditions = [] if all(named.get(name) == ANY for name in IDENTITIES) else _present(named)
    if "app_id" in named and named["app_id"] != ANY:
        conditions.append({COLUMNS["app_id"]: named["app_id"]})
    if not conditions and not whole:
        conditions.append(EVERY_MEMORY)
    filters = {"and": conditions} if conditions else None
    desk.do("forget", filters=filters, erase=True, **scope)


def memory_id_of(given: object) -> str:
    """The id in an item of a batch."""
    id = given.get("memory_id", given.get("id")) if isinstance(given, Mapping) else given
    if not isinstance(id, str):
        raise InvalidInput("Each of memories must have a memory_id.")
    return validation.id_of(id)


def _present(named: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Whoever is given as `*` must be there, unless all are: that means everything."""
    starred = [name for name in ("agent_id", "run_id", "app_id") if named.get(name) == ANY]
    return [{COLUMNS[name]: {"exists": True}} for name in starred]


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


# The event of an `add` in which there was nothing to keep; every such one is the same.
NOTHING = "00000000-0000-0000-0000-000000000000"
TICK = timedelta(microseconds=1)
UNSAID = ("system", "developer")  # instructions to a model are no memories
ORIGIN = "origin"  # the event; a name, so that no redaction takes a part of it for a number
EVENT = f"{OWN}.{ORIGIN}"


def added(desk: Mem0Desk, body: Body) -> dict[str, Any]:
    """Store messages. It is done when this returns; `event` tells what came of it."""
    infer = dialect.truth_of("infer", body.get("infer"))
    event, records = stored(desk, body)
    if infer is not False:
        return {"message": "Stored.", "status": "PENDING", "event_id": event}
    results = [dialect.added_of(one) for one in records]
    return {"message": "Stored.", "status": "SUCCEEDED", "event_id": event, "results": results}


def stored(desk: Mem0Desk, body: Body) -> tuple[str, Sequence[MemoryRecord]]:
    """The event's id, and the memories that the messages became."""
    named = dialect.identities_of(body)
    if not named:
        raise InvalidInput(f"Say whose memory it is: one of {', '.join(IDENTITIES)}.")
    event = str(uuid4())
    own = {
        "app_id": named.get("app_id"),
        "categories": dialect.categories_of(body.get("categories")),
        "expiration_date": dialect.day_of("expiration_date", body.get("expiration_date")),
        "immutable": dialect.truth_of("immutable", body.get("immutable")),
        ORIGIN: event,
    }
    metadata = dialect.metadata_with(body.get("metadata"), own)
    at = body.get("timestamp")
    start = None if at is None else dialect.moment_of("timestamp", at)
    messages = [
        _message(one, number, metadata, start)
        for number, one in enumerate(messages_of(body.get("messages")))
    ]
    wanted = tuple(one for one in messages if one is not None)
    if not wanted:
        return NOTHING, ()
    records = desk.do("add_messages", messages=wanted, **dialect.place_of(body)).memories
    return (event, records) if records else (NOTHING, ())


def event(desk: Mem0Desk, id: str) -> dict[str, Any]:
    """What one call of `add` stored, as long as any of it is there."""
    if id == NOTHING:
        return dialect.event_of(id, ())
    found = desk.do("find", all_users=True, filters={EVENT: id}, limit=MOST, newest_first=False)
    if not found.memories:
        raise NotFound(f"There is no event {id[:64]!r} here.")
    return dialect.event_of(id, found.memories)


def events(desk: Mem0Desk) -> dict[str, Any]:
    """The events of the memories that happened last."""
    found = desk.do("find", all_users=True, filters={EVENT: {"exists": True}}, limit=100)
    by_event: dict[str, list[MemoryRecord]] = {}
    for record in found.memories:
        if event := dialect.own_of(record).get(ORIGIN):
            by_event.setdefault(event, []).insert(0, record)
    return dialect.only_page([dialect.event_of(*each) for each in by_event.items()])


def messages_of(given: object) -> list[Any]:
    """The messages of an `add`: a list, one of them, or a bare text."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if isinstance(given, Mapping):
        return [given]
    if given is None:
        raise InvalidInput('messages are missing: [{"role": "user", "content": "…"}].')
    return dialect.listed("messages", given)


def _message(
    given: object, number: int, metadata: Mapping[str, Any], start: datetime | None
) -> dict[str, Any] | None:
    """A message as ours are; fields that mem0 does not store either are passed over."""
    if isinstance(given, str):
        given = {"role": "user", "content": given}
    if not isinstance(given, Mapping):
        raise InvalidInput(f"messages[{number}] must be an object with role and content.")
    if given.get("role") in UNSAID:
        return None
    content = given.get("content")  # none in a bare tool call, which says nothing
    said = [content] if isinstance(content, Mapping) else content
    kept = {name: given[name] for name in ("role", "name") if given.get(name) is not None}
    if start is not None:
        kept["at"] = start + number * TICK
    return kept | {"content": [] if said is None else said, "metadata": metadata}


FEEDBACK: Mapping[str, bool] = {"POSITIVE": True, "NEGATIVE": False, "VERY_NEGATIVE": False}
CHANGEABLE = ("text", "data", "memory", "metadata", "timestamp", "expiration_date", "categories")


def updated(desk: Mem0Desk, id: str, body: Body) -> dialect.Told:
    """Change a memory; its old text stays in its history."""
    record = desk.do("get", id=id)
    return dialect.memory_of(desk.do("update", id=record.id, **_changes(record, body)))


def updated_many(desk: Mem0Desk, body: Body) -> dict[str, Any]:
    """Change memories one by one. None is changed if one of them is not there."""
    given = dialect.listed("memories", body.get("memories"))
    pairs = [(desk.do("get", id=memory_id_of(one)), one) for one in given]
    changes = [(record, _changes(record, one)) for record, one in pairs]
    for record, change in changes:
        desk.do("update", id=record.id, **change)
    return {"message": f"Successfully updated {len(pairs)} memories"}


def judged(desk: Mem0Desk, body: Body) -> dict[str, Any]:
    """Keep whether a memory helped; feedback that is null is only answered."""
    given, id = body.get("feedback"), memory_id_of(body)
    if given is not None and (not isinstance(given, str) or given.upper() not in FEEDBACK):
        raise InvalidInput(f"feedback must be one of {', '.join(FEEDBACK)}.")
    record = desk.do("get", id=id)
    if given is not None:
        desk.do("feedback", id=record.id, useful=FEEDBACK[given.upper()])
    return {"message": "Feedback recorded.", "id": record.id, "feedback": given}


def _changes(record: MemoryRecord, body: Body) -> dict[str, Any]:
    """What an update changes, as our operation says it."""
    own = dialect.own_of(record)
    if own.get("immutable"):
        raise InvalidInput("This memory is immutable; delete it and add another.")
    if not any(name in body for name in CHANGEABLE):
        raise InvalidInput("Say what to change: text, metadata, timestamp or expiration_date.")
    changes: dict[str, Any] = {}
    text = body.get("text", body.get("data", body.get("memory")))
    if text is not None:
        changes["text"] = text
    if body.get("timestamp") is not None:
        changes["happened_at"] = dialect.moment_of("timestamp", body["timestamp"])
    if {"metadata", "expiration_date", "categories"} & body.keys():
        changes["metadata"] = _metadata(record, own, body)
    return changes


def _metadata(record: MemoryRecord, own: Mapping[str, Any], body: Body) -> dict[str, Any]:
    theirs = {name: value for name, value in record.metadata.items() if name != OWN}
    kept = dict(own)
    if "expiration_date" in body:
        kept["expiration_date"] = dialect.day_of("expiration_date", body["expiration_date"])
    if body.get("categories") is not None:
        kept["categories"] = dialect.categories_of(body["categories"])
    given = body.get("metadata")
    return dialect.metadata_with(theirs if given is None else given, kept)


TYPES: Mapping[str, str] = {name.removesuffix("_id"): name for name in IDENTITIES}


@dataclass(slots=True)
class _Seen:
    first: datetime
    last: datetime
    count: int = 0


def entities(desk: Mem0Desk) -> dict[str, Any]:
    """Users, agents, apps and runs with their counts. Every memory is read for it."""
    memory, found = desk.reading(), dict[tuple[str, str], _Seen]()
    for _, record in memory.parts.store.archive.scan(memory.tenant):
        if record.state is State.ACTIVE:
            for named in _named(record):
                seen = found.setdefault(named, _Seen(record.created_at, record.updated_at))
                seen.first = min(seen.first, record.created_at)
                seen.last = max(seen.last, record.updated_at)
                seen.count += 1
    order = list(TYPES)
    ranked = sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
    return dialect.only_page([_told(*named, seen) for named, seen in ranked])


def removed(desk: Mem0Desk, type: str, name: str) -> dict[str, Any]:
    """Erase an entity with all it has. One that is not there, or not any more, is no error:
    the client deletes all that it listed, and a user's end may have been an agent's too."""
    if type not in TYPES:
        raise InvalidInput(f"Unknown type {type[:40]!r}; known: {', '.join(TYPES)}.")
    erased(desk, {TYPES[type]: name}, whole=True)
    return {"message": "Entity deleted successfully!"}


def _named(record: MemoryRecord) -> Iterator[tuple[str, str]]:
    names = {
        "user": record.user_id,
        "agent": record.agent_id,
        "app": dialect.own_of(record).get("app_id"),
        "run": record.session_id,
    }
    return ((type, name) for type, name in names.items() if name)


def _told(type: str, name: str, seen: _Seen) -> dict[str, Any]:
    return {
        "id": name,
        "name": name,
        "type": type,
        "count": seen.count,
        "total_memories": seen.count,
        "created_at": seen.first.isoformat(),
        "updated_at": seen.last.isoformat(),
    }

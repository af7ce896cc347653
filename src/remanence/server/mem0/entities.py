"""mem0's entities: who has memories, and the end of all that one of them has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.memory import MemoryRecord, State
from remanence.server.mem0.deleting import erased
from remanence.server.mem0.desk import Desk
from remanence.server.mem0.given import own_of

TYPES: Mapping[str, str] = {
    "user": "user_id",
    "agent": "agent_id",
    "app": "app_id",
    "run": "run_id",
}


@dataclass(slots=True)
class _Seen:
    first: datetime
    last: datetime
    count: int = 0


def entities(desk: Desk) -> dict[str, Any]:
    """Users, agents, apps and runs with their counts. Every memory is read for it."""
    memory, found = desk.reading(), dict[tuple[str, str], _Seen]()
    for _, record in memory.parts.store.scan(memory.tenant):
        if record.state is State.ACTIVE:
            for named in _named(record):
                seen = found.setdefault(named, _Seen(record.created_at, record.updated_at))
                seen.first = min(seen.first, record.created_at)
                seen.last = max(seen.last, record.updated_at)
                seen.count += 1
    order = list(TYPES)
    ranked = sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
    results = [_told(type, name, seen) for (type, name), seen in ranked]
    return {"count": len(results), "next": None, "previous": None, "results": results}


def removed(desk: Desk, type: str, name: str) -> dict[str, Any]:
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
        "app": own_of(record).get("app_id"),
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

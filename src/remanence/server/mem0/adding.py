"""mem0's `add`: what was said becomes memories, and the facts in them settle among themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from remanence.errors import InvalidInput, NotFound
from remanence.model.memory import MemoryRecord
from remanence.server.mem0 import told
from remanence.server.mem0.desk import Body, Desk
from remanence.server.mem0.given import (
    IDENTITIES,
    MOST,
    OWN,
    categories_of,
    day_of,
    identities_of,
    listed,
    metadata_with,
    moment_of,
    own_of,
    place_of,
    truth_of,
)

# The event of an `add` in which there was nothing to keep; every such one is the same.
NOTHING = "00000000-0000-0000-0000-000000000000"
TICK = timedelta(microseconds=1)
UNSAID = ("system", "developer")  # instructions to a model are no memories
ORIGIN = "origin"  # the event; a name, so that no redaction takes a part of it for a number
EVENT = f"{OWN}.{ORIGIN}"


def added(desk: Desk, body: Body) -> dict[str, Any]:
    """Store messages. It is done when this returns; `event` tells what came of it."""
    infer = truth_of("infer", body.get("infer"))
    event, records = stored(desk, body)
    if infer is not False:
        return {"message": "Stored.", "status": "PENDING", "event_id": event}
    results = [told.added_of(one) for one in records]
    return {"message": "Stored.", "status": "SUCCEEDED", "event_id": event, "results": results}


def stored(desk: Desk, body: Body) -> tuple[str, Sequence[MemoryRecord]]:
    """The event's id, and the memories that the messages became."""
    named = identities_of(body)
    if not named:
        raise InvalidInput(f"Say whose memory it is: one of {', '.join(IDENTITIES)}.")
    event = str(uuid4())
    own = {
        "app_id": named.get("app_id"),
        "categories": categories_of(body.get("categories")),
        "expiration_date": day_of("expiration_date", body.get("expiration_date")),
        "immutable": truth_of("immutable", body.get("immutable")),
        ORIGIN: event,
    }
    metadata = metadata_with(body.get("metadata"), own)
    at = body.get("timestamp")
    start = None if at is None else moment_of("timestamp", at)
    messages = [
        _message(one, number, metadata, start)
        for number, one in enumerate(messages_of(body.get("messages")))
    ]
    wanted = tuple(one for one in messages if one is not None)
    if not wanted:
        return NOTHING, ()
    records = desk.do("add_messages", messages=wanted, **place_of(body)).memories
    return (event, records) if records else (NOTHING, ())


def event(desk: Desk, id: str) -> dict[str, Any]:
    """What one call of `add` stored, as long as any of it is there."""
    if id == NOTHING:
        return told.event_of(id, ())
    found = desk.do("find", all_users=True, filters={EVENT: id}, limit=MOST, newest_first=False)
    if not found.memories:
        raise NotFound(f"There is no event {id[:64]!r} here.")
    return told.event_of(id, found.memories)


def events(desk: Desk) -> dict[str, Any]:
    """The events of the memories that happened last."""
    found = desk.do("find", all_users=True, filters={EVENT: {"exists": True}}, limit=100)
    by_event: dict[str, list[MemoryRecord]] = {}
    for record in found.memories:
        if event := own_of(record).get(ORIGIN):
            by_event.setdefault(event, []).insert(0, record)
    results = [told.event_of(id, records) for id, records in by_event.items()]
    return {"count": len(results), "next": None, "previous": None, "results": results}


def messages_of(given: object) -> list[Any]:
    """The messages of an `add`: a list, one of them, or a bare text."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if isinstance(given, Mapping):
        return [given]
    if given is None:
        raise InvalidInput('messages are missing: [{"role": "user", "content": "…"}].')
    return listed("messages", given)


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
    content = given.get("content")
    said = [content] if isinstance(content, Mapping) else content
    kept = {name: given[name] for name in ("role", "name") if given.get(name) is not None}
    if start is not None:
        kept["at"] = start + number * TICK
    if said is None:  # a bare tool call says nothing
        said = []
    return kept | {"content": said, "metadata": metadata}

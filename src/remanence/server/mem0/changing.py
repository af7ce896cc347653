"""mem0's changes of what is there: update, one or many, and feedback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.memory import MemoryRecord
from remanence.server.mem0 import told
from remanence.server.mem0.deleting import memory_id_of
from remanence.server.mem0.desk import Body, Desk
from remanence.server.mem0.given import (
    OWN,
    categories_of,
    day_of,
    listed,
    metadata_with,
    moment_of,
    own_of,
)

FEEDBACK: Mapping[str, bool] = {"POSITIVE": True, "NEGATIVE": False, "VERY_NEGATIVE": False}
CHANGEABLE = ("text", "data", "memory", "metadata", "timestamp", "expiration_date", "categories")


def updated(desk: Desk, id: str, body: Body) -> told.Told:
    """Change a memory; its old text stays in its history."""
    record = desk.do("get", id=id)
    return told.memory_of(desk.do("update", id=record.id, **_changes(record, body)))


def updated_many(desk: Desk, body: Body) -> dict[str, Any]:
    """Change memories one by one. None is changed if one of them is not there."""
    given = listed("memories", body.get("memories"))
    pairs = [(desk.do("get", id=memory_id_of(one)), one) for one in given]
    changes = [(record, _changes(record, one)) for record, one in pairs]
    for record, change in changes:
        desk.do("update", id=record.id, **change)
    return {"message": f"Successfully updated {len(pairs)} memories"}


def judged(desk: Desk, body: Body) -> dict[str, Any]:
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
    own = own_of(record)
    if own.get("immutable"):
        raise InvalidInput("This memory is immutable; delete it and add another.")
    if not any(name in body for name in CHANGEABLE):
        raise InvalidInput("Say what to change: text, metadata, timestamp or expiration_date.")
    changes: dict[str, Any] = {}
    text = body.get("text", body.get("data", body.get("memory")))
    if text is not None:
        changes["text"] = text
    if body.get("timestamp") is not None:
        changes["happened_at"] = moment_of("timestamp", body["timestamp"])
    if {"metadata", "expiration_date", "categories"} & body.keys():
        changes["metadata"] = _metadata(record, own, body)
    return changes


def _metadata(record: MemoryRecord, own: Mapping[str, Any], body: Body) -> dict[str, Any]:
    theirs = {name: value for name, value in record.metadata.items() if name != OWN}
    kept = dict(own)
    if "expiration_date" in body:
        kept["expiration_date"] = day_of("expiration_date", body["expiration_date"])
    if body.get("categories") is not None:
        kept["categories"] = categories_of(body["categories"])
    given = body.get("metadata")
    return metadata_with(theirs if given is None else given, kept)

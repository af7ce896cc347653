"""What a memory was earlier: at a version or at a moment, by the history of its changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from remanence.model.memory import MemoryRecord, Revision
from remanence.remember.draft import same

# What a memory is and stays, and what merely counts.
FIXED = {"id", "tenant", "user_id", "created_at", "updated_at", "version", "uses", "used_at"}
COMPARED = tuple(field.name for field in fields(MemoryRecord) if field.name not in FIXED)


def at_version(
    record: MemoryRecord, history: Sequence[Revision], version: int
) -> MemoryRecord | None:
    """The record with the fields it had then; None if it never had that version.

    Each change in the history knows the values it replaced; they are put back, newest first.
    """
    if version > record.version:
        return None
    values: dict[str, Any] = {}
    for revision in sorted(history, key=lambda one: one.version, reverse=True):
        if version < revision.version <= record.version:
            values |= revision.before
    return replace(record, **values, version=version)


def differing(one: MemoryRecord, other: MemoryRecord) -> dict[str, Any]:
    """The fields in which they differ, with the other's values."""
    return {
        name: getattr(other, name)
        for name in COMPARED
        if not same(getattr(one, name), getattr(other, name))
    }


def as_known(
    record: MemoryRecord, history: Sequence[Revision], moment: datetime
) -> MemoryRecord | None:
    """The record with the fields it had at that moment; None if it was not there yet."""
    if record.created_at > moment:
        return None
    known = [revision.version for revision in history if revision.at <= moment]
    then = at_version(record, history, max(known, default=record.version))
    return None if then is None else replace(then, updated_at=min(record.updated_at, moment))

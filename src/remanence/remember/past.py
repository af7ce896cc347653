"""In what a memory differs from what it was."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from remanence.model.memory import MemoryRecord
from remanence.remember.draft import same

# What a memory is and stays, and what merely counts.
FIXED = {"id", "tenant", "user_id", "created_at", "updated_at", "version", "uses", "used_at"}
COMPARED = tuple(field.name for field in fields(MemoryRecord) if field.name not in FIXED)


def differing(one: MemoryRecord, other: MemoryRecord) -> dict[str, Any]:
    """The fields in which they differ, with the other's values."""
    return {
        name: getattr(other, name)
        for name in COMPARED
        if not same(getattr(one, name), getattr(other, name))
    }

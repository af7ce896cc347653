"""From arguments of `add` and `update` to records and changes, and in what two records differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.language.cues import importance
from remanence.memories.messages import Message
from remanence.model import validation
from remanence.model.memory import Kind, MemoryRecord, State, same_json, unit_interval
from remanence.model.scope import Scope

LABELS = ("source", "actor", "origin", "speaker", "role", "external_id")
ADDABLE = frozenset(
    {
        *("text", "user_id", "agent_id", "session_id", "kind", "importance", "happened_at"),
        *("trust", "metadata", "pinned", "quarantined", *LABELS),
    }
)
CHANGEABLE = (ADDABLE - {"user_id", "agent_id", "session_id", "quarantined"}) | {
    *("state", "superseded_by")
}

# What a memory is and stays, and what merely counts.
FIXED = {"id", "tenant", "user_id", "created_at", "updated_at", "version", "uses", "used_at"}
COMPARED = tuple(field.name for field in fields(MemoryRecord) if field.name not in FIXED)


def provenance(actor: str | None, quarantined: bool) -> dict[str, Any]:
    """Who brought something in, where that is said at all: a call without it stays as it was."""
    told: dict[str, Any] = {} if actor is None else {"actor": actor}
    return told if quarantined is False else told | {"quarantined": quarantined}


def record_of(
    fields: Mapping[str, Any], *, tenant: str, id: str, now: datetime, max_text: int
) -> MemoryRecord:
    """A new record from `add`'s arguments; whatever cannot be accepted raises `InvalidInput`."""
    unknown = sorted(map(str, set(fields) - ADDABLE))
    if unknown:
        raise InvalidInput(f"Unknown argument {unknown[0]!r}; known: {', '.join(sorted(ADDABLE))}.")
    text = validation.text_of("text", fields.get("text"), max_text)
    scope = Scope(
        tenant=tenant, **{n: fields.get(n) for n in ("user_id", "agent_id", "session_id")}
    )
    labels: dict[str, Any] = {name: validation.label_of(name, fields.get(name)) for name in LABELS}
    happened = fields.get("happened_at")
    quarantined = validation.truth_of("quarantined", fields.get("quarantined", False))
    return MemoryRecord(
        id=id,
        text=text,
        tenant=tenant,
        state=State.QUARANTINED if quarantined else State.ACTIVE,
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        session_id=scope.session_id,
        kind=Kind.EPISODIC if fields.get("kind") is None else validation.kind_of(fields["kind"]),
        happened_at=now
        if happened is None
        else validation.local_moment_of("happened_at", happened),
        created_at=now,
        updated_at=now,
        importance=_importance(fields.get("importance"), text, labels["role"]),
        pinned=validation.truth_of("pinned", fields.get("pinned", False)),
        trust=unit_interval("trust", fields.get("trust", 1.0)),
        metadata=validation.metadata_of(fields.get("metadata")),
        **labels,
    )


def fields_given(item: object, number: int) -> dict[str, Any]:
    """One of `add_many`'s items as `add`'s arguments: a text alone, or a mapping of them."""
    if isinstance(item, str):
        return {"text": item}
    if not isinstance(item, Mapping):
        raise InvalidInput(f"memories[{number}] must be a text or a mapping of add's arguments.")
    return dict(item)


def changes_of(given: Mapping[str, Any], max_text: int) -> dict[str, Any]:
    """The changes `update` was asked for, checked."""
    unknown = sorted(set(given) - CHANGEABLE)
    if unknown:
        known = ", ".join(sorted(CHANGEABLE))
        raise InvalidInput(f"{unknown[0]!r} cannot be changed; what can: {known}.")
    if not given:
        raise InvalidInput("Say what to change, e.g. update(id, text=…).")
    return {name: _change(name, value, max_text) for name, value in given.items()}


def same(value: Any, other: Any) -> bool:
    """Whether two values of a field are equal as JSON is: 1, 1.0 and true are three things."""
    return same_json(value, other) if isinstance(value, Mapping) else bool(value == other)


def fields_of(message: Message) -> dict[str, Any]:
    """A message as `add`'s arguments."""
    return {
        "text": message.content,
        "kind": Kind.MESSAGE,
        "role": message.role,
        "speaker": message.name,
        "happened_at": message.at,
        "external_id": message.id,
        "metadata": message.metadata,
    }


def _change(name: str, value: Any, max_text: int) -> Any:
    if name in LABELS:
        return validation.label_of(name, value)
    match name:
        case "text":
            return validation.text_of("text", value, max_text)
        case "kind":
            return validation.kind_of(value)
        case "state":
            return validation.state_of(value)
        case "importance" | "trust":
            return unit_interval(name, value)
        case "pinned":
            return validation.truth_of(name, value)
        case "happened_at":
            return validation.local_moment_of(name, value)
        case "metadata":
            return validation.metadata_of(value)
    return None if value is None else validation.id_of(value)


def _importance(given: Any, text: str, role: str | None) -> float:
    return importance(text, role) if given is None else unit_interval("importance", given)


def differing(one: MemoryRecord, other: MemoryRecord) -> dict[str, Any]:
    """The fields in which they differ, with the other's values."""
    return {
        name: getattr(other, name)
        for name in COMPARED
        if not same(getattr(one, name), getattr(other, name))
    }

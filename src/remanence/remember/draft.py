"""From the arguments of `add` and `update` to records and changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.model import accept
from remanence.model.memory import Kind, MemoryRecord, State, same_json, unit_interval
from remanence.model.scope import Scope
from remanence.remember.messages import Message
from remanence.text.cues import importance

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
    text = accept.text_of("text", fields.get("text"), max_text)
    scope = Scope(
        tenant=tenant, **{n: fields.get(n) for n in ("user_id", "agent_id", "session_id")}
    )
    labels = {name: accept.label_of(name, fields.get(name)) for name in LABELS}
    happened = fields.get("happened_at")
    quarantined = accept.truth_of("quarantined", fields.get("quarantined", False))
    return MemoryRecord(
        id=id,
        text=text,
        tenant=tenant,
        state=State.QUARANTINED if quarantined else State.ACTIVE,
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        session_id=scope.session_id,
        kind=Kind.EPISODIC if fields.get("kind") is None else accept.kind_of(fields["kind"]),
        happened_at=now if happened is None else accept.local_moment_of("happened_at", happened),
        created_at=now,
        updated_at=now,
        importance=_importance(fields.get("importance"), text, labels["role"]),
        pinned=accept.truth_of("pinned", fields.get("pinned", False)),
        trust=unit_interval("trust", fields.get("trust", 1.0)),
        metadata=accept.metadata_of(fields.get("metadata")),
        source=labels["source"],
        actor=labels["actor"],
        origin=labels["origin"],
        speaker=labels["speaker"],
        role=labels["role"],
        external_id=labels["external_id"],
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
        return accept.label_of(name, value)
    match name:
        case "text":
            return accept.text_of("text", value, max_text)
        case "kind":
            return accept.kind_of(value)
        case "state":
            return accept.state_of(value)
        case "importance" | "trust":
            return unit_interval(name, value)
        case "pinned":
            return accept.truth_of(name, value)
        case "happened_at":
            return accept.local_moment_of(name, value)
        case "metadata":
            return accept.metadata_of(value)
    return None if value is None else accept.id_of(value)


def _importance(given: Any, text: str, role: str | None) -> float:
    return importance(text, role) if given is None else unit_interval("importance", given)

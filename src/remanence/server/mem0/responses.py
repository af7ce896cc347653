"""Our memories, hits and histories as mem0 tells them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID, uuid5

from remanence.model.hit import Hit
from remanence.model.memory import MemoryRecord, Revision
from remanence.server.mem0.requests import OWN, own_of

Told = dict[str, Any]
# What others than mem0's callers did to it, as far as it is an end.
ENDS = frozenset({"forgot", "faded", "purged"})


def memory_of(record: MemoryRecord) -> Told:
    """A memory. What mem0 calls created is when it happened, as its `timestamp` says."""
    own = own_of(record)
    return {
        "id": record.id,
        "memory": record.text,
        "user_id": record.user_id,
        "agent_id": record.agent_id,
        "app_id": own.get("app_id"),
        "run_id": record.session_id,
        "actor_id": record.speaker,
        "role": record.role,
        "metadata": {name: value for name, value in record.metadata.items() if name != OWN},
        "categories": list(own.get("categories", ())),
        "created_at": record.happened_at.isoformat(),
        "updated_at": record.updated_at.isoformat(),
        "expiration_date": own.get("expiration_date"),
        "immutable": bool(own.get("immutable")),
    }


def hit_of(hit: Hit) -> Told:
    """A memory that was found."""
    return memory_of(hit.memory) | {"score": score_of(hit), "score_breakdown": _breakdown(hit)}


def score_of(hit: Hit) -> float:
    """From 0 to 1. The root, so that thresholds that mem0's users know part hits from the rest:
    on a dozen memories what answers lies above .39 and nearly all else below .3."""
    return round(math.sqrt(hit.relevance), 4)


def added_of(record: MemoryRecord) -> Told:
    """A memory as the result of adding it."""
    return {
        "id": record.id,
        "event": "ADD",
        "memory": record.text,
        "data": {"memory": record.text},
        "user_id": record.user_id,
    }


def only_page(results: list[Told]) -> Told:
    """The one page that there is of a list."""
    return {"count": len(results), "next": None, "previous": None, "results": results}


def event_of(id: str, records: Sequence[MemoryRecord]) -> Told:
    """An event: what one call of `add` stored."""
    times = [one.created_at for one in records]
    return {
        "id": id,
        "event_type": "ADD",
        "status": "SUCCEEDED",
        "latency": None,
        "created_at": min(times).isoformat() if times else None,
        "updated_at": max(times).isoformat() if times else None,
        "results": [added_of(one) for one in records],
    }


def history_of(record: MemoryRecord, revisions: Sequence[Revision]) -> list[Told]:
    """Every change of a memory, oldest first, with the text before and after."""
    text: str | None = record.text
    told: list[Told] = []
    for one in reversed(revisions):
        before = one.before.get("text", text) if one.version > 1 else None
        told.append(_change(record, one, before, text))
        text = before
    return told[::-1]


def is_over(record: MemoryRecord, today: date) -> bool:
    """Whether its day of expiry has passed."""
    last = own_of(record).get("expiration_date")
    return isinstance(last, str) and last < today.isoformat()


def _change(record: MemoryRecord, one: Revision, before: str | None, after: str | None) -> Told:
    event = "ADD" if one.version == 1 else "DELETE" if one.verb in ENDS else "UPDATE"
    return {
        "id": str(uuid5(UUID(record.id), str(one.version))),
        "memory_id": record.id,
        "user_id": record.user_id,
        "old_memory": before,
        "new_memory": None if event == "DELETE" else after,
        "event": event,
        "created_at": record.happened_at.isoformat(),
        "updated_at": one.at.isoformat(),
    }


def _breakdown(hit: Hit) -> Told:
    """The shares of meaning, words and whom it speaks of; what counts against it is 0."""
    shares = {
        "semantic": hit.similarity or 0.0,
        "bm25": hit.signals.get("words", 0.0),
        "entity": hit.signals.get("graph", 0.0),
    }
    return {name: round(min(1.0, max(0.0, value)), 4) for name, value in shares.items()}

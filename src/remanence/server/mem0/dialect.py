"""What mem0's callers send, checked, and our memories, hits and histories as mem0 tells them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from remanence.api.memory import Memory
from remanence.api.verbs.table import verb_of
from remanence.errors import InvalidInput
from remanence.model import validation
from remanence.model.clock import Clock
from remanence.model.hit import Hit
from remanence.model.memory import MemoryRecord, Revision
from remanence.server.access.caller import authorise
from remanence.server.authorization import Desk

# Identities that mem0 knows, and where they are here; an app is a label of the memory.
IDENTITIES = ("user_id", "agent_id", "app_id", "run_id")
# What mem0 keeps with a memory and we do not know: one key of the metadata holds it all.
OWN = "mem0"
ANY = "*"
MOST = 1_000  # results of one call


def place_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Whose memory it is to be, as our operations say it."""
    named = identities_of(body)
    if ANY in named.values():
        raise InvalidInput('"*" stands for everybody when reading; say whose memory to write.')
    return {
        "user_id": named.get("user_id"),
        "agent_id": named.get("agent_id"),
        "session_id": named.get("run_id"),
    }


def identities_of(body: Mapping[str, Any]) -> dict[str, str]:
    """The identities that are given, at the top or, as options do it, in plain `filters`."""
    filters = body.get("filters")
    inner = filters if isinstance(filters, Mapping) else {}
    found = {name: body.get(name, inner.get(name)) for name in IDENTITIES}
    for name, value in found.items():
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{name} must be text, not {type(value).__name__}.")
    return {name: value for name, value in found.items() if value is not None}


def own_of(record: MemoryRecord) -> Mapping[str, Any]:
    """What mem0's callers keep with a memory besides its metadata.

    Other dialects can write anything under that key; what is not of the right kind does not count.
    """
    own = record.metadata.get(OWN)
    if not isinstance(own, Mapping):
        return {}
    return {name: value for name, value in own.items() if _fits(name, value)}


def _fits(name: str, value: Any) -> bool:
    if name == "categories":
        return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    if name == "immutable":
        return isinstance(value, bool)
    return isinstance(value, str)


def metadata_with(given: object, own: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as it is stored: the caller's, and what belongs to mem0 under one key."""
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInput(f"metadata must be an object, not {type(given).__name__}.")
    kept = dict(given or {})
    if OWN in kept:
        raise InvalidInput(f"metadata must not have the key {OWN!r}; the server uses it.")
    filled = {name: value for name, value in own.items() if value not in (None, [], False)}
    return kept | {OWN: filled} if filled else kept


def categories_of(given: object) -> list[str]:
    """Categories: a list of names, or of mem0's {name: description}."""
    if given is None:
        return []
    names: list[str] = []
    for one in validation.several("categories", given):
        names += list(one) if isinstance(one, Mapping) else [one]
    return [validation.text_of("A category", name, validation.MAX_LABEL) for name in names]


def day_of(what: str, given: object) -> str | None:
    """A day, 2026-05-01, from a date or a time."""
    if given is None:
        return None
    if isinstance(given, str):
        try:
            return datetime.fromisoformat(given).date().isoformat()
        except ValueError:
            pass
    raise InvalidInput(f"{what} must be a day such as 2026-05-01; got {str(given)[:40]!r}.")


def moment_of(what: str, given: object) -> datetime:
    """A moment: seconds since 1970, or an ISO 8601 text, in UTC unless it says otherwise."""
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return datetime.fromtimestamp(given, UTC)
        if isinstance(given, str):
            if given.replace(".", "", 1).isdigit() and "-" not in given and len(given) > 8:
                return datetime.fromtimestamp(float(given), UTC)
            found = datetime.fromisoformat(given)
            return validation.moment_of(what, found if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError, OSError) as error:
        if isinstance(error, InvalidInput):
            raise
    raise InvalidInput(
        f"{what} must be seconds since 1970 or a time such as 2026-05-01T09:30:00Z; "
        f"got {str(given)[:40]!r}."
    )


def day_after(given: object) -> datetime | None:
    """The moment a bare day is over; None if it is more than a bare day."""
    if not isinstance(given, str):
        return None
    try:
        day = date.fromisoformat(given)
        return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def number_of(what: str, given: object, usual: int, most: int = MOST) -> int:
    """A whole number from 1 on, from JSON or from a query; the usual one if none is given."""
    if given is None:
        return usual
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 10:
        given = int(given)
    return validation.whole_of(what, given, 1, most)


def share_of(what: str, given: object, usual: float) -> float:
    """A number from 0 to 1."""
    if given is None:
        return usual
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise InvalidInput(f"{what} must be a number from 0 to 1.")
    return float(given)


def truth_of(what: str, given: object) -> bool | None:
    """True, false or nothing; a query says it in words."""
    if given is None or isinstance(given, bool):
        return given
    if isinstance(given, str) and given.lower() in ("true", "false", "1", "0"):
        return given.lower() in ("true", "1")
    raise InvalidInput(f"{what} must be true or false.")


def listed(what: str, given: object) -> list[Any]:
    """The items of a list, not endless."""
    found = validation.several(what, given)
    if len(found) > MOST:
        raise InvalidInput(f"{what} has {len(found):,} items; at most {MOST:,} are taken at once.")
    return found


@dataclass(frozen=True, kw_only=True)
class Mem0Desk(Desk):
    """A caller of mem0's, and the time."""

    clock: Clock

    def reading(self) -> Memory:
        """The caller's memory, for reads that are no operation."""
        authorise(self.caller, verb_of("find"))
        return self.door.memory(self.caller)


Body = Mapping[str, Any]


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

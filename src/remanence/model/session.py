"""A session and the items of its working memory: state with a time to live."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.memory import Json, Metadata, aware
from remanence.model.scope import check_name
from remanence.model.validation import json_of

MAX_DATA = 65_536
MAX_VALUE = 16_384
SHORTEST_TTL_S = 1.0
LONGEST_TTL_S = 366 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session as it stands. `version` counts the changes of its data; uses are no changes."""

    id: str
    data: Metadata
    version: int
    created_at: datetime
    active_at: datetime
    expires_at: datetime
    user_id: str | None = None
    agent_id: str | None = None
    ended_at: datetime | None = None

    def __post_init__(self) -> None:
        check_name("session_id", self.id)
        check_name("user_id", self.user_id)
        check_name("agent_id", self.agent_id)
        for name in ("created_at", "active_at", "expires_at"):
            aware(name, getattr(self, name))
        if self.ended_at is not None:
            aware("ended_at", self.ended_at)

    def alive(self, now: datetime) -> bool:
        """Whether its time has not run out; one that ended may be read until then."""
        return now < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingItem:
    """One thing that a session has in mind: a JSON value under a key."""

    key: str
    value: Json
    importance: float | None
    updated_at: datetime
    expires_at: datetime
    trust: float = 1.0


def ttl_of(value: object, otherwise: float) -> float:
    """Seconds to live, or `InvalidInput`; None takes the other value."""
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"ttl_s must be a number of seconds, not {str(value)[:40]!r}.")
    if not SHORTEST_TTL_S <= value <= LONGEST_TTL_S:
        raise InvalidInput(f"ttl_s must be from 1 to {LONGEST_TTL_S:,.0f} seconds; got {value!r}.")
    return float(value)


def later(moment: datetime, seconds: float) -> datetime:
    """The moment so many seconds on; not after the year 9999."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=moment.tzinfo)


def data_of(what: str, value: object) -> dict[str, Any]:
    """The data of a session: JSON with text keys, `MAX_DATA` bytes at most; a copy."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be a mapping, not {type(value).__name__}.")
    copied: dict[str, Any] = json_of(what, value)
    check_size(what, copied, MAX_DATA)
    return copied


def value_of(key: str, value: object) -> Json:
    """A value of working memory: any JSON, `MAX_VALUE` bytes at most; a copy."""
    copied: Json = json_of(f"value of {key!r:.60}", value)
    check_size(f"The value of {key!r:.60}", copied, MAX_VALUE)
    return copied


def check_size(what: str, value: Json, most: int) -> None:
    """Refuse JSON of more than `most` bytes, with a message that says by how much."""
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    if size > most:
        raise InvalidInput(
            f"{what} takes {size:,} bytes as JSON and {most:,} fit: {size - most:,} too many. "
            "Remove some, or keep it as a memory and put its id here."
        )

"""A question to the memory, checked and complete."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remanence.errors import InvalidInput
from remanence.model.filter import Filter
from remanence.model.memory import Kind, State, aware, unit_interval
from remanence.model.scope import Reach

MAX_LIMIT = 10_000
MAX_QUERY = 100_000
ALL = 2**31 - 1  # a limit that leaves nothing out: one read, of one moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What `search` was asked. `since` and `until` bound `happened_at`, half-open.

    `apart` are memories that are as if they were not there: a question that is stored already.
    """

    text: str
    reach: Reach
    now: datetime
    limit: int = 10
    kinds: tuple[Kind, ...] = ()
    states: tuple[State, ...] = (State.ACTIVE,)
    since: datetime | None = None
    until: datetime | None = None
    known_at: datetime | None = None
    where: Filter | None = None
    min_score: float | None = None
    min_confidence: float | None = None
    min_trust: float = 0.0
    time_weight: float | None = None
    diversity: float = 0.0
    apart: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_limit(self.limit)
        aware("now", self.now)
        for name in ("since", "until", "known_at"):
            if getattr(self, name) is not None:
                aware(name, getattr(self, name))
        unit_interval("min_trust", self.min_trust)
        if self.min_confidence is not None:
            unit_interval("min_confidence", self.min_confidence)
        unit_interval("diversity", self.diversity)
        if self.time_weight is not None:
            check_weight("time_weight", self.time_weight)


def check_weight(what: str, value: float) -> None:
    """Refuse a weight that is not a number from 0 to 100."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise InvalidInput(f"{what} must be a number from 0 to 100.")


def check_limit(limit: int) -> None:
    """Refuse a limit that is not a whole number from 1 to `MAX_LIMIT`."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be a whole number from 1 to {MAX_LIMIT}; got {limit!r}.")


def check_offset(offset: int) -> None:
    """Refuse an offset that is not a whole number of 64 bits, 0 or more."""
    if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset < 2**63:
        raise InvalidInput(f"offset must be a whole number, 0 or more; got {offset!r}.")

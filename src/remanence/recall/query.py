"""From the arguments of `search`, `find` and `count` to a checked query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from remanence.errors import InvalidInput
from remanence.model import validation
from remanence.model.filter import Both, Compare, Filter, parse_filter
from remanence.model.memory import State
from remanence.model.query import MAX_QUERY, Query
from remanence.model.scope import Reach

LAST = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)


def query_of(
    text: str,
    *,
    tenant: str,
    clock_now: datetime,
    user_id: str | None = None,
    agent_id: str | None = None,
    session_id: str | None = None,
    include_shared: bool = False,
    all_users: bool = False,
    kinds: str | Iterable[str] | None = None,
    states: str | Iterable[str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    now: datetime | None = None,
    filters: Mapping[str, Any] | None = None,
    min_score: float | None = None,
    **rest: Any,
) -> Query:
    """A query from `search`'s arguments; whatever cannot be accepted raises `InvalidInput`."""
    return Query(
        text=validation.text_of("query", text, MAX_QUERY),
        reach=Reach(
            tenant=tenant,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            include_shared=include_shared,
            all_users=all_users,
        ),
        now=clock_now if now is None else validation.local_moment_of("now", now),
        kinds=validation.kinds_of(kinds),
        states=states_of(states),
        since=_moment("since", since),
        until=_before(_moment("until", until), _moment("as_of", as_of)),
        known_at=_moment("known_at", known_at),
        where=parse_filter(filters),
        min_score=_finite("min_score", min_score),
        **rest,
    )


def where_of(
    filters: Mapping[str, Any] | None,
    kinds: str | Iterable[str] | None,
    states: str | Iterable[str] | None,
    since: datetime | None,
    until: datetime | None,
) -> Filter:
    """The filter of `find` and `count`: the caller's own, and what the other arguments mean."""
    parts: list[Filter] = [Compare("state", "in", states_of(states), field=True)]
    if chosen := validation.kinds_of(kinds):
        parts.append(Compare("kind", "in", chosen, field=True))
    if (first := _moment("since", since)) is not None:
        parts.append(Compare("happened_at", "gte", first, field=True))
    if (after := _moment("until", until)) is not None:
        parts.append(Compare("happened_at", "lt", after, field=True))
    if (own := parse_filter(filters)) is not None:
        parts.append(own)
    return Both(tuple(parts))


def states_of(values: str | Iterable[str] | None) -> tuple[State, ...]:
    """States by name: None for active, "any" for all, one or several."""
    if values is None:
        return (State.ACTIVE,)
    chosen = [values] if isinstance(values, str) else validation.several("states", values)
    if "any" in chosen:
        return tuple(State)
    return tuple(validation.state_of(value) for value in chosen)


def _moment(what: str, value: datetime | None) -> datetime | None:
    return None if value is None else validation.moment_of(what, value)


def _before(until: datetime | None, as_of: datetime | None) -> datetime | None:
    """Before which it must have happened: `until`, or right after `as_of`, whichever is earlier."""
    after = None if as_of is None else min(as_of, LAST) + timedelta(microseconds=1)
    return min((moment for moment in (until, after) if moment is not None), default=None)


def _finite(what: str, value: float | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"{what} must be a finite number; got {value!r}.")
    return float(value)

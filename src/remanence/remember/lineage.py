"""Lineage: a summary stands only as long as every memory it was made of stands unchanged.

Whoever changes or removes a memory takes along what was derived from it, in the same transaction.
A summary that another process writes at that very moment is caught by looking once more after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from remanence.model.filter import Both, Compare, Either, Filter
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.scope import Reach
from remanence.ports.store import Store

SUMMARISES = "summarises"
SOURCES = "sources"  # in a summary's metadata: how many memories it was made of
# Fields of a source that show in what was made of it, or in how far that can be trusted.
SHOWING = frozenset({"text", "speaker", "role", "kind", "state", "trust", "happened_at"})

_FRESH = timedelta(hours=1)  # no summary takes so long to write
_MOST_SOURCES = 10_000


def shows(changes: Mapping[str, Any]) -> bool:
    """Whether such a change of a memory outdates what was derived from it."""
    return not SHOWING.isdisjoint(changes)


def derived(store: Store, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
    """All that was summarised from these memories, and from that, in any state; each once."""
    known, frontier = dict.fromkeys(ids), list(ids)
    while frontier:
        above = store.pointing(tenant, frontier, SUMMARISES)
        frontier = [id for id in above if id not in known]
        known |= dict.fromkeys(frontier)
    return store.get(tenant, list(known)[len(dict.fromkeys(ids)) :])


def standing(records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Those that are not archived yet."""
    return [record for record in records if record.state == State.ACTIVE]


def torn(store: Store, removed: Sequence[MemoryRecord], now: datetime) -> list[MemoryRecord]:
    """Summaries of the last hour that have lost a source with the removed memories.

    They were written while the removal was under way. Older ones were found by their links.
    """
    sources = [r for r in removed if r.kind in (Kind.MESSAGE, Kind.SUMMARY)]
    return [
        record
        for reach, sessions in _places(sources).items()
        for record in _fresh(store, reach, sessions, now)
        if not whole(store, record)
    ]


def whole(store: Store, summary: MemoryRecord) -> bool:
    """Whether all that a summary was made of still stands."""
    wanted = summary.metadata.get(SOURCES)
    if not isinstance(wanted, int) or wanted > _MOST_SOURCES:
        return True
    return len(sources_of(store, summary)) >= wanted


def sources_of(store: Store, summary: MemoryRecord) -> list[MemoryRecord]:
    """The standing memories a summary was made of, in order of time."""
    linked = store.related(
        summary.tenant, summary.id, type=SUMMARISES, direction="out", limit=_MOST_SOURCES
    )
    return sorted((link.memory for link in linked), key=lambda r: (r.happened_at, r.id))


def _places(records: Sequence[MemoryRecord]) -> dict[Reach, set[str]]:
    """The sessions of the records, by whose they are."""
    found: dict[Reach, set[str]] = {}
    for record in records:
        reach = Reach(tenant=record.tenant, user_id=record.user_id)
        found.setdefault(reach, set()).update([record.session_id] if record.session_id else [])
    return found


def _fresh(store: Store, reach: Reach, sessions: set[str], now: datetime) -> Iterator[MemoryRecord]:
    spoken: tuple[Filter, ...] = (Compare("session_id", "exists", False, field=True),)
    if sessions:
        spoken += (Compare("session_id", "in", tuple(sorted(sessions)), field=True),)
    where = Both(
        (
            Compare("kind", "eq", Kind.SUMMARY, field=True),
            Compare("created_at", "gte", now - _FRESH, field=True),
            Either(spoken),
        )
    )
    yield from store.find(reach, where, limit=_MOST_SOURCES)

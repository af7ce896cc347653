"""Lineage: a summary stands only as long as every memory it was made of stands unchanged.

Whoever changes or removes a memory takes along what was derived from it, in the same transaction.
A summary that another process writes at that very moment is caught by looking once more after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from remanence.errors import InvalidInput, NotFound
from remanence.model.accept import moment_of
from remanence.model.filter import Both, Compare, Either, Filter
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.scope import Reach
from remanence.ports.store import Store

SUMMARISES = "summarises"
ORIGIN = "summary"
# In a summary's metadata: how many memories it was made of. Callers have their own `sources`.
SOURCES = "remanence.sources"
# Fields of a source that show in what was made of it, or in how far that can be trusted.
SHOWING = frozenset({"text", "speaker", "role", "kind", "state", "trust", "happened_at"})

_FRESH = timedelta(hours=1)  # no summary takes so long to write
_MOST_SOURCES = 10_000
_PAGE = 1_000


def shows(changes: Mapping[str, Any]) -> bool:
    """Whether such a change of a memory outdates what was derived from it."""
    return not SHOWING.isdisjoint(changes)


def made_of(record: MemoryRecord) -> int:
    """How many memories a summary was made of; 0 for whatever was not derived here."""
    number = record.metadata.get(SOURCES)
    if record.kind != Kind.SUMMARY or record.origin != ORIGIN or isinstance(number, bool):
        return 0
    return number if isinstance(number, int) and 0 < number <= _MOST_SOURCES else 0


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
    """Summaries written in the last hour that have lost a source with the removed memories.

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
    """Whether all that a summary was made of is still there, in any state."""
    wanted = made_of(summary)
    missing = wanted - len(sources_of(store, summary))
    resting = Compare("state", "ne", State.ACTIVE, field=True)
    return (
        missing <= 0
        or _linked(store, summary, Both((resting, *_told_of(summary)))) >= missing
        or _linked(store, summary, Both(())) >= wanted  # some may have been moved, or revived now
    )


def sources_of(store: Store, summary: MemoryRecord) -> list[MemoryRecord]:
    """The standing memories a summary was made of, in order of time; none if it has gone."""
    try:
        linked = store.related(
            summary.tenant, summary.id, type=SUMMARISES, direction="out", limit=_MOST_SOURCES
        )
    except NotFound:
        return []
    return sorted((link.memory for link in linked), key=lambda r: (r.happened_at, r.id))


def _linked(store: Store, summary: MemoryRecord, where: Filter) -> int:
    """How many of its user's and session's memories, in any state, a summary was made of."""
    reach = Reach(tenant=summary.tenant, user_id=summary.user_id, session_id=summary.session_id)
    spoken = Compare("kind", "in", (Kind.MESSAGE, Kind.SUMMARY), field=True)
    found, offset = 0, 0
    while page := store.find(reach, Both((spoken, where)), limit=_PAGE, offset=offset):
        found += _pointed(store, summary, [record.id for record in page])
        offset += len(page)
    return found


def _pointed(store: Store, summary: MemoryRecord, ids: Sequence[str]) -> int:
    if not ids or summary.id not in store.pointing(summary.tenant, ids, SUMMARISES):
        return 0
    if len(ids) == 1:
        return 1
    half = len(ids) // 2
    return _pointed(store, summary, ids[:half]) + _pointed(store, summary, ids[half:])


def _told_of(summary: MemoryRecord) -> tuple[Filter, ...]:
    """The time that a summary tells of, if it says so."""
    try:
        start = moment_of("from", summary.metadata.get("from"))
    except InvalidInput:
        return ()
    return (
        Compare("happened_at", "gte", start, field=True),
        Compare("happened_at", "lte", summary.happened_at, field=True),
    )


def _places(records: Sequence[MemoryRecord]) -> dict[Reach, set[str]]:
    """The sessions of the records, by whose they are."""
    found: dict[Reach, set[str]] = {}
    for record in records:
        reach = Reach(tenant=record.tenant, user_id=record.user_id)
        found.setdefault(reach, set()).update([record.session_id] if record.session_id else [])
    return found


def _fresh(store: Store, reach: Reach, sessions: set[str], now: datetime) -> Iterator[MemoryRecord]:
    where: tuple[Filter, ...] = (
        Compare("kind", "eq", Kind.SUMMARY, field=True),
        Compare("origin", "eq", ORIGIN, field=True),
        Compare("updated_at", "gte", now - _FRESH, field=True),
    )
    if len(sessions) <= _PAGE:
        there = Compare("session_id", "in", tuple(sorted(sessions)), field=True)
        nowhere = Compare("session_id", "exists", False, field=True)
        where += (Either((nowhere, there)) if sessions else nowhere,)
    yield from store.find(reach, Both(where), limit=_MOST_SOURCES)

"""Lineage: what was made of memories stands only as long as every one of them stands unchanged.

Whoever changes or removes a memory takes along what was derived from it, in the same transaction;
whoever removes it by its id, also what was merged into it. What another process derives at that
very moment is caught by looking once more after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from remanence.errors import InvalidInput, NotFound
from remanence.model.filter import Both, Compare, Either, Filter
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.validation import ORIGINS, STATED

SUMMARISES = "summarises"
MERGED_INTO = "merged_into"
OWN_LINKS = (SUMMARISES, MERGED_INTO)
DERIVED = (Kind.SUMMARY, Kind.SEMANTIC, Kind.REFLECTION)
# In a summary's metadata: how many memories it was made of. Callers have their own `sources`.
SOURCES = "remanence.sources"
# Fields of a source that show in what was made of it, or in how far that can be trusted.
SHOWING = frozenset({"text", "speaker", "role", "kind", "state", "trust", "happened_at"})

_FRESH = timedelta(hours=1)  # nothing takes so long to derive
_MOST_SOURCES = 10_000
_PAGE = 1_000


def check_link(type: Any) -> None:
    """Refuse the links by which erasing finds what else tells of a memory."""
    if type in OWN_LINKS:
        raise InvalidInput(
            f"Links of the type {type!r} are made and removed by the memory itself, so that what "
            "was made of a memory goes with it; name another type."
        )


def check_cut(store: Store, tenant: str, source: str, target: str) -> None:
    """Refuse to cut whatever lies between two memories where such a link is among it."""
    for type in OWN_LINKS:
        if target in store.links.pointed(tenant, [source], type):
            raise InvalidInput(
                f"A link of the type {type!r} is between them, which the memory keeps itself; name "
                "the type of the links to remove."
            )


def shows(changes: Mapping[str, Any]) -> bool:
    """Whether such a change of a memory outdates what was derived from it."""
    return not SHOWING.isdisjoint(changes)


def made_of(record: MemoryRecord) -> int:
    """How many memories it was made of; 0 for whatever was not derived here."""
    number = record.metadata.get(SOURCES)
    if record.kind not in DERIVED or record.origin not in ORIGINS or isinstance(number, bool):
        return 0
    return number if isinstance(number, int) and 0 < number <= _MOST_SOURCES else 0


def derived(store: Store, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
    """All that was derived from these memories, and from that, in any state; each once."""
    known, frontier = dict.fromkeys(ids), list(ids)
    while frontier:
        above = store.links.pointing(tenant, frontier, SUMMARISES)
        frontier = [id for id in above if id not in known]
        known |= dict.fromkeys(frontier)
    return store.archive.get(tenant, list(known)[len(dict.fromkeys(ids)) :])


def originals(store: Store, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
    """What was merged into these memories themselves and still rests there; each once."""
    known = set(ids)
    linked = store.archive.get(tenant, store.links.pointing(tenant, ids, MERGED_INTO))
    return [one for one in linked if one.superseded_by in known and one.state != State.ACTIVE]


def merged(store: Store, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
    """The originals that were merged into these memories, and into those; each once."""
    known, frontier, found = set(ids), list(ids), list[MemoryRecord]()
    while frontier:
        new = [one for one in originals(store, tenant, frontier) if one.id not in known]
        frontier = [one.id for one in new]
        known.update(frontier)
        found += new
    return found


def sheltering(store: Store, tenant: str, ids: Sequence[str]) -> set[str]:
    """Those that stand for a pinned or user-stated memory, which was merged into them.

    No rule forgets or erases that one, so none may take what tells of it.
    """
    found: dict[str, MemoryRecord] = {}
    frontier = list(ids)
    while frontier:
        new = originals(store, tenant, frontier)
        frontier = [one.id for one in new if one.id not in found]
        found |= {one.id: one for one in new}
    kept: set[str] = set()
    for one in found.values():
        above = one.superseded_by if one.pinned or one.source == STATED else None
        while above is not None and above not in kept:
            kept.add(above)
            above = found[above].superseded_by if above in found else None
    return kept.intersection(ids)


def taken_along(
    store: Store, tenant: str, ids: Sequence[str]
) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
    """What is erased with these memories: what was derived from them, what was merged into them.

    To its owner, a memory and what was merged into it are one; the text of a survivor is its own,
    so an original goes alone.
    """
    known, frontier = dict.fromkeys(ids), list(ids)
    above: list[MemoryRecord] = []
    below: list[MemoryRecord] = []
    while frontier:
        made = [one for one in derived(store, tenant, frontier) if one.id not in known]
        known |= dict.fromkeys(one.id for one in made)
        reached = [*frontier, *(one.id for one in made)]
        into = [one for one in merged(store, tenant, reached) if one.id not in known]
        known |= dict.fromkeys(one.id for one in into)
        above, below, frontier = above + made, below + into, [one.id for one in into]
    return above, below


def standing(records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Those that are not archived yet."""
    return [record for record in records if record.state == State.ACTIVE]


def torn(store: Store, removed: Sequence[MemoryRecord], now: datetime) -> list[MemoryRecord]:
    """What was derived in the last hour and has lost a source with the removed memories.

    It was written while the removal was under way. What is older was found by its links.
    """
    return [
        record
        for reach, sessions in _places(removed).items()
        for record in _fresh(store, reach, sessions, now)
        if not whole(store, record)
    ]


def whole(store: Store, record: MemoryRecord) -> bool:
    """Whether all that a memory was made of is still there, in any state."""
    wanted = made_of(record)
    return not wanted or len(store.links.pointed(record.tenant, [record.id], SUMMARISES)) >= wanted


def sources_of(store: Store, summary: MemoryRecord) -> list[MemoryRecord]:
    """The standing memories it was made of, in order of time; none if it has gone itself."""
    try:
        linked = store.links.related(
            summary.tenant, summary.id, type=SUMMARISES, direction="out", limit=_MOST_SOURCES
        )
    except NotFound:
        return []
    return sorted((link.memory for link in linked), key=lambda r: (r.happened_at, r.id))


def _places(records: Sequence[MemoryRecord]) -> dict[Reach, set[str]]:
    """The sessions of the records, by whose they are."""
    found: dict[Reach, set[str]] = {}
    for record in records:
        reach = Reach(tenant=record.tenant, user_id=record.user_id)
        found.setdefault(reach, set()).update([record.session_id] if record.session_id else [])
    return found


def _fresh(store: Store, reach: Reach, sessions: set[str], now: datetime) -> Iterator[MemoryRecord]:
    where: tuple[Filter, ...] = (
        Compare("kind", "in", DERIVED, field=True),
        Compare("origin", "in", ORIGINS, field=True),
        Compare("updated_at", "gte", now - _FRESH, field=True),
    )
    if len(sessions) <= _PAGE:
        there = Compare("session_id", "in", tuple(sorted(sessions)), field=True)
        nowhere = Compare("session_id", "exists", False, field=True)
        where += (Either((nowhere, there)) if sessions else nowhere,)
    yield from store.archive.find(reach, Both(where), limit=_MOST_SOURCES)

"""What was merged into a memory: its own again when only one of the two goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from remanence.errors import Conflict, NotFound
from remanence.memories.lineage import MERGED_INTO, originals
from remanence.model.clock import Clock
from remanence.model.filter import Both, Compare, Either, Filter, Not
from remanence.model.memory import MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Batch, Revise

UNMERGED = "unmerged"
MERGED = "merged"  # the verb of a merge
RACES = 50
_BACK: Mapping[str, Any] = {"state": State.ACTIVE, "superseded_by": None}
_ARCHIVED = Compare("state", "eq", State.ARCHIVED, field=True)
_FRESH = timedelta(hours=1)


def apart(store: Store, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
    """What was merged into these memories and is not among them."""
    known = set(ids)
    return [one for one in originals(store, tenant, ids) if one.id not in known]


def hidden(store: Store, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Those of a tenant's records that rest because they were merged into another."""
    resting = [one for one in records if one.superseded_by and one.state != State.ACTIVE]
    if not resting:
        return []
    into = list({str(one.superseded_by) for one in resting})
    linked = set(store.links.pointing(resting[0].tenant, into, MERGED_INTO))
    return [one for one in resting if one.id in linked]


def returning(found: Sequence[MemoryRecord], at: datetime) -> tuple[Revise, ...]:
    """The changes that bring originals back."""
    return tuple(
        Revise(id=one.id, changes=_BACK, verb=UNMERGED, at=at, expected=one.version)
        for one in found
    )


def links_of(found: Sequence[MemoryRecord]) -> tuple[tuple[str, str, str], ...]:
    """The links of originals to what they were merged into."""
    return tuple((one.id, str(one.superseded_by), MERGED_INTO) for one in found)


def bring_back(store: Store, clock: Clock, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Bring back what was merged into these records and is not among them; what came back."""
    if not records:
        return []
    tenant, ids = records[0].tenant, [one.id for one in records]
    return _done(store, clock, lambda: apart(store, tenant, ids), returning)


def part(
    store: Store,
    clock: Clock,
    records: Sequence[MemoryRecord],
    *,
    verb: str,
    actor: str | None = None,
    reason: str | None = None,
) -> list[MemoryRecord]:
    """Part those that were merged from what they were merged into; they stay at rest.

    So they are forgotten on their own: what tells of them now does not bring them back by going.
    """
    if not records:
        return []
    tenant, ids = records[0].tenant, [one.id for one in records]
    own: Mapping[str, Any] = {"superseded_by": None}

    def parting(found: Sequence[MemoryRecord], at: datetime) -> tuple[Revise, ...]:
        told: dict[str, Any] = {"verb": verb, "at": at, "actor": actor, "reason": reason}
        return tuple(Revise(id=r.id, changes=own, expected=r.version, **told) for r in found)

    return _done(store, clock, lambda: hidden(store, store.archive.get(tenant, ids)), parting)


def strays(store: Store, gone: Sequence[MemoryRecord], now: datetime) -> list[MemoryRecord]:
    """What was merged in the last hour into memories that are gone.

    It was merged while the removal was under way. What is older was found by its links.
    """
    ids = {one.id for one in gone}
    return [
        record
        for reach in {Reach(tenant=one.tenant, user_id=one.user_id) for one in gone}
        for record in _rested(store, reach, now)
        if record.superseded_by in ids and _was_merged(store, record)
    ]


def with_return(store: Store, record: MemoryRecord, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """An update's values, and those by which a memory comes back that was merged.

    A new text is no longer what it was merged into says; and what is active stands for itself.
    """
    changes = dict(wanted)
    if wanted.get("text", record.text) != record.text and hidden(store, [record]):
        changes.setdefault("state", State.ACTIVE)
    if changes.get("state") == State.ACTIVE:
        changes.setdefault("superseded_by", None)
    return changes


def as_active(where: Filter | None) -> Filter:
    """The filter as it would judge an archived memory if that were active: a merge hid it."""
    match where:
        case None:
            return Both(())
        case Compare(name="state", field=True):
            return Both(()) if _holds(where) else Either(())
        case Both():
            return Both(tuple(map(as_active, where.parts)))
        case Either():
            return Either(tuple(map(as_active, where.parts)))
        case Not():
            return Not(as_active(where.part))
        case _:
            return where


def resting(where: Filter | None) -> Filter:
    """Archived memories that the filter would find if they were active."""
    return Both((_ARCHIVED, as_active(where)))


def _done(
    store: Store,
    clock: Clock,
    look: Callable[[], list[MemoryRecord]],
    actions: Callable[[Sequence[MemoryRecord], datetime], tuple[Revise, ...]],
) -> list[MemoryRecord]:
    """Change what is found, and remove its links, in one transaction; look again if that moved."""
    for _ in range(RACES):
        found, now = look(), clock.now()
        if not found:
            return []
        batch = Batch(
            tenant=found[0].tenant, at=now, actions=actions(found, now), unlinked=links_of(found)
        )
        try:
            return list(store.archive.write(batch).records)
        except (Conflict, NotFound):
            continue
    raise Conflict("Others keep changing what was merged; try again.")


def _rested(store: Store, reach: Reach, now: datetime) -> Iterator[MemoryRecord]:
    lately = Both((_ARCHIVED, Compare("updated_at", "gte", now - _FRESH, field=True)))
    return store.archive.walk(reach, lately)


def _was_merged(store: Store, record: MemoryRecord) -> bool:
    try:
        return store.archive.history(record.tenant, record.id)[-1].verb == MERGED
    except NotFound:
        return False


def _holds(asked: Compare) -> bool:
    """Whether the state would be what is asked for."""
    value, state = asked.value, State.ACTIVE
    match asked.operator, value:
        case (("in" | "not_in"), tuple()):
            return (state in value) == (asked.operator == "in")
        case "exists", _:
            return bool(value)
        case (("eq" | "ne"), _):
            return (state == value) == (asked.operator == "eq")
    tests = {"gt": str.__gt__, "gte": str.__ge__, "lt": str.__lt__, "lte": str.__le__}
    return bool(tests[asked.operator](state, str(value)))

"""Sessions, working memory and notes on conversations in a snapshot: copies of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from remanence.layers.snapshots.section import (
    Changes,
    Restoring,
    SectionPart,
    SectionPlace,
    SnapshotSection,
    address_fields,
    address_from,
    agent_of,
    by_user,
    chunks,
    digest_of,
    everything,
    settled,
    union,
    within,
)
from remanence.model.clock import Clock
from remanence.model.document import Address, Discard, Document, Put, Shelf, Shelving
from remanence.model.memory import Metadata, same_json
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach
from remanence.model.session import later
from remanence.model.snapshot import DocumentChange

SHELVES = {Shelf.SESSION: "sessions", Shelf.WORKING: "working", Shelf.CONVERSATION: "conversations"}
PER_PART = 20_000
BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A document's value and agent, the seconds it had left to live, its version if it is there.

    `value` is None where the copy was erased; version 0 says that it is not known to be there.
    """

    value: Metadata | None
    left_s: float | None = None
    agent_id: str | None = None
    version: int = 0


Picture: TypeAlias = Mapping[Address, Copy]
ABSENT = Copy(value=None)


class DocumentSection(SnapshotSection[Picture, DocumentChange]):
    """The section of what keeps no editions."""

    name = "documents"

    def __init__(self, store: Documents, tenant: str, clock: Clock) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock

    def now(self, reach: Reach) -> Picture:
        """The documents in reach whose time has not run out."""
        moment = self._clock.now()
        wide = replace(reach, agent_id=None, session_id=None)
        found = (one for shelf in SHELVES for one in everything(self._store, wide, shelf))
        alive = (one for one in found if one.alive(moment) and within(one, reach))
        return {one.address: _taken(one, moment) for one in alive}

    def counts(self, picture: Picture) -> dict[str, int]:
        """How many of each sort there are."""
        return {
            name: sum(address.shelf == shelf for address in picture)
            for shelf, name in SHELVES.items()
        }

    def parts(self, place: SectionPlace, picture: Picture) -> list[SectionPart]:
        """A list of the documents."""
        rows = ((address.user_id, address_fields(address)) for address in picture)
        return [SectionPart(user_id, _list_of(some)) for user_id, some in by_user(rows, PER_PART)]

    def copied(self, place: SectionPlace, picture: Picture) -> list[tuple[Address, dict[str, Any]]]:
        """A copy of each."""
        return [(place.copy(address), _kept(address, one)) for address, one in picture.items()]

    def recheck(self, place: SectionPlace, picture: Picture) -> None:
        """Drop the copies of what was erased while they were made."""
        for some in chunks(list(picture), BATCH):
            there = {one.address for one in self._store.get(self._tenant, some)}
            gone = [Discard(address=place.copy(one)) for one in some if one not in there]
            if gone:
                self._store.put(self._tenant, gone)

    def picture(self, place: SectionPlace, parts: Sequence[SectionPart]) -> Picture:
        """The copies that are still there; the others with no value."""
        return {
            address: copy
            for some in chunks(listed(parts), BATCH)
            for address, copy in self._read(place, some).items()
        }

    def copies(self, place: SectionPlace, parts: Sequence[SectionPart]) -> list[Address]:
        """Where the copies are."""
        return [place.copy(address) for address in listed(parts)]

    def changes(
        self, before: Picture, after: Picture, names: tuple[str, str]
    ) -> Changes[DocumentChange]:
        """Every document that came, went or has another value."""
        lost = {address for address, one in before.items() if one.value is None}
        found = [
            DocumentChange(
                shelf=address.shelf,
                name=address.name,
                user_id=address.user_id,
                agent_id=address.agent_id,
                session_id=address.session_id,
                what=what,
            )
            for address in union(before, after)
            if address not in lost
            and (what := _difference(address, before.get(address), after.get(address)))
        ]
        return Changes(tuple(found), len(lost))

    def restore(self, wanted: Picture, present: Picture, by: Restoring) -> None:
        """Give documents their values back; those made since go, unless they are just in use.

        What others wrote since the present was looked at goes into the undo before it is replaced.
        """
        unequal = [
            address
            for address in union(wanted, present)
            if _difference(address, wanted.get(address), present.get(address))
        ]
        settled(unequal, BATCH, lambda some: self._give_back(some, wanted, present, by))

    def _give_back(
        self, addresses: Sequence[Address], wanted: Picture, present: Picture, by: Restoring
    ) -> None:
        found = self._store.get(self._tenant, addresses)
        there = {one.address: one for one in found}
        todo: list[Shelving] = []
        for address in addresses:
            standing, seen = there.get(address), present.get(address, ABSENT)
            goal = wanted.get(address, ABSENT)
            todo += self._steps(address, goal, seen, standing, by)
        if todo:
            self._store.put(self._tenant, todo)

    def _steps(
        self, address: Address, goal: Copy, seen: Copy, standing: Document | None, by: Restoring
    ) -> list[Shelving]:
        """What makes one document what it was; nothing if it was erased, now or then."""
        if standing is None:
            erased = seen is not ABSENT
            if erased:
                return [Discard(address=by.undo.copy(address))]
            return [] if goal.value is None else [_put(address, goal.value, goal, None, by)]
        moved_on = standing.version != seen.version
        if goal is ABSENT:
            return [] if moved_on else [Discard(address=address, expected=standing.version)]
        if goal.value is None:
            return []
        kept = self._kept_late(standing, by) if moved_on else []
        return [*kept, _put(address, goal.value, goal, standing, by)]

    def _kept_late(self, standing: Document, by: Restoring) -> list[Shelving]:
        """Add what nobody had seen yet to the undo."""
        now = self._clock.now()
        if not standing.alive(now):
            return []
        address, copy = standing.address, _taken(standing, now)
        part = by.undo.part(self.name, f"late-{digest_of(address)}", address.user_id)
        kept = {
            part: _list_of([address_fields(address)]),
            by.undo.copy(address): _kept(address, copy),
        }
        return [Put(address=at, value=value, at=by.at) for at, value in kept.items()]

    def _read(self, place: SectionPlace, originals: Sequence[Address]) -> dict[Address, Copy]:
        found = self._store.get(self._tenant, [place.copy(one) for one in originals])
        copies = {one.address: one for one in found}
        return {one: _copy(one, copies.get(place.copy(one))) for one in originals}


def _taken(document: Document, now: datetime) -> Copy:
    ends = document.expires_at
    left = None if ends is None else (ends - now).total_seconds()
    agent_id, version = agent_of(document), document.version
    return Copy(value=document.value, left_s=left, agent_id=agent_id, version=version)


def _list_of(rows: Sequence[Any]) -> dict[str, Any]:
    return {"documents": rows}


def listed(parts: Sequence[SectionPart]) -> list[Address]:
    """The documents that the parts list."""
    found = [address_from(row, user_id) for user_id, value in parts for row in value["documents"]]
    if any(address.shelf not in SHELVES for address in found):
        raise ValueError("Something else is listed among the documents.")
    return found


def _kept(address: Address, copy: Copy) -> dict[str, Any]:
    """A copy as a document's value; the agent is said where whoever erases looks for it."""
    told = {"shelf": str(address.shelf), "agent": copy.agent_id}
    return {**told, "value": copy.value, "left_s": copy.left_s}


def _copy(original: Address, document: Document | None) -> Copy:
    if document is None:
        return Copy(value=None)
    told = document.value
    if told["shelf"] != original.shelf:
        raise ValueError("A copy is of something else.")
    left = None if told["left_s"] is None else float(told["left_s"])
    return Copy(value=dict(told["value"]), left_s=left, agent_id=told["agent"])


def _difference(address: Address, before: Copy | None, after: Copy | None) -> str:
    was, now = (None if one is None else one.value for one in (before, after))
    if was is None or now is None:
        return "" if was is now else "removed" if now is None else "added"
    return "" if same_json(_told(address, was), _told(address, now)) else "changed"


def _told(address: Address, value: Metadata) -> dict[str, Any]:
    """What a document says. A session's version counts on, so it tells nothing."""
    hidden = ("version",) if address.shelf is Shelf.SESSION else ()
    return {name: one for name, one in value.items() if name not in hidden}


def _counted(address: Address, value: Metadata, standing: Document | None) -> Metadata:
    """The value with a version that nobody has seen, so that no guarded update takes it for his."""
    if standing is None or address.shelf is not Shelf.SESSION:
        return value
    latest = standing.value.get("version")
    return {**value, "version": latest + 1} if isinstance(latest, int) else value


def _put(
    address: Address, value: Metadata, copy: Copy, standing: Document | None, by: Restoring
) -> Put:
    """It comes back with the time it had left when the snapshot was taken."""
    ends = None if copy.left_s is None else later(by.at, copy.left_s)
    return Put(
        address=address,
        value=_counted(address, value, standing),
        at=by.at,
        expected=0 if standing is None else standing.version,
        verb="restore",
        author=by.actor,
        reason=by.reason,
        expires_at=ends,
    )

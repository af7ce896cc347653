"""Sessions, working memory and notes on conversations in a snapshot: copies of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from remanence.clock import Clock
from remanence.errors import Conflict
from remanence.layers.snapshots.packing import chunks
from remanence.layers.snapshots.section import (
    Changes,
    Place,
    Restoring,
    address_fields,
    address_from,
    everything,
    session_of,
    union,
)
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.memory import Metadata, same_json
from remanence.model.scope import Reach
from remanence.model.snapshot import DocumentChange
from remanence.ports.store import Documents

SHELVES = {Shelf.SESSION: "sessions", Shelf.WORKING: "working", Shelf.CONVERSATION: "conversations"}
PER_PART = 20_000
BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A document's value, the seconds it had left to live, and its version if it is there now.

    `value` is None where the copy was erased.
    """

    value: Metadata | None
    left_s: float | None
    version: int | None = None


Picture: TypeAlias = Mapping[Address, Copy]


class DocumentSection:
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
        alive = (one for one in found if one.alive(moment) and _within(one, reach))
        return {one.address: _taken(one, moment) for one in alive}

    def before(self, present: Picture, wanted: Picture) -> Picture:
        """The present."""
        return present

    def counts(self, picture: Picture) -> dict[str, int]:
        """How many of each sort there are."""
        return {
            name: sum(address.shelf == shelf for address in picture)
            for shelf, name in SHELVES.items()
        }

    def parts(self, picture: Picture) -> list[dict[str, Any]]:
        """A list of the documents."""
        rows = [address_fields(address) for address in picture]
        return [{"documents": list(some)} for some in chunks(rows, PER_PART)]

    def copied(self, place: Place, picture: Picture) -> list[tuple[Address, dict[str, Any]]]:
        """A copy of each."""
        return [
            (place.copy(address), {"value": one.value, "left_s": one.left_s})
            for address, one in picture.items()
        ]

    def picture(self, place: Place, parts: Sequence[Metadata]) -> Picture:
        """The copies that are still there; the others with no value."""
        return {
            address: copy
            for some in chunks(_listed(parts), BATCH)
            for address, copy in self._read(place, some).items()
        }

    def copies(self, place: Place, parts: Sequence[Metadata]) -> list[Address]:
        """Where the copies are."""
        return [place.copy(address) for address in _listed(parts)]

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
            and (what := _difference(before.get(address), after.get(address)))
        ]
        return Changes(tuple(found), len(lost))

    def restore(self, wanted: Picture, present: Picture, by: Restoring) -> None:
        """Give documents their values back; those made since go, unless they are just in use."""
        puts = [
            _put(address, copy, by)
            for address, copy in wanted.items()
            if copy.value is not None and _difference(copy, present.get(address))
        ]
        for some in chunks(puts, BATCH):
            self._store.put(self._tenant, some)
        for address, copy in present.items():
            if address not in wanted:
                with suppress(Conflict):
                    self._store.put(self._tenant, [Discard(address=address, expected=copy.version)])

    def _read(self, place: Place, originals: Sequence[Address]) -> dict[Address, Copy]:
        found = self._store.documents(self._tenant, [place.copy(one) for one in originals])
        copies = {one.address: one for one in found}
        return {one: _copy(copies.get(place.copy(one))) for one in originals}


def _within(document: Document, reach: Reach) -> bool:
    """Whether it is of the agent and the session; sessions and items name their agent inside."""
    agents = (None, document.address.agent_id, document.value.get("agent"))
    return reach.agent_id in agents and reach.session_id in (None, session_of(document.address))


def _taken(document: Document, now: datetime) -> Copy:
    ends = document.expires_at
    left = None if ends is None else (ends - now).total_seconds()
    return Copy(value=document.value, left_s=left, version=document.version)


def _listed(parts: Sequence[Metadata]) -> list[Address]:
    return [address_from(fields) for part in parts for fields in part["documents"]]


def _copy(document: Document | None) -> Copy:
    if document is None:
        return Copy(value=None, left_s=None)
    return Copy(value=document.value["value"], left_s=document.value["left_s"])


def _difference(before: Copy | None, after: Copy | None) -> str:
    was, now = (None if one is None else one.value for one in (before, after))
    if was is None or now is None:
        return "" if was is now else "removed" if now is None else "added"
    return "" if same_json(was, now) else "changed"


def _put(address: Address, copy: Copy, by: Restoring) -> Put:
    """It comes back with the time it had left when the snapshot was taken."""
    assert copy.value is not None
    ends = None if copy.left_s is None else by.at + timedelta(seconds=copy.left_s)
    return Put(
        address=address,
        value=copy.value,
        at=by.at,
        verb="restore",
        author=by.actor,
        reason=by.reason,
        expires_at=ends,
    )

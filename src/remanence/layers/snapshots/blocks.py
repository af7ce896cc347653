"""Blocks in a snapshot: where they stand and at which version; their editions hold the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from remanence.layers.blocks.differing import difference
from remanence.layers.blocks.stored import GONE, Content, content_of, deleted, stored
from remanence.layers.snapshots.packing import chunks
from remanence.layers.snapshots.section import (
    Changes,
    Part,
    Place,
    Restoring,
    address_fields,
    address_from,
    by_user,
    everything,
    settled,
    union,
)
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.scope import Reach
from remanence.model.snapshot import BlockChange
from remanence.ports.store import Documents

PER_PART = 20_000
BATCH = 100


class Reference(NamedTuple):
    """A version of a block; one that was erased and made again counts its versions anew."""

    version: int
    created_at: datetime


Picture: TypeAlias = Mapping[Address, Reference]


class BlockSection:
    """The section of the blocks that the scope's users and agents have of their own."""

    name = "blocks"

    def __init__(self, store: Documents, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def now(self, reach: Reach) -> Picture:
        """The blocks in reach that are not deleted."""
        found = everything(self._store, reach, Shelf.BLOCK)
        return {one.address: _reference(one) for one in found if not deleted(one)}

    def before(self, present: Picture, wanted: Picture) -> Picture:
        """The present: what a restore changes stays in the editions."""
        return present

    def counts(self, picture: Picture) -> dict[str, int]:
        """How many blocks there are."""
        return {"blocks": len(picture)}

    def parts(self, place: Place, picture: Picture) -> list[Part]:
        """The references."""
        rows = (
            (at.user_id, [*address_fields(at), one.version, one.created_at.isoformat()])
            for at, one in picture.items()
        )
        return [Part(user_id, {"blocks": some}) for user_id, some in by_user(rows, PER_PART)]

    def picture(self, place: Place, parts: Sequence[Part]) -> Picture:
        """The references that were kept."""
        return references(parts)

    def copied(self, place: Place, picture: Picture) -> list[tuple[Address, dict[str, Any]]]:
        """Nothing: there are only references."""
        return []

    def copies(self, place: Place, parts: Sequence[Part]) -> list[Address]:
        """Nowhere."""
        return []

    def changes(
        self, before: Picture, after: Picture, names: tuple[str, str]
    ) -> Changes[BlockChange]:
        """Every block whose text or settings differ."""
        found: list[BlockChange] = []
        lost = 0
        for address in union(before, after):
            if before.get(address) == after.get(address):
                continue
            was, now = (self._content(address, one.get(address)) for one in (before, after))
            lost += was is None
            told = difference(address.name, was or GONE, now or GONE, names)
            if told and was is not None:
                found.append(_change(address, told))
        return Changes(tuple(found), lost)

    def restore(self, wanted: Picture, present: Picture, by: Restoring) -> None:
        """Give blocks a new edition with the old content; those made since are deleted."""
        unequal = [one for one in union(wanted, present) if wanted.get(one) != present.get(one)]
        for some in chunks(unequal, BATCH):
            settled(lambda some=some: self._give_back(some, wanted, by))  # type: ignore[misc]

    def _give_back(self, addresses: Sequence[Address], wanted: Picture, by: Restoring) -> None:
        there = {one.address: one for one in self._store.documents(self._tenant, addresses)}
        puts = []
        for address in addresses:
            standing = there.get(address)
            now = GONE if standing is None else content_of(standing.value)
            goal = self._content(address, wanted.get(address))
            if goal is not None and goal != now:
                puts.append(_put(address, goal, standing, by))
        if puts:
            self._store.put(self._tenant, puts)

    def _content(self, address: Address, reference: Reference | None) -> Content | None:
        """What the block said at that version; None if it was erased."""
        if reference is None:
            return GONE
        standing = self._store.documents(self._tenant, [address])
        if not standing or standing[0].created_at != reference.created_at:
            return None
        if standing[0].version == reference.version:
            return content_of(standing[0].value)
        for edition in self._store.editions(self._tenant, address):
            if edition.version == reference.version:
                return content_of(edition.value)
        return None


def references(parts: Sequence[Part]) -> Picture:
    """What the parts say."""
    return {
        _block(fields, user_id): Reference(int(version), datetime.fromisoformat(created))
        for user_id, value in parts
        for *fields, version, created in value["blocks"]
    }


def _block(fields: Sequence[Any], user_id: str | None) -> Address:
    address = address_from(fields, user_id)
    if address.shelf is not Shelf.BLOCK:
        raise ValueError(address.shelf)
    return address


def _reference(document: Document) -> Reference:
    return Reference(document.version, document.created_at)


def _change(address: Address, told: str) -> BlockChange:
    owner = {"user_id": address.user_id, "agent_id": address.agent_id}
    return BlockChange(label=address.name, diff=told, **owner)


def _put(address: Address, goal: Content, standing: Document | None, by: Restoring) -> Put:
    return Put(
        address=address,
        value=stored(goal),
        at=by.at,
        verb="restore",
        author=by.actor,
        reason=by.reason,
        expected=0 if standing is None else standing.version,
        keep=True,
    )

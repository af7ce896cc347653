"""Memories and blocks in a snapshot: ids and versions only, so what is erased leaves it too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from remanence.layers.blocks.documents import GONE, Content, content_of, deleted, difference, stored
from remanence.layers.snapshots.section import (
    Changes,
    Restoring,
    SectionPart,
    SectionPlace,
    SnapshotSection,
    address_fields,
    address_from,
    by_user,
    chunks,
    everything,
    packed,
    settled,
    union,
    unpacked,
)
from remanence.memories.draft import differing
from remanence.memories.writer import Writer
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.memory import MemoryRecord, State, at_version
from remanence.model.ports.store import Documents, Store
from remanence.model.scope import Reach
from remanence.model.snapshot import BlockChange, MemoryChange

MEMORIES_PER_PART = 50_000
BLOCKS_PER_PART = 20_000
BATCH = 256
BLOCKS_AT_ONCE = 100
SHORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories:
    """Id and version of the active memories; `others` are inactive ones to bring back as such."""

    active: Mapping[str, int]
    others: Mapping[str, int] = field(default_factory=dict)


class MemorySection(SnapshotSection[Memories, MemoryChange]):
    """The section of the memories."""

    name = "memories"

    def __init__(self, store: Store, writer: Writer, tenant: str) -> None:
        self._store = store
        self._writer = writer
        self._tenant = tenant

    def now(self, reach: Reach) -> Memories:
        """The active memories in reach."""
        return Memories(active=dict(self._store.archive.versions(reach)))

    def before(self, present: Memories, wanted: Memories) -> Memories:
        """The present, and the memories that are not active and would come back."""
        idle = [id for id in (*wanted.active, *wanted.others) if id not in present.active]
        found = (record for ids in chunks(idle, BATCH) for record in self._get(ids))
        return replace(present, others={record.id: record.version for record in found})

    def counts(self, picture: Memories) -> dict[str, int]:
        """How many are active."""
        return {"memories": len(picture.active)}

    def parts(self, place: SectionPlace, picture: Memories) -> list[SectionPart]:
        """The references, packed."""
        sorts = {"active": picture.active, "others": picture.others}
        return [
            SectionPart(place.user_id, {which: packed(dict(some))})
            for which, versions in sorts.items()
            for some in chunks(list(versions.items()), MEMORIES_PER_PART)
        ]

    def picture(self, place: SectionPlace, parts: Sequence[SectionPart]) -> Memories:
        """The references that were packed."""
        return memory_references(parts)

    def changes(
        self, before: Memories, after: Memories, names: tuple[str, str]
    ) -> Changes[MemoryChange]:
        """Every memory that became active, ceased to be, or has other values."""
        ids = [*before.active, *(id for id in after.active if id not in before.active)]
        unequal = [id for id in ids if before.active.get(id) != after.active.get(id)]
        found: list[MemoryChange] = []
        lost = 0
        for some in chunks(unequal, BATCH):
            records = self._get(some)
            lost += len(some) - len(records)
            told = (self._told(one, before.active, after.active) for one in records)
            found += [one for one in told if one is not None]
        return Changes(tuple(found), lost)

    def restore(self, wanted: Memories, present: Memories, by: Restoring) -> None:
        """Give memories the values they had; archive those made since, erase none."""
        goals = {**wanted.active, **wanted.others}
        ids = [id for id, version in goals.items() if present.active.get(id) != version]
        ids += [id for id in present.active if id not in goals]
        settling = {*goals, *present.active}  # a summary among them is what the snapshot says
        settled(ids, BATCH, lambda some: self._give_back(some, goals, settling, by))

    def _give_back(
        self, ids: Sequence[str], goals: Mapping[str, int], settling: set[str], by: Restoring
    ) -> None:
        changed = []
        for record in self._get(ids):
            goal = self._goal(record, goals.get(record.id))
            changes = {} if goal is None else differing(record, goal)
            if changes:
                changed.append((record, changes))
        self._writer.revise_all(
            changed, verb="restored", actor=by.actor, reason=by.reason, leave=settling
        )

    def _goal(self, record: MemoryRecord, version: int | None) -> MemoryRecord | None:
        if version is None:
            made_since = record.state == State.ACTIVE
            return replace(record, state=State.ARCHIVED) if made_since else None
        return self._at(record, version)

    def _told(
        self, record: MemoryRecord, before: Mapping[str, int], after: Mapping[str, int]
    ) -> MemoryChange | None:
        was, now = (
            None if version is None else self._at(record, version)
            for version in (before.get(record.id), after.get(record.id))
        )
        if was is None and now is None:
            return None
        if was is None or now is None:
            there = was or now or record
            what = "added" if was is None else "removed"
            return MemoryChange(id=record.id, what=what, text=_short(there.text))
        names = tuple(differing(was, now))
        return None if not names else _changed(was, now, names)

    def _at(self, record: MemoryRecord, version: int) -> MemoryRecord | None:
        if version == record.version:
            return record
        return at_version(record, self._store.archive.history(self._tenant, record.id), version)

    def _get(self, ids: Sequence[str]) -> list[MemoryRecord]:
        return self._store.archive.get(self._tenant, ids)


def memory_references(parts: Sequence[SectionPart]) -> Memories:
    """What the parts say."""
    sorts: dict[str, dict[str, int]] = {"active": {}, "others": {}}
    for part in parts:
        for which, text in part.value.items():
            sorts[which] |= unpacked(text, MEMORIES_PER_PART)
    return Memories(**sorts)


def _changed(was: MemoryRecord, now: MemoryRecord, fields: tuple[str, ...]) -> MemoryChange:
    return MemoryChange(
        id=now.id,
        what="changed",
        text=_short(now.text),
        was=_short(was.text) if "text" in fields else None,
        fields=fields,
    )


def _short(text: str) -> str:
    line = " ".join(text[: 4 * SHORT].split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"


class Reference(NamedTuple):
    """A version of a block; one that was erased and made again counts its versions anew."""

    version: int
    created_at: datetime


BlockPicture: TypeAlias = Mapping[Address, Reference]


class BlockSection(SnapshotSection[BlockPicture, BlockChange]):
    """The section of the blocks that the scope's users and agents have of their own."""

    name = "blocks"

    def __init__(self, store: Documents, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def now(self, reach: Reach) -> BlockPicture:
        """The blocks in reach that are not deleted."""
        found = everything(self._store, reach, Shelf.BLOCK)
        return {
            one.address: Reference(one.version, one.created_at) for one in found if not deleted(one)
        }

    def counts(self, picture: BlockPicture) -> dict[str, int]:
        """How many blocks there are."""
        return {"blocks": len(picture)}

    def parts(self, place: SectionPlace, picture: BlockPicture) -> list[SectionPart]:
        """The references."""
        rows = (
            (at.user_id, [*address_fields(at), one.version, one.created_at.isoformat()])
            for at, one in picture.items()
        )
        return [
            SectionPart(user_id, {"blocks": some})
            for user_id, some in by_user(rows, BLOCKS_PER_PART)
        ]

    def picture(self, place: SectionPlace, parts: Sequence[SectionPart]) -> BlockPicture:
        """The references that were kept."""
        return block_references(parts)

    def changes(
        self, before: BlockPicture, after: BlockPicture, names: tuple[str, str]
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

    def restore(self, wanted: BlockPicture, present: BlockPicture, by: Restoring) -> None:
        """Give blocks a new edition with the old content; those made since are deleted."""
        unequal = [one for one in union(wanted, present) if wanted.get(one) != present.get(one)]
        settled(unequal, BLOCKS_AT_ONCE, lambda some: self._give_back(some, wanted, by))

    def _give_back(self, addresses: Sequence[Address], wanted: BlockPicture, by: Restoring) -> None:
        there = {one.address: one for one in self._store.get(self._tenant, addresses)}
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
        standing = self._store.get(self._tenant, [address])
        if not standing or standing[0].created_at != reference.created_at:
            return None
        if standing[0].version == reference.version:
            return content_of(standing[0].value)
        for edition in self._store.editions(self._tenant, address):
            if edition.version == reference.version:
                return content_of(edition.value)
        return None


def block_references(parts: Sequence[SectionPart]) -> BlockPicture:
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

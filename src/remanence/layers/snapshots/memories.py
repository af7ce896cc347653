"""Memories in a snapshot: ids and versions only, so what is erased leaves every snapshot too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from remanence.layers.snapshots.packing import chunks, packed, unpacked
from remanence.layers.snapshots.section import Changes, Part, Place, Restoring, settled
from remanence.model.document import Address
from remanence.model.memory import MemoryRecord, State, at_version
from remanence.model.scope import Reach
from remanence.model.snapshot import MemoryChange
from remanence.ports.store import Store
from remanence.remember.past import differing
from remanence.remember.writer import Writer

PER_PART = 50_000
BATCH = 256
SHORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories:
    """Id and version of the active memories; `others` are inactive ones to bring back as such."""

    active: Mapping[str, int]
    others: Mapping[str, int] = field(default_factory=dict)


class MemorySection:
    """The section of the memories."""

    name = "memories"

    def __init__(self, store: Store, writer: Writer, tenant: str) -> None:
        self._store = store
        self._writer = writer
        self._tenant = tenant

    def now(self, reach: Reach) -> Memories:
        """The active memories in reach."""
        return Memories(active=dict(self._store.versions(reach)))

    def before(self, present: Memories, wanted: Memories) -> Memories:
        """The present, and the memories that are not active and would come back."""
        idle = [id for id in (*wanted.active, *wanted.others) if id not in present.active]
        found = (record for ids in chunks(idle, BATCH) for record in self._get(ids))
        return replace(present, others={record.id: record.version for record in found})

    def counts(self, picture: Memories) -> dict[str, int]:
        """How many are active."""
        return {"memories": len(picture.active)}

    def parts(self, place: Place, picture: Memories) -> list[Part]:
        """The references, packed."""
        sorts = {"active": picture.active, "others": picture.others}
        return [
            Part(place.user_id, {which: packed(dict(some))})
            for which, versions in sorts.items()
            for some in chunks(list(versions.items()), PER_PART)
        ]

    def picture(self, place: Place, parts: Sequence[Part]) -> Memories:
        """The references that were packed."""
        return references(parts)

    def copied(self, place: Place, picture: Memories) -> list[tuple[Address, dict[str, Any]]]:
        """Nothing: there are only references."""
        return []

    def copies(self, place: Place, parts: Sequence[Part]) -> list[Address]:
        """Nowhere."""
        return []

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
        for some in chunks(ids, BATCH):
            settled(lambda some=some: self._give_back(some, goals, settling, by))  # type: ignore[misc]

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
        return at_version(record, self._store.history(self._tenant, record.id), version)

    def _get(self, ids: Sequence[str]) -> list[MemoryRecord]:
        return self._store.get(self._tenant, ids)


def references(parts: Sequence[Part]) -> Memories:
    """What the parts say."""
    sorts: dict[str, dict[str, int]] = {"active": {}, "others": {}}
    for part in parts:
        for which, text in part.value.items():
            sorts[which] |= unpacked(text, PER_PART)
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

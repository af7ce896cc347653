"""The verbs of snapshots: take one, compare with it, go back to it."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Any, TypeAlias

from remanence.errors import Conflict, InvalidInput, NotFound, StoreCorrupt
from remanence.layers.snapshots.documents import DocumentSection
from remanence.layers.snapshots.references import BlockSection, MemorySection
from remanence.layers.snapshots.section import (
    HEADS,
    Restoring,
    SectionPart,
    SectionPlace,
    SnapshotSection,
    everything,
)
from remanence.memories.writer import Writer
from remanence.model import validation
from remanence.model.clock import Clock
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.erasure import SCOPE
from remanence.model.memory import Metadata
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.snapshot import Restored, Snapshot, SnapshotDiff

MAX_NAME = 128
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)


Pictures: TypeAlias = Sequence[Any]  # one for each section


class Snapshots:
    """One tenant's snapshots. Memories and blocks are kept by reference, never copied.

    So what is erased leaves every snapshot too, and a restore cannot bring it back.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        tenant: str,
        clock: Clock,
        restored: Callable[[SnapshotDiff], None] | None = None,
    ) -> None:
        """`restored` hears of what a restore took back."""
        self._store = store
        self._restored = restored
        self._tenant = tenant
        self._clock = clock
        self._sections: tuple[SnapshotSection[Any, Any], ...] = (
            MemorySection(store, writer, tenant),
            BlockSection(store.documents, tenant),
            DocumentSection(store.documents, tenant, clock),
        )

    def take(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        all_users: bool = False,
        note: str | None = None,
    ) -> Snapshot:
        """Keep what the scope holds now under a name; `Conflict` when its user has that name."""
        reach = Reach(
            tenant=self._tenant,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            all_users=validation.truth_of("all_users", all_users),
        )
        place = SectionPlace(name_of(name), user_id)
        return self._keep(place, reach, self._now(reach), validation.label_of("note", note))

    def list(
        self, *, user_id: str | None = None, all_users: bool = False
    ) -> builtins.list[Snapshot]:
        """The user's snapshots, the newest first; with `all_users` everybody's."""
        reach = Reach(
            tenant=self._tenant,
            user_id=user_id,
            session_id=HEADS,
            all_users=validation.truth_of("all_users", all_users),
        )
        found = everything(self._store.documents, reach, Shelf.SNAPSHOT)
        return [self._snapshot(one) for one in found]

    def get(self, name: str, *, user_id: str | None = None) -> Snapshot:
        """The user's snapshot of that name; else `NotFound`."""
        return self._snapshot(self._head(SectionPlace(name_of(name), user_id)))

    def diff(
        self, name: str, other: str | None = None, *, user_id: str | None = None
    ) -> SnapshotDiff:
        """What happened since the snapshot, until another one or until now."""
        first = self.get(name, user_id=user_id)
        if other is None:
            return self._diff(first, self._opened(first), self._now(first.scope))
        second = self.get(other, user_id=user_id)
        if first.scope != second.scope:
            raise InvalidInput(
                f"The snapshots {name!r} and {other!r} are of different scopes; compare two of "
                "the same user, agent and session."
            )
        return self._diff(first, self._opened(first), self._opened(second), second.name)

    def restore(
        self,
        name: str,
        *,
        user_id: str | None = None,
        dry_run: bool = False,
        actor: str | None = None,
    ) -> Restored:
        """Make the scope what it was, and first take a snapshot that undoes this."""
        snapshot = self.get(name, user_id=user_id)
        by = validation.label_of("actor", actor)
        wanted, present = self._opened(snapshot), self._now(snapshot.scope)
        diff = self._diff(snapshot, wanted, present)
        if validation.truth_of("dry_run", dry_run) or diff.same:
            return Restored(diff=diff, undo=None, dry_run=dry_run)
        undo = self._keep_for_undo(snapshot, wanted, present)
        restoring = Restoring(
            name=snapshot.name,
            at=self._clock.now(),
            actor=by,
            undo=SectionPlace(undo, snapshot.scope.user_id),
        )
        for section, was, now in zip(self._sections, wanted, present, strict=True):
            section.restore(was, now, restoring)
        if self._restored is not None:
            self._restored(diff)
        return Restored(diff=diff, undo=undo)

    def delete(self, name: str, *, user_id: str | None = None) -> None:
        """Remove the snapshot, also one that cannot be read; what it refers to stays."""
        place = SectionPlace(name_of(name), user_id)
        self._head(place)
        found = self._parts(place, Reach(tenant=self._tenant, all_users=True))
        gone = [place.head, *(one.address for one in found)]
        for section in self._sections:
            for part in _of(section.name, found):
                with suppress(*UNREADABLE):
                    gone += section.copies(place, [part])
        self._store.documents.put(self._tenant, [Discard(address=address) for address in gone])

    # -- inside

    def _now(self, reach: Reach) -> Pictures:
        return [section.now(reach) for section in self._sections]

    def _opened(self, snapshot: Snapshot) -> Pictures:
        place = SectionPlace(snapshot.name, snapshot.scope.user_id)
        parts = self._parts(place, snapshot.scope)
        with _readable(snapshot.name):
            return [one.picture(place, _of(one.name, parts)) for one in self._sections]

    def _diff(
        self, snapshot: Snapshot, before: Pictures, after: Pictures, other: str | None = None
    ) -> SnapshotDiff:
        names = (snapshot.name, other or "now")
        memories, blocks, documents = (
            section.changes(was, now, names)
            for section, was, now in zip(self._sections, before, after, strict=True)
        )
        by_what = {
            what: tuple(one for one in memories.found if one.what == what)
            for what in ("added", "removed", "changed")
        }
        return SnapshotDiff(
            name=snapshot.name,
            other=other,
            blocks=blocks.found,
            sessions=documents.found,
            lost=memories.lost + blocks.lost + documents.lost,
            **by_what,
        )

    def _keep_for_undo(self, snapshot: Snapshot, wanted: Pictures, present: Pictures) -> str:
        pictures = [
            section.before(now, was)
            for section, now, was in zip(self._sections, present, wanted, strict=True)
        ]
        note = f"Taken before {snapshot.name!r} was restored."
        stem = f"undo-{self._clock.now():%Y%m%dT%H%M%S}"
        for number in count(1):
            name = stem if number == 1 else f"{stem}-{number}"
            with suppress(Conflict):
                place = SectionPlace(name, snapshot.scope.user_id)
                return self._keep(place, snapshot.scope, pictures, note).name
        raise AssertionError

    def _keep(
        self, place: SectionPlace, reach: Reach, pictures: Pictures, note: str | None
    ) -> Snapshot:
        at = self._clock.now()
        counts: dict[str, int] = {}
        kept: dict[Address, Any] = {}
        for section, picture in zip(self._sections, pictures, strict=True):
            counts |= section.counts(picture)
            for n, part in enumerate(section.parts(place, picture)):
                kept[place.part(section.name, str(n), part.user_id)] = part.value
            kept |= section.copied(place, picture)
        scope = {name: getattr(reach, name) for name in SCOPE}
        head = {"scope": scope, "counts": counts, "note": note}
        puts = [Put(address=place.head, value=head, at=at, expected=0)]
        puts += [Put(address=address, value=value, at=at) for address, value in kept.items()]
        try:
            head_kept = self._store.documents.put(self._tenant, puts)[0]
        except Conflict as error:
            raise Conflict(
                f"There is a snapshot {place.name!r} already; delete it or take another name."
            ) from error
        for section, picture in zip(self._sections, pictures, strict=True):
            section.recheck(place, picture)
        return self._snapshot(head_kept)

    def _head(self, place: SectionPlace) -> Document:
        found = self._store.documents.get(self._tenant, [place.head])
        if not found:
            raise NotFound(f"There is no snapshot {place.name!r} here; list shows which there are.")
        return found[0]

    def _parts(self, place: SectionPlace, scope: Reach) -> builtins.list[Document]:
        """The parts that belong to users in the scope: nobody's snapshot holds another's."""
        reach = replace(scope, agent_id=None, session_id=place.parts)
        return everything(self._store.documents, reach, Shelf.SNAPSHOT)

    def _snapshot(self, head: Document) -> Snapshot:
        with _readable(head.address.name):
            return snapshot_of(self._tenant, head.address, head.value, head.created_at)


def name_of(name: object) -> str:
    """A snapshot's name, or `InvalidInput`."""
    return validation.text_of("name", name, MAX_NAME)


def snapshot_of(tenant: str, head: Address, value: Metadata, at: datetime) -> Snapshot:
    """The snapshot that a head tells of; it is of the user that has it, or of everybody."""
    scope = Reach(tenant=tenant, **value["scope"])
    if scope.user_id != head.user_id:
        raise ValueError("It is of another user.")
    counts = {name: int(count) for name, count in value["counts"].items()}
    note = validation.label_of("note", value["note"])
    return Snapshot(name=head.name, at=at, scope=scope, counts=counts, note=note)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise StoreCorrupt(
            f"The snapshot {name!r} cannot be read; run `rem doctor`, or remove it with `delete`."
        ) from error


def _of(section: str, parts: Sequence[Document]) -> list[SectionPart]:
    """The parts of one section."""
    return [
        SectionPart(one.address.user_id, one.value)
        for one in parts
        if one.address.name.startswith(f"{section}.")
    ]

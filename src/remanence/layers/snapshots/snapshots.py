"""The verbs of snapshots: take one, compare with it, go back to it."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from remanence.clock import Clock
from remanence.errors import Conflict, InvalidInput, NotFound, StoreCorrupt
from remanence.layers.snapshots.blocks import BlockSection
from remanence.layers.snapshots.documents import DocumentSection
from remanence.layers.snapshots.memories import MemorySection
from remanence.layers.snapshots.section import HEADS, Part, Place, Restoring, Section, everything
from remanence.model import accept
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.memory import Metadata
from remanence.model.scope import Reach
from remanence.model.snapshot import Restored, Snapshot, SnapshotDiff
from remanence.ports.store import Store
from remanence.remember.writer import Writer

MAX_NAME = 128
SCOPE = ("user_id", "agent_id", "session_id", "all_users")
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True)
class Album:
    """A snapshot or the present: a picture for each section, by the section's name."""

    name: str
    pictures: Mapping[str, Any]


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
        self._memories = MemorySection(store, writer, tenant)
        self._blocks = BlockSection(store, tenant)
        self._documents = DocumentSection(store, tenant, clock)
        self._sections: tuple[Section[Any, Any], ...] = (
            self._memories,
            self._blocks,
            self._documents,
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
        """Keep what the scope holds now under a name; `Conflict` when its user has that name.

        What is written while it is taken may be in it or not.
        """
        reach = Reach(
            tenant=self._tenant,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            all_users=accept.truth_of("all_users", all_users),
        )
        place = Place(name_of(name), user_id)
        return self._keep(place, reach, self._now(reach), accept.label_of("note", note))

    def list(
        self, *, user_id: str | None = None, all_users: bool = False
    ) -> builtins.list[Snapshot]:
        """The user's snapshots, the newest first; with `all_users` everybody's."""
        reach = Reach(
            tenant=self._tenant,
            user_id=user_id,
            session_id=HEADS,
            all_users=accept.truth_of("all_users", all_users),
        )
        found = everything(self._store, reach, Shelf.SNAPSHOT)
        return [self._snapshot(one) for one in found]

    def get(self, name: str, *, user_id: str | None = None) -> Snapshot:
        """The user's snapshot of that name; else `NotFound`."""
        return self._snapshot(self._head(Place(name_of(name), user_id)))

    def diff(
        self, name: str, other: str | None = None, *, user_id: str | None = None
    ) -> SnapshotDiff:
        """What happened since the snapshot, until another one or until now."""
        first = self.get(name, user_id=user_id)
        if other is None:
            return self._diff(self._opened(first), self._now(first.scope), None)
        second = self.get(other, user_id=user_id)
        if first.scope != second.scope:
            raise InvalidInput(
                f"The snapshots {name!r} and {other!r} are of different scopes; compare two of "
                "the same user, agent and session."
            )
        return self._diff(self._opened(first), self._opened(second), second.name)

    def restore(
        self,
        name: str,
        *,
        user_id: str | None = None,
        dry_run: bool = False,
        actor: str | None = None,
    ) -> Restored:
        """Make the scope what it was, and first take a snapshot that undoes this.

        Memories made since are archived, those that changed get their values back, blocks a new
        version, sessions their values. After an interruption, call it again.
        """
        snapshot = self.get(name, user_id=user_id)
        by = accept.label_of("actor", actor)
        wanted, present = self._opened(snapshot), self._now(snapshot.scope)
        diff = self._diff(wanted, present, None)
        if accept.truth_of("dry_run", dry_run) or diff.same:
            return Restored(diff=diff, undo=None, dry_run=dry_run)
        undo = self._keep_for_undo(snapshot, wanted, present)
        restoring = Restoring(
            name=snapshot.name,
            at=self._clock.now(),
            actor=by,
            undo=Place(undo, snapshot.scope.user_id),
        )
        for section in self._sections:
            section.restore(
                wanted.pictures[section.name], present.pictures[section.name], restoring
            )
        if self._restored is not None:
            self._restored(diff)
        return Restored(diff=diff, undo=undo)

    def delete(self, name: str, *, user_id: str | None = None) -> None:
        """Remove the snapshot, also one that cannot be read; what it refers to stays."""
        place = Place(name_of(name), user_id)
        self._head(place)
        found = self._parts(place, Reach(tenant=self._tenant, all_users=True))
        gone = [place.head, *(one.address for one in found)]
        for section in self._sections:
            for part in _of(section.name, found):
                with suppress(*UNREADABLE):
                    gone += section.copies(place, [part])
        self._store.put(self._tenant, [Discard(address=address) for address in gone])

    # -- inside

    def _now(self, reach: Reach) -> Album:
        return Album("now", {section.name: section.now(reach) for section in self._sections})

    def _opened(self, snapshot: Snapshot) -> Album:
        place = Place(snapshot.name, snapshot.scope.user_id)
        parts = self._parts(place, snapshot.scope)
        with _readable(snapshot.name):
            pictures = {
                section.name: section.picture(place, _of(section.name, parts))
                for section in self._sections
            }
        return Album(snapshot.name, pictures)

    def _diff(self, before: Album, after: Album, other: str | None) -> SnapshotDiff:
        names = (before.name, after.name)
        memories = self._memories.changes(*_both(before, after, self._memories.name), names)
        blocks = self._blocks.changes(*_both(before, after, self._blocks.name), names)
        documents = self._documents.changes(*_both(before, after, self._documents.name), names)
        by_what = {
            what: tuple(one for one in memories.found if one.what == what)
            for what in ("added", "removed", "changed")
        }
        return SnapshotDiff(
            name=before.name,
            other=other,
            blocks=blocks.found,
            sessions=documents.found,
            lost=memories.lost + blocks.lost + documents.lost,
            **by_what,
        )

    def _keep_for_undo(self, snapshot: Snapshot, wanted: Album, present: Album) -> str:
        pictures = {
            section.name: section.before(
                present.pictures[section.name], wanted.pictures[section.name]
            )
            for section in self._sections
        }
        note = f"Taken before {snapshot.name!r} was restored."
        stem = f"undo-{self._clock.now():%Y%m%dT%H%M%S}"
        number = 1
        while True:
            name = stem if number == 1 else f"{stem}-{number}"
            place = Place(name, snapshot.scope.user_id)
            try:
                return self._keep(place, snapshot.scope, Album(name, pictures), note).name
            except Conflict:
                number += 1

    def _keep(self, place: Place, reach: Reach, album: Album, note: str | None) -> Snapshot:
        at = self._clock.now()
        pictures = [(section, album.pictures[section.name]) for section in self._sections]
        parts = {section.name: section.parts(place, picture) for section, picture in pictures}
        counts = [section.counts(picture) for section, picture in pictures]
        head = {
            "scope": {name: getattr(reach, name) for name in SCOPE},
            "counts": {name: n for some in counts for name, n in some.items()},
            "note": note,
        }
        kept_too = [
            (place.part(name, str(n), part.user_id), part.value)
            for name, made in parts.items()
            for n, part in enumerate(made)
        ]
        for section, picture in pictures:
            kept_too += section.copied(place, picture)
        puts = [Put(address=place.head, value=head, at=at, expected=0)]
        puts += [Put(address=address, value=value, at=at) for address, value in kept_too]
        try:
            kept = self._store.put(self._tenant, puts)
        except Conflict as error:
            raise Conflict(
                f"There is a snapshot {place.name!r} already; delete it or take another name."
            ) from error
        self._documents.recheck(place, album.pictures[self._documents.name])
        return self._snapshot(kept[0])

    def _head(self, place: Place) -> Document:
        found = self._store.documents(self._tenant, [place.head])
        if not found:
            raise NotFound(f"There is no snapshot {place.name!r} here; list shows which there are.")
        return found[0]

    def _parts(self, place: Place, scope: Reach) -> builtins.list[Document]:
        """The parts that belong to users in the scope: nobody's snapshot holds another's."""
        reach = replace(scope, agent_id=None, session_id=place.parts)
        return everything(self._store, reach, Shelf.SNAPSHOT)

    def _snapshot(self, head: Document) -> Snapshot:
        with _readable(head.address.name):
            return snapshot_of(self._tenant, head.address, head.value, head.created_at)


def name_of(name: object) -> str:
    """A snapshot's name, or `InvalidInput`."""
    return accept.text_of("name", name, MAX_NAME)


def snapshot_of(tenant: str, head: Address, value: Metadata, at: datetime) -> Snapshot:
    """The snapshot that a head tells of; it is of the user that has it, or of everybody."""
    scope = Reach(tenant=tenant, **value["scope"])
    if scope.user_id != head.user_id:
        raise ValueError("It is of another user.")
    counts = {name: int(count) for name, count in value["counts"].items()}
    note = accept.label_of("note", value["note"])
    return Snapshot(name=head.name, at=at, scope=scope, counts=counts, note=note)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise StoreCorrupt(
            f"The snapshot {name!r} cannot be read; run `rem doctor`, or remove it with `delete`."
        ) from error


def _of(section: str, parts: Sequence[Document]) -> list[Part]:
    """The parts of one section."""
    return [
        Part(one.address.user_id, one.value)
        for one in parts
        if one.address.name.startswith(f"{section}.")
    ]


def _both(before: Album, after: Album, section: str) -> tuple[Any, Any]:
    return before.pictures[section], after.pictures[section]

"""A memory with all that is stored with it, and what a copy does about one that both have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum, StrEnum
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import Any

import orjson

from remanence.api.answers import picked
from remanence.errors import NotFound, StoreBusy
from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord, Revision
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Piece, Pieces

BATCH = 500
BATCH_CHARACTERS = 4_000_000  # a text may have millions
TRIES = 10
DIGESTS = 1 << 128  # digests are added up modulo this

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATETIME


@dataclass(frozen=True, kw_only=True)
class StoredEntry:
    """A memory, its changes after the insertion, and its pieces, oldest embedder first."""

    record: MemoryRecord
    history: tuple[Revision, ...] = ()
    pieces: tuple[Pieces, ...] = ()

    @cached_property
    def digest(self) -> int:
        """The sum of the digests of everything in the entry."""
        id = self.record.id
        items = [item_digest("memory", id, self.record), *self.changes()]
        items += [
            item_digest("piece", id, _place(made.fingerprint, piece), piece.vector, piece.codes)
            for made in self.pieces
            for piece in made.pieces
        ]
        return sum(items) % DIGESTS

    def changes(self) -> list[int]:
        """A digest for each change of the memory, in order."""
        return [item_digest("revision", self.record.id, one) for one in self.history]


def item_digest(what: str, id: str, value: Any, *blobs: bytes) -> int:
    """128 bits of a value that JSON can hold, and of bytes that go with it."""
    told = orjson.dumps([what, id, value, *map(len, blobs)], default=_plain, option=_OPTIONS)
    return int.from_bytes(blake2b(told + b"".join(blobs), digest_size=16).digest())


class EntryReader:
    """Reads the memories of one tenant whole, with the pieces of the given embedders."""

    def __init__(self, store: Store, tenant: str, embedders: Sequence[Fingerprint]) -> None:
        self._store = store
        self._tenant = tenant
        self._embedders = embedders
        self._partitions: dict[str | None, int] = {}

    def batches(self) -> Iterator[dict[str, StoredEntry]]:
        """Every memory, in order of key, by id; memories written meanwhile may be in it."""
        for keys in self._scanned():
            yield self._whole(self._store.archive.get(self._tenant, list(keys)), keys)

    def read(self, ids: Iterable[str]) -> dict[str, StoredEntry]:
        """Those of these memories that the store has."""
        records = self._store.archive.get(self._tenant, list(ids))
        return self._whole(records, self._keys([one.id for one in records]))

    def _keys(self, ids: Sequence[str]) -> dict[str, int]:
        """The keys of memories; those of a copy follow each other, so a scan finds most at once."""
        found: dict[str, int] = {}
        place = self._store.recall.key_of(self._tenant, ids[0]) if ids else None
        if place is not None:
            near = islice(self._store.archive.scan(self._tenant, place[1] - 1), len(ids))
            found = {record.id: key for key, record in near}
        for id in ids:
            if id not in found and (place := self._store.recall.key_of(self._tenant, id)):
                found[id] = place[1]
        return found

    def _scanned(self) -> Iterator[dict[str, int]]:
        keys: dict[str, int] = {}
        characters = 0
        for key, record in self._store.archive.scan(self._tenant):
            keys[record.id] = key
            characters += len(record.text)
            if len(keys) >= BATCH or characters >= BATCH_CHARACTERS:
                yield keys
                keys, characters = {}, 0
        if keys:
            yield keys

    def _whole(
        self, records: Sequence[MemoryRecord], keys: Mapping[str, int]
    ) -> dict[str, StoredEntry]:
        """The entries; a memory that changed while its parts were read is read again."""
        found: dict[str, StoredEntry | None] = {record.id: None for record in records}
        for _ in range(TRIES):
            found |= self._once([one for one in records if one.id in keys], keys)
            now = {
                one.id: one
                for one in self._store.archive.get(self._tenant, [one.id for one in records])
            }
            found |= {one.id: None for one in records if one.id not in now}
            there = [one for one in records if one.id in now]
            records = [now[one.id] for one in there if now[one.id].version != one.version]
            if not records:
                return {id: entry for id, entry in found.items() if entry is not None}
        raise StoreBusy(
            f"The memory {records[0].id} changes faster than it can be read; try again."
        )

    def _once(
        self, records: Sequence[MemoryRecord], keys: Mapping[str, int]
    ) -> dict[str, StoredEntry | None]:
        pieces = self._pieces(records, keys)
        found: dict[str, StoredEntry | None] = {}
        for record in records:
            try:
                history = self._history(record)
            except NotFound:  # erased since it was read
                found[record.id] = None
                continue
            made = tuple(pieces.get(record.id, ()))
            found[record.id] = StoredEntry(record=record, history=history, pieces=made)
        return found

    def _history(self, record: MemoryRecord) -> tuple[Revision, ...]:
        """The changes after the insertion; none has been made to a first version."""
        if record.version == 1:
            return ()
        return tuple(self._store.archive.history(self._tenant, record.id)[1:])

    def _pieces(
        self, records: Sequence[MemoryRecord], keys: Mapping[str, int]
    ) -> dict[str, list[Pieces]]:
        made: dict[str, list[Pieces]] = defaultdict(list)
        by_user: dict[str | None, dict[int, str]] = defaultdict(dict)
        for record in records:
            by_user[record.user_id][keys[record.id]] = record.id
        for fingerprint in self._embedders:
            for user, ids in by_user.items():
                for id, pieces in self._stored(fingerprint, user, ids).items():
                    made[id].append(Pieces(fingerprint=fingerprint, pieces=tuple(pieces)))
        return made

    def _stored(
        self, fingerprint: Fingerprint, user: str | None, ids: Mapping[int, str]
    ) -> dict[str, list[Piece]]:
        found: dict[str, list[Piece]] = defaultdict(list)
        for one in self._store.vectors.pieces(fingerprint, self._partition(user), list(ids)):
            blobs = {"vector": bytes(one.vector), "codes": bytes(one.codes)}
            found[ids[one.key]].append(picked(Piece, one, **blobs))
        return found

    def _partition(self, user: str | None) -> int:
        if user not in self._partitions:
            (found,) = self._store.recall.partitions(Reach(tenant=self._tenant, user_id=user))
            self._partitions[user] = found
        return self._partitions[user]


def _place(made_by: Fingerprint, piece: Piece) -> list[Any]:
    return [made_by, piece.part, piece.passage, piece.start, piece.stop]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} has no canonical form")


SHOWN = 10

MOST_USES = 1000  # beyond that many at once, a memory is written anew


class Why(StrEnum):
    """In what way the target is not as the source."""

    MISSING = "missing"
    DIFFERS = "differs"
    CHANGED = "changed in the target"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not alike in both; `id` is its own, a memory's or a document's name."""

    tenant: str
    what: str  # memory, link, feedback, entity, claim, mention or document
    id: str
    why: Why


@dataclass(frozen=True, slots=True)
class Differences:
    """How many there are, and the first of them."""

    count: int = 0
    first: tuple[Difference, ...] = ()

    def with_one(self, more: Difference) -> Differences:
        """These and one more."""
        return self.with_all(Differences(1, (more,)))

    def with_all(self, more: Differences) -> Differences:
        """These and others."""
        return Differences(self.count + more.count, (*self.first, *more.first)[:SHOWN])


class CopyStep(Enum):
    """What the copy does about one memory."""

    ADD = "add"
    PASS = "pass"  # noqa: S105
    COMPLETE = "complete"
    REPLACE = "replace"
    KEEP = "keep"


def decide(mine: StoredEntry, theirs: StoredEntry | None, *, overwrite: bool = False) -> CopyStep:
    """What makes the target's memory as the source's, unless the target's moved on by itself."""
    if theirs is None:
        return CopyStep.ADD
    if mine.digest == theirs.digest:
        return CopyStep.PASS
    if _body(mine) == _body(theirs) and _is_ahead_in_the_rest(mine, theirs):
        return CopyStep.COMPLETE if uses_lacking(mine, theirs) <= MOST_USES else CopyStep.REPLACE
    if overwrite or _has_moved_on(mine, theirs):
        return CopyStep.REPLACE
    return CopyStep.KEEP


def _body(entry: StoredEntry) -> list[int]:
    unused = replace(entry.record, uses=0, used_at=None)
    return [item_digest("memory", unused.id, unused), *entry.changes()]


def _is_ahead_in_the_rest(mine: StoredEntry, theirs: StoredEntry) -> bool:
    """Whether adding pieces and uses to the target's makes it as the source's."""
    made = {one.fingerprint for one in mine.pieces}
    if not all(one.fingerprint in made for one in theirs.pieces):
        return False
    ours, used = mine.record, theirs.record
    if ours.uses == used.uses:
        return ours.used_at == used.used_at
    return ours.uses > used.uses and (
        ours.used_at is not None and (used.used_at is None or used.used_at <= ours.used_at)
    )


def uses_lacking(mine: StoredEntry, theirs: StoredEntry) -> int:
    """How many uses the source's memory has beyond the target's."""
    return mine.record.uses - theirs.record.uses


def pieces_lacking(mine: StoredEntry, theirs: StoredEntry) -> list[Pieces]:
    """The pieces that the target does not have, or has otherwise."""
    there = set(theirs.pieces)
    return [made for made in mine.pieces if made not in there]


def _has_moved_on(mine: StoredEntry, theirs: StoredEntry) -> bool:
    """Whether the source's memory is the target's with further changes."""
    if mine.record.version <= theirs.record.version:
        return False
    return _body(_as_of(mine, theirs.record)) == _body(theirs)


def _as_of(entry: StoredEntry, then: MemoryRecord) -> StoredEntry:
    """The entry as it was in that version; when it was changed last is taken from the record."""
    values: dict[str, Any] = {"version": then.version, "updated_at": then.updated_at}
    later = [one for one in entry.history if one.version > then.version]
    for revision in reversed(later):
        values |= revision.before
    past = tuple(one for one in entry.history if one.version <= then.version)
    return replace(entry, record=replace(entry.record, **values), history=past)

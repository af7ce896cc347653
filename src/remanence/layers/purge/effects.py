"""What followed from memories that are taken back, and what is left without some of its changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from remanence.errors import NotFound
from remanence.layers.blocks.documents import GONE, Content, content_of
from remanence.memories.draft import COMPARED, same
from remanence.memories.lineage import MERGED_INTO, SHOWING, SUMMARISES, originals
from remanence.memories.merges import MERGED
from remanence.model.document import Edition
from remanence.model.erasure import Blame
from remanence.model.filter import Compare
from remanence.model.memory import MemoryRecord, Revision, State, as_known
from remanence.model.ports.store import Store
from remanence.model.scope import Reach

PAGE = 1_000

VERB = "purged"

GATHERED = "gathered"  # the verb of what merging does to the memory that stays
_RETOLD = ("summarised", "outdated")  # the verbs of a summary's changes with its sources
_TOLD = ("added", "summarised")  # … of those that gave it a text
_SAID = frozenset({"text", "speaker", "role", "kind"})  # by which merging takes two for one

Link = tuple[str, str, str]


class PastVersions:
    """Reads a tenant's memories by id, and what happened to them."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._records: dict[str, MemoryRecord] = {}
        self._histories: dict[str, list[Revision]] = {}

    def changed_since(self, reach: Reach, moment: datetime | None) -> Iterator[MemoryRecord]:
        """Every memory in reach, in any state, that came in or changed from that moment on."""
        where = None if moment is None else Compare("updated_at", "gte", moment, field=True)
        return self._store.archive.walk(reach, where)

    def keep(self, records: Iterable[MemoryRecord]) -> None:
        """Take note of records that were read elsewhere."""
        self._records |= {one.id: one for one in records}

    def get(self, ids: Iterable[str]) -> list[MemoryRecord]:
        """The memories with these ids; those that are gone are left out."""
        wanted = list(dict.fromkeys(ids))
        unread = [id for id in wanted if id not in self._records]
        for at in range(0, len(unread), PAGE):
            self.keep(self._store.archive.get(self._tenant, unread[at : at + PAGE]))
        return [self._records[id] for id in wanted if id in self._records]

    def history(self, record: MemoryRecord) -> list[Revision]:
        """What happened to a memory, oldest first; nothing if it has gone."""
        if record.id not in self._histories:
            try:
                self._histories[record.id] = self._store.archive.history(self._tenant, record.id)
            except NotFound:
                self._histories[record.id] = []
        return self._histories[record.id]


class Undone(NamedTuple):
    """New values for fields, and the fields that somebody else changed since."""

    changes: dict[str, Any]
    kept: list[str]


class Return(NamedTuple):
    """The version that a block goes back to, 0 for none, and what it said then."""

    version: int
    content: Content


def original(record: MemoryRecord, history: Sequence[Revision], name: str) -> Any:
    """The value that a field had when the memory came in."""
    told = (one.before[name] for one in history if name in one.before)
    return next(told, getattr(record, name))


def guilty(history: Sequence[Revision], blame: Blame) -> set[int]:
    """The versions that are to be undone; never what a purge did, nor the insertion."""
    return {one.version for one in history[1:] if one.verb != VERB and blame.did(one.at, one.actor)}


def undone(record: MemoryRecord, history: Sequence[Revision], versions: Container[int]) -> Undone:
    """The record's fields as they would be without these versions.

    A field is given back only where the last that changed it is to be undone. One that a purge gave
    back already is what it should be.
    """
    changes: dict[str, Any] = {}
    kept: list[str] = []
    for name in COMPARED:
        line = [one for one in history if name in one.before]
        at = len(line)
        while at and line[at - 1].version in versions:
            at -= 1
        if at < len(line):
            value = line[at].before[name]
            if not same(value, getattr(record, name)):
                changes[name] = value
        elif _overruled(line, versions):
            kept.append(name)
    return Undone(changes, kept)


def block_return(editions: Sequence[Edition], blame: Blame) -> Return | None:
    """Where a block goes back to; None where somebody else, or a purge, edited it since."""
    at = len(editions)
    while at and _is_guilty(editions[at - 1], blame):
        at -= 1
    if at == len(editions):
        return None
    before = editions[at - 1] if at else None
    content = GONE if before is None else content_of(before.value)
    return Return(0 if before is None or content.deleted else before.version, content)


def block_overruled(editions: Sequence[Edition], blame: Blame) -> bool:
    """Whether there is an edit to be undone that somebody else has edited over."""
    versions = {one.version for one in editions if _is_guilty(one, blame)}
    return bool(versions) and _overruled(editions, versions)


def _is_guilty(edition: Edition, blame: Blame) -> bool:
    return edition.verb != VERB and blame.did(edition.at, edition.author)


def _overruled(line: Sequence[Revision | Edition], versions: Container[int]) -> bool:
    """Whether others changed what was to be undone, and no purge came first."""
    last = max((n for n, one in enumerate(line) if one.version in versions), default=None)
    return last is not None and last + 1 < len(line) and line[last + 1].verb != VERB


@dataclass(eq=False)
class Following:
    """Finds, for memories that go, the versions of others that would not be without them.

    `guilty` are the versions to undo, by memory; what is found here is added to it.
    """

    store: Store
    tenant: str
    past: PastVersions
    culprits: Mapping[str, MemoryRecord]
    guilty: dict[str, set[int]]
    unlinked: dict[str, list[Link]] = field(default_factory=lambda: defaultdict(list), init=False)
    below: set[str] = field(
        default_factory=set, init=False
    )  # summaries that tell of a memory that goes
    holding: set[str] = field(default_factory=set, init=False)  # summaries that are true again

    def merges(self) -> None:
        """What was merged with those that go, or by a text that is to be undone, is apart again.

        A memory that gathered others at the same time stays what it became.
        """
        spoilt = self._since(_SAID)
        groups: dict[str, set[datetime]] = defaultdict(set)
        into = [one for one in self.past.get(spoilt) if one.superseded_by]
        for one in (*self._chunked(originals_of=spoilt), *into):
            merged = _last(self.past.history(one), MERGED)
            since = [spoilt[id] for id in (one.id, str(one.superseded_by)) if id in spoilt]
            if merged is not None and merged.at >= min(since):
                groups[str(one.superseded_by)].add(merged.at)
                if one.id not in self.culprits:
                    self._add(one, {merged.version})
        for survivor in self.past.get(groups.keys() - self.culprits.keys()):
            self._gathered(survivor, groups[survivor.id])

    def summaries(self) -> None:
        """Summaries that were there before go back to what they said then, if that still holds."""
        tainted = self._since(SHOWING)
        frontier = list(tainted)
        while frontier:
            found = self.past.get(self._above(frontier))
            frontier = [one.id for one in found if one.id not in tainted]
            for one in found:
                if one.id not in self.culprits:
                    self._summary(one, tainted)

    def _summary(self, one: MemoryRecord, tainted: dict[str, datetime]) -> None:
        sources = self.store.links.pointed(self.tenant, [one.id], SUMMARISES)
        first = min((tainted[id] for id in sources if id in tainted), default=None)
        if first is None or one.created_at >= first:
            tainted.setdefault(one.id, one.created_at)
            return
        history = self.past.history(one)
        retold = {r.version for r in history if r.verb in _RETOLD and r.at >= first}
        own = self.guilty.get(one.id, set())
        gone = [id for id in sources if id in self.culprits]
        self.below.update([one.id] if gone else [])
        tainted.setdefault(one.id, first)
        if self._still_holds(one, history, retold | own, set(sources).difference(gone)):
            self._add(one, retold)
            self.holding.add(one.id)
            self.unlinked[one.id] = [(one.id, id, SUMMARISES) for id in gone]

    def _still_holds(
        self, one: MemoryRecord, history: list[Revision], versions: set[int], sources: set[str]
    ) -> bool:
        """Whether its sources will be what they were when the version was written that returns."""
        if undone(one, history, versions).changes.get("state", one.state) != State.ACTIVE:
            return False
        told = (r.at for r in history if r.verb in _TOLD and r.version not in versions)
        written = max(told, default=one.created_at)
        for source in self.past.get(sources):
            was = as_known(source, self.past.history(source), written)
            will = self._goal(source)
            if was is not None and any(getattr(was, n) != getattr(will, n) for n in SHOWING):
                return False
        return True

    def _goal(self, record: MemoryRecord) -> MemoryRecord:
        versions = self.guilty.get(record.id)
        if not versions:
            return record
        return replace(record, **undone(record, self.past.history(record), versions).changes)

    def _gathered(self, survivor: MemoryRecord, moments: set[datetime]) -> None:
        merged = [
            (one, _last(self.past.history(one), MERGED))
            for one in originals(self.store, self.tenant, [survivor.id])
        ]
        for moment in moments:
            at_once = [one for one, how in merged if how is not None and how.at == moment]
            if all(one.id in self.culprits or self._is_parted(one) for one in at_once):
                found = self.past.history(survivor)
                gathered = {r.version for r in found if r.verb == GATHERED and r.at == moment}
                self._add(survivor, gathered)

    def _is_parted(self, record: MemoryRecord) -> bool:
        """Whether its merge is to be undone."""
        merged = _last(self.past.history(record), MERGED)
        return merged is not None and merged.version in self.guilty.get(record.id, ())

    def _since(self, fields: Set[str]) -> dict[str, datetime]:
        """Since when memories tell what is taken back, or have it in one of these fields."""
        first = {id: self._first(id, versions, fields) for id, versions in self.guilty.items()}
        came = {id: one.created_at for id, one in self.culprits.items()}
        return came | {id: at for id, at in first.items() if at}

    def _first(self, id: str, versions: set[int], fields: Set[str]) -> datetime | None:
        """When one of these fields was first changed by what is to be undone."""
        records = self.past.get([id])
        told = (r for one in records for r in self.past.history(one) if r.version in versions)
        return min((r.at for r in told if not fields.isdisjoint(r.before)), default=None)

    def _chunked(self, *, originals_of: Iterable[str]) -> Iterator[MemoryRecord]:
        ids = list(originals_of)
        for at in range(0, len(ids), PAGE):
            found = originals(self.store, self.tenant, ids[at : at + PAGE])
            self.past.keep(found)
            yield from found

    def _above(self, ids: list[str]) -> Iterator[str]:
        for at in range(0, len(ids), PAGE):
            yield from self.store.links.pointing(self.tenant, ids[at : at + PAGE], SUMMARISES)

    def _add(self, record: MemoryRecord, versions: set[int]) -> None:
        if versions:
            self.past.keep([record])
            self.guilty.setdefault(record.id, set()).update(versions)


def unmerging(record: MemoryRecord, values: Mapping[str, object]) -> list[Link]:
    """The link that goes when a memory is no longer merged into another."""
    if record.superseded_by is None or "superseded_by" not in values:
        return []
    return [(record.id, record.superseded_by, MERGED_INTO)]


def _last(history: Iterable[Revision], verb: str) -> Revision | None:
    return max((r for r in history if r.verb == verb), key=lambda r: r.version, default=None)

"""What to take back: decided from what is stored, nothing is changed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from remanence.layers.blocks.documents import content_of
from remanence.layers.purge.effects import (
    Following,
    Link,
    PastVersions,
    Return,
    block_overruled,
    block_return,
    guilty,
    original,
    undone,
    unmerging,
)
from remanence.layers.snapshots.section import everything
from remanence.layers.usage import TOGETHER
from remanence.memories.lineage import MERGED_INTO, SUMMARISES
from remanence.model.document import Document, Shelf
from remanence.model.erasure import Blame, KeptChange
from remanence.model.knowledge import Claim
from remanence.model.memory import Association, MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.query import ALL
from remanence.model.scope import Reach

OVERRULED = "somebody else changed it since"
_OWN = (TOGETHER, SUMMARISES, MERGED_INTO)  # links that are no caller's
_CALLER = "caller"
_AWAY: Mapping[str, Any] = {"state": State.QUARANTINED, "superseded_by": None}


@dataclass(frozen=True, slots=True)
class MemoryRevert:
    """New values for a memory, and links that go with the old ones."""

    record: MemoryRecord
    values: Mapping[str, Any]
    unlinked: tuple[Link, ...] = ()

    @property
    def links(self) -> tuple[Link, ...]:
        """The link that comes where a memory is merged into another again."""
        heir = self.values.get("superseded_by")
        return () if heir is None else ((self.record.id, heir, MERGED_INTO),)

    @property
    def returns(self) -> bool:
        """Whether it is active again."""
        return self.values.get("state") == State.ACTIVE


@dataclass(frozen=True, slots=True)
class BlockRevert:
    """A block and what it goes back to."""

    document: Document
    to: Return


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlan:
    """What to do, in this order; to `culprits` in the end, as long as what follows can be seen."""

    changes: Sequence[MemoryRevert] = ()
    culprits: Sequence[MemoryRecord] = ()
    blocks: Sequence[BlockRevert] = ()
    claims: Sequence[str] = ()
    entities: Sequence[str] = ()
    links: Sequence[Link] = ()
    left: Set[str] = frozenset()  # summaries that are not out of date by the changes
    kept: Sequence[KeptChange] = field(default_factory=tuple)


class PurgePlanner:
    """Plans a purge of what is in reach. With `erase`, summaries of what goes will go with it."""

    def __init__(self, store: Store, reach: Reach, blame: Blame, *, erase: bool) -> None:
        self._store = store
        self._reach = reach
        self._blame = blame
        self._erase = erase
        self._past = PastVersions(store, reach.tenant)
        self._culprits: dict[str, MemoryRecord] = {}
        self._guilty: dict[str, set[int]] = {}

    def plan(self) -> PurgePlan:
        """What is to be taken back, as things are now."""
        self._look()
        following = Following(
            self._store, self._reach.tenant, self._past, self._culprits, self._guilty
        )
        following.merges()
        following.summaries()
        if self._erase:
            following.holding -= following.below
            for id in following.below:
                self._guilty.pop(id, None)
        changes, kept = self._changes(following)
        blocks, others = self._blocks()
        claims = list(self._claims())
        return PurgePlan(
            changes=changes,
            culprits=list(self._culprits.values()),
            blocks=blocks,
            claims=[one.id for one in claims],
            entities=list(self._entities(claims, changes)),
            links=list(self._links()),
            left=following.holding | self._culprits.keys(),
            kept=[*kept, *others],
        )

    def culprits(self) -> list[MemoryRecord]:
        """The memories that were brought in by whoever is to blame."""
        self._look()
        return list(self._culprits.values())

    def _look(self) -> None:
        for record in self._past.changed_since(self._reach, self._blame.since):
            if record.version == 1 and not self._came_so(record):
                continue
            self._past.keep([record])
            if self._came_so(record):
                self._culprits[record.id] = record
            elif versions := guilty(self._past.history(record), self._blame):
                self._guilty[record.id] = versions

    def _came_so(self, record: MemoryRecord) -> bool:
        """Whether a memory was brought in by whoever is to blame, whatever it says now."""
        if not self._blame.during(record.created_at):
            return False
        history = self._past.history(record) if record.version > 1 else ()
        wanted = self._blame.labels.items()
        return all(original(record, history, name) == value for name, value in wanted)

    def _changes(self, following: Following) -> tuple[list[MemoryRevert], list[KeptChange]]:
        changes, kept = list[MemoryRevert](), list[KeptChange]()
        for record in self._past.get(self._survivors_first()):
            made = undone(record, self._past.history(record), self._guilty[record.id])
            links = (*unmerging(record, made.changes), *following.unlinked.get(record.id, ()))
            if made.changes or links:
                changes.append(MemoryRevert(record, made.changes, links))
            kept += [
                KeptChange(what="memory", id=record.id, field=name, reason=OVERRULED)
                for name in made.kept
            ]
        return changes, kept

    def _survivors_first(self) -> list[str]:
        """What is to be undone, merges from the top: they are found by what was merged last."""
        heirs = {one.id: one.superseded_by for one in self._past.get(self._guilty)}

        def depth(id: str) -> int:
            seen = {id}
            while (heir := heirs.get(id)) is not None and heir not in seen:
                seen.add(heir)
                id = heir
            return len(seen)

        return sorted(heirs, key=depth)

    def _blocks(self) -> tuple[list[BlockRevert], list[KeptChange]]:
        changes, kept = list[BlockRevert](), list[KeptChange]()
        if self._blame.source is not None or self._blame.origin is not None:
            return changes, kept
        for document in everything(self._store.documents, self._reach, Shelf.BLOCK):
            editions = self._store.documents.editions(self._reach.tenant, document.address)
            to = block_return(editions, self._blame)
            if to is not None and to.content != content_of(document.value):
                changes.append(BlockRevert(document, to))
            elif to is None and block_overruled(editions, self._blame):
                name = document.address.name
                kept.append(KeptChange(what="block", id=name, field=None, reason=OVERRULED))
        return changes, kept

    def _claims(self) -> Iterator[Claim]:
        """What callers stated then, or with these labels in its metadata."""
        wanted = self._blame.labels
        for one in self._store.knowledge.claims(self._reach, limit=ALL, newest_first=True):
            told = all(one.metadata.get(name) == value for name, value in wanted.items())
            stated = one.origin == _CALLER and one.memory not in self._culprits
            if stated and told and self._blame.during(one.recorded_at):
                yield one

    def _entities(self, gone: Sequence[Claim], changes: Sequence[MemoryRevert]) -> Iterator[str]:
        """Entities that came in with what goes, or that callers made in the span; nobody else
        speaks of them. Their names would still tell others apart."""
        retold = {one.record.id for one in changes if "text" in one.values}
        going = [*gone, *self._said_by(retold)]
        named = {id for one in going for id in (one.subject, one.object)}
        since = min((one.created_at for one in self._culprits.values()), default=None)
        silent = self._culprits.keys() | retold
        for one in self._store.knowledge.entities(self._reach, limit=ALL):
            late = since is not None and since <= one.created_at
            made = not self._blame.labels and self._blame.during(one.created_at)
            meant = made if one.given else late or one.id in named
            if meant and self._unsaid(one.id, {claim.id for claim in going}, silent):
                yield one.id

    def _said_by(self, ids: set[str]) -> Iterator[Claim]:
        """What was found in texts that are to be undone."""
        first = {
            one.id: min(r.at for r in self._past.history(one) if r.version in self._guilty[one.id])
            for one in self._past.get(ids)
        }
        found = (
            self._store.knowledge.claims(self._reach, memories=sorted(ids), limit=ALL)
            if ids
            else ()
        )
        for one in found:
            if one.origin != _CALLER and one.recorded_at >= first[str(one.memory)]:
                yield one

    def _unsaid(self, entity: str, gone: Container[str], silent: Container[str]) -> bool:
        said = self._store.knowledge.claims(self._reach, about=[entity])
        spoken = self._store.knowledge.mentions(self._reach, [entity])
        return all(one.id in gone or one.memory in self._culprits for one in said) and all(
            one.memory in silent for one in spoken
        )

    def _links(self) -> Iterator[Link]:
        """Links that callers made in the span between memories that stay."""
        if self._blame.labels:
            return
        made = [one for one in self._store.links.scan(self._reach.tenant) if self._is_meant(one)]
        ends = {one.id: one for one in self._past.get(one.source for one in made)}
        for one in made:
            owner = ends[one.source].user_id if one.source in ends else None
            if self._reach.all_users or owner == self._reach.user_id:
                yield one.source, one.target, one.type

    def _is_meant(self, link: Association) -> bool:
        apart = {link.source, link.target}.isdisjoint(self._culprits)
        return link.type not in _OWN and apart and self._blame.during(link.created_at)


def removals(culprits: Sequence[MemoryRecord]) -> list[MemoryRevert]:
    """How memories go into quarantine; those that are there already are left out."""
    found = []
    for one in culprits:
        values = {name: value for name, value in _AWAY.items() if getattr(one, name) != value}
        if values:
            found.append(MemoryRevert(one, values, tuple(unmerging(one, values))))
    return found

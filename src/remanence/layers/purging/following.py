"""What followed from memories that are taken back: merges with them, summaries made of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from datetime import datetime

from remanence.layers.purging.past import Past
from remanence.layers.purging.undoing import undone
from remanence.model.memory import MemoryRecord, Revision, State, as_known
from remanence.ports.store import Store
from remanence.remember.lineage import MERGED_INTO, SHOWING, SUMMARISES, originals
from remanence.remember.unmerging import MERGED

GATHERED = "gathered"  # the verb of what merging does to the memory that stays
_RETOLD = ("summarised", "outdated")  # the verbs of a summary's changes with its sources
_TOLD = ("added", "summarised")  # … of those that gave it a text
_SAID = frozenset({"text", "speaker", "role", "kind"})  # by which merging takes two for one
_CHUNK = 1_000

Link = tuple[str, str, str]


class Following:
    """Finds, for memories that go, the versions of others that would not be without them.

    `guilty` are the versions to undo, by memory; what is found here is added to it.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        past: Past,
        culprits: Mapping[str, MemoryRecord],
        guilty: dict[str, set[int]],
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._past = past
        self._culprits = culprits
        self._guilty = guilty
        self.unlinked: dict[str, list[Link]] = defaultdict(list)
        self.below: set[str] = set()  # summaries that tell of a memory that goes
        self.holding: set[str] = set()  # summaries that are true again

    def merges(self) -> None:
        """What was merged with those that go, or by a text that is to be undone, is apart again.

        A memory that gathered others at the same time stays what it became.
        """
        spoilt = {id: one.created_at for id, one in self._culprits.items()}
        for id, versions in self._guilty.items():
            if at := self._first(id, versions, _SAID):
                spoilt[id] = at
        groups: dict[str, set[datetime]] = defaultdict(set)
        into = [one for one in self._past.get(spoilt) if one.superseded_by]
        for one in (*self._chunked(originals_of=spoilt), *into):
            merged = _last(self._past.history(one), MERGED)
            since = [spoilt[id] for id in (one.id, str(one.superseded_by)) if id in spoilt]
            if merged is not None and merged.at >= min(since):
                groups[str(one.superseded_by)].add(merged.at)
                if one.id not in self._culprits:
                    self._add(one, {merged.version})
        for survivor in self._past.get(groups.keys() - self._culprits.keys()):
            self._gathered(survivor, groups[survivor.id])

    def summaries(self) -> None:
        """Summaries that were there before go back to what they said then, if that still holds."""
        tainted = {id: one.created_at for id, one in self._culprits.items()}
        for id, versions in self._guilty.items():
            if at := self._first(id, versions, SHOWING):
                tainted[id] = at
        frontier = list(tainted)
        while frontier:
            found = self._past.get(self._above(frontier))
            frontier = [one.id for one in found if one.id not in tainted]
            for one in found:
                if one.id not in self._culprits:
                    self._summary(one, tainted)

    def _summary(self, one: MemoryRecord, tainted: dict[str, datetime]) -> None:
        sources = self._store.pointed(self._tenant, [one.id], SUMMARISES)
        first = min((tainted[id] for id in sources if id in tainted), default=None)
        if first is None or one.created_at >= first:
            tainted.setdefault(one.id, one.created_at)
            return
        history = self._past.history(one)
        retold = {r.version for r in history if r.verb in _RETOLD and r.at >= first}
        own = self._guilty.get(one.id, set())
        gone = [id for id in sources if id in self._culprits]
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
        for source in self._past.get(sources):
            was = as_known(source, self._past.history(source), written)
            will = self._goal(source)
            if was is not None and any(getattr(was, n) != getattr(will, n) for n in SHOWING):
                return False
        return True

    def _goal(self, record: MemoryRecord) -> MemoryRecord:
        versions = self._guilty.get(record.id)
        if not versions:
            return record
        return replace(record, **undone(record, self._past.history(record), versions).changes)

    def _gathered(self, survivor: MemoryRecord, moments: set[datetime]) -> None:
        merged = originals(self._store, self._tenant, [survivor.id])
        for moment in moments:
            at_once = [one for one in merged if self._merged_at(one) == moment]
            if all(one.id in self._culprits or self._is_parted(one) for one in at_once):
                found = self._past.history(survivor)
                gathered = {r.version for r in found if r.verb == GATHERED and r.at == moment}
                self._add(survivor, gathered)

    def _is_parted(self, record: MemoryRecord) -> bool:
        """Whether its merge is to be undone."""
        merged = _last(self._past.history(record), MERGED)
        return merged is not None and merged.version in self._guilty.get(record.id, ())

    def _merged_at(self, record: MemoryRecord) -> datetime | None:
        merged = _last(self._past.history(record), MERGED)
        return None if merged is None else merged.at

    def _first(self, id: str, versions: set[int], fields: Set[str]) -> datetime | None:
        """When one of these fields was first changed by what is to be undone."""
        records = self._past.get([id])
        told = (r for one in records for r in self._past.history(one) if r.version in versions)
        return min((r.at for r in told if not fields.isdisjoint(r.before)), default=None)

    def _chunked(self, *, originals_of: Iterable[str]) -> Iterator[MemoryRecord]:
        ids = list(originals_of)
        for at in range(0, len(ids), _CHUNK):
            found = originals(self._store, self._tenant, ids[at : at + _CHUNK])
            self._past.keep(found)
            yield from found

    def _above(self, ids: list[str]) -> Iterator[str]:
        for at in range(0, len(ids), _CHUNK):
            yield from self._store.pointing(self._tenant, ids[at : at + _CHUNK], SUMMARISES)

    def _add(self, record: MemoryRecord, versions: set[int]) -> None:
        if versions:
            self._past.keep([record])
            self._guilty.setdefault(record.id, set()).update(versions)


def unmerging(record: MemoryRecord, values: Mapping[str, object]) -> list[Link]:
    """The link that goes when a memory is no longer merged into another."""
    if record.superseded_by is None or "superseded_by" not in values:
        return []
    return [(record.id, record.superseded_by, MERGED_INTO)]


def _last(history: Iterable[Revision], verb: str) -> Revision | None:
    return max((r for r in history if r.verb == verb), key=lambda r: r.version, default=None)

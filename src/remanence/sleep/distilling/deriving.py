"""Storing what sleep makes of memories: once for each set of sources, anew when that has grown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from remanence.clock import FixedClock
from remanence.errors import NotFound
from remanence.model.memory import Association, Kind, MemoryRecord, State
from remanence.model.sleep import Deed, Night, Status
from remanence.model.write import Insert, Revise
from remanence.ports.store import Store
from remanence.remember.lineage import SOURCES, SUMMARISES
from remanence.sleep.journal import Journal
from remanence.sleep.merging.deeds import MERGED_INTO

ORIGIN = "sleep"
THEME = "remanence.theme"  # in the metadata of what was derived: what it is about
MONTH = "remanence.month"
CHANGE = "remanence.change"  # which change a reflection tells of, none if it tells of a theme
GROWN = 0.1  # of what a memory was made of must be new, or every night would tell it again
# Whose last change was one of these was not put aside by its owner.
_NOT_DECLINED = frozenset({"outdated", "superseded"})
_UNDONE, _RUN = "undone", "run "

Insertion: TypeAlias = Callable[[MemoryRecord], Insert]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What is to be derived. `labels` tell it apart from others of the same sources.

    It happened when the last of its sources did, unless `happened_at` says otherwise.
    """

    kind: Kind
    text: str
    importance: float
    sources: Sequence[MemoryRecord]
    why: str
    labels: Mapping[str, Any] = field(default_factory=dict)
    happened_at: datetime | None = None


class Deriving:
    """Turns drafts into deeds, unless what they would say stands already or was put aside."""

    def __init__(self, store: Store, insertion: Insertion, new_id: Callable[[], UUID]) -> None:
        self._store = store
        self._insertion = insertion
        self._new_id = new_id
        self._derived: dict[str, MemoryRecord] = {}
        self._sources: dict[str, frozenset[str]] = {}

    def begin(self) -> None:
        """A plan begins: what was read for the last one may have changed."""
        self._derived.clear()
        self._sources.clear()

    def former(
        self, kind: Kind, sources: Sequence[MemoryRecord], labels: Mapping[str, Any]
    ) -> Former:
        """What was derived before from at least half of these sources, or of its own.

        It tells of the same month and the same change, where `labels` name one. What was put aside
        or undone stays so until there is twice as much to tell.
        """
        tenant, ids = sources[0].tenant, [source.id for source in sources]
        wanted = _labels(labels)
        standing: list[MemoryRecord] = []
        new = True
        for one in self._above(tenant, ids):
            if one.kind != kind or _labels(one.metadata) != wanted:
                continue
            covered, whole = self._covered(tenant, one.id, ids)
            if 2 * covered < min(whole, len(ids)):
                continue
            if one.state == State.ACTIVE:
                standing.append(one)
                new = new and len(ids) - covered >= max(1, GROWN * covered)
            elif 2 * covered >= len(ids) and self._declined(one):
                new = False
        return Former(new, tuple(standing))

    def told(self, sources: Sequence[MemoryRecord]) -> bool:
        """Whether a distilled memory has most of these sources; one that was put aside, too."""
        tenant, ids = sources[0].tenant, [source.id for source in sources]
        return any(
            one.kind == Kind.SEMANTIC
            and (one.state == State.ACTIVE or self._declined(one))
            and 2 * self._covered(tenant, one.id, ids)[0] >= len(ids)
            for one in self._above(tenant, ids)
        )

    def months(self, sources: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """The reflections on a month that tell nothing but a part of these sources."""
        tenant, ids = sources[0].tenant, [source.id for source in sources]
        standing = (one for one in self._above(tenant, ids) if one.state == State.ACTIVE)
        return [
            one
            for one in standing
            if one.kind == Kind.REFLECTION
            and CHANGE not in one.metadata
            and len(set(self._covered(tenant, one.id, ids))) == 1
        ]

    def deed(self, night: Night, draft: Draft, standing: Sequence[MemoryRecord]) -> Deed:
        """Insert the draft in place of those that stand, in one go."""
        new = self._insertion(self._record(night, draft))
        archive = tuple(
            Revise(
                id=one.id,
                changes={"state": State.ARCHIVED, "superseded_by": new.record.id},
                verb="superseded",
                at=night.now,
                reason=draft.why,
                expected=one.version,
            )
            for one in standing
        )
        links = tuple(
            Association(
                source=new.record.id,
                target=source.id,
                type=SUMMARISES,
                strength=1.0,
                created_at=night.now,
            )
            for source in draft.sources
        )
        about = (new.record.id, *(source.id for source in draft.sources))
        return Deed(what="derive", why=draft.why, about=about, actions=(new, *archive), links=links)

    def _above(self, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """What was derived here from any of these, or from what was merged into them."""
        above = self._store.pointing(tenant, [*ids, *self._merged(tenant, ids)], SUMMARISES)
        return [one for one in self._records(tenant, above) if one.origin == ORIGIN]

    def _records(self, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """What was derived, read once a plan; without those that another took the place of."""
        missing = [id for id in ids if id not in self._derived]
        self._derived |= {one.id: one for one in self._store.get(tenant, missing)}
        found = [self._derived[id] for id in ids if id in self._derived]
        return [one for one in found if one.superseded_by is None]

    def _covered(self, tenant: str, id: str, ids: Sequence[str]) -> tuple[int, int]:
        """How many of these it was made of, themselves or by what was merged into them since;
        and how many it was made of in all."""
        if id not in self._sources:
            self._sources[id] = frozenset(self._store.pointed(tenant, [id], SUMMARISES))
        known = self._sources[id]
        rest = [one for one in ids if one not in known]
        stood_for = 0
        if rest and not known.isdisjoint(self._merged(tenant, rest)):
            stood_for = sum(not known.isdisjoint(self._merged(tenant, [one])) for one in rest)
        return len(ids) - len(rest) + stood_for, len(known)

    def _merged(self, tenant: str, ids: Sequence[str]) -> list[str]:
        return self._store.pointing(tenant, ids, MERGED_INTO)

    def _declined(self, record: MemoryRecord) -> bool:
        """Whether its owner put it aside; not a run that failed and took back what it had done."""
        last = self._store.history(record.tenant, record.id)[-1]
        if last.verb != _UNDONE:
            return last.verb not in _NOT_DECLINED
        journal = Journal(self._store, record.tenant, FixedClock(record.updated_at))
        try:
            account = journal.account((last.reason or "").removeprefix(_RUN))
        except NotFound:
            return True
        return Status.FAILED not in (account.run.status, account.taking_back)

    def _record(self, night: Night, draft: Draft) -> MemoryRecord:
        first, last = draft.sources[0], draft.sources[-1]
        return MemoryRecord(
            id=str(self._new_id()),
            tenant=first.tenant,
            user_id=first.user_id,
            agent_id=first.agent_id,
            kind=draft.kind,
            origin=ORIGIN,
            text=draft.text,
            happened_at=draft.happened_at or last.happened_at,
            created_at=night.now,
            updated_at=night.now,
            importance=draft.importance,
            trust=min(source.trust for source in draft.sources),
            metadata={SOURCES: len(draft.sources), **draft.labels},
        )


@dataclass(frozen=True, slots=True)
class Former:
    """Whether there is anything to write, and what it would take the place of."""

    new: bool
    standing: tuple[MemoryRecord, ...]


def _labels(metadata: Mapping[str, Any]) -> tuple[Any, Any]:
    return metadata.get(MONTH), metadata.get(CHANGE)

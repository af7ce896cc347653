"""Storing a summary: once for each thing summed up, and only if its sources stand unchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any
from uuid import UUID

from remanence.clock import Clock
from remanence.errors import Conflict, NotFound
from remanence.layers.conversation.making import Draft, common
from remanence.layers.conversation.periods import PERIODS
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.origins import ORIGIN
from remanence.ports.store import Store
from remanence.remember.lineage import SHOWING, made_of
from remanence.remember.writer import Writer

MOST_NAMES = 10_000  # remembered with how often they have lost their summary
# What tells summaries apart that are of one name.
_SORT = ("level", *PERIODS, "for_agent")


class Deriving:
    """Writes summaries beside other processes that do the same. None: somebody else did it."""

    def __init__(
        self, store: Store, writer: Writer, clock: Clock, new_id: Callable[[], UUID]
    ) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._new_id = new_id
        self._lost: dict[str, int] = {}  # how many summaries a name has had

    def write(self, draft: Draft, name: str, session_id: str | None) -> MemoryRecord | None:
        """Store a new summary of what `name` stands for, if there is none."""
        new = self._writer.insertion(self._record(draft, session_id))
        for generation in count(self._lost.get(name, 0)):
            try:
                written = self._writer.derive(new, draft.sources, f"{name}:{generation}")
            except Conflict:  # that one was erased since
                self._lose(name, generation)
                continue
            except NotFound:  # a source was erased since
                return None
            found = written.records[0]
            if not written.repeated:
                return self._kept(found, draft.sources)
            if _stands(found, new.record):
                return None
            self._lose(name, generation)
        return None

    def rewrite(
        self,
        record: MemoryRecord,
        changes: Mapping[str, Any],
        sources: Sequence[MemoryRecord] = (),
    ) -> MemoryRecord | None:
        """Give a summary new values and sources, unless somebody changed it meanwhile."""
        try:
            written = self._writer.rederive(record, changes, sources)
        except (Conflict, NotFound):
            return None
        return self._kept(written, sources)

    def _kept(self, record: MemoryRecord, sources: Sequence[MemoryRecord]) -> MemoryRecord | None:
        """The summary; None, and it is erased, if a source changed while it was written."""
        now = {source.id: source for source in self._store.get(record.tenant, _ids(sources))}
        if all(_same(source, now.get(source.id)) for source in sources):
            return record
        self._writer.remove([record])
        return None

    def _lose(self, name: str, generation: int) -> None:
        if len(self._lost) >= MOST_NAMES:
            self._lost.clear()
        self._lost[name] = generation + 1

    def _record(self, draft: Draft, session_id: str | None) -> MemoryRecord:
        now = self._clock.now()
        first = draft.sources[0]
        return MemoryRecord(
            id=str(self._new_id()),
            tenant=first.tenant,
            user_id=first.user_id,
            agent_id=common([source.agent_id for source in draft.sources]),
            session_id=session_id,
            kind=Kind.SUMMARY,
            origin=ORIGIN,
            created_at=now,
            updated_at=now,
            **draft.fields,
        )


def _ids(records: Sequence[MemoryRecord]) -> list[str]:
    return [record.id for record in records]


def _stands(found: MemoryRecord, new: MemoryRecord) -> bool:
    """Whether the one found is what the new one would be; a caller may have made it another."""
    alike = all(found.metadata.get(name) == new.metadata.get(name) for name in _SORT)
    alike = alike and found.trust == new.trust
    return found.state == State.ACTIVE and made_of(found) > 0 and alike


def _same(one: MemoryRecord, other: MemoryRecord | None) -> bool:
    return other is not None and all(getattr(one, n) == getattr(other, n) for n in SHOWING)

"""Memories and their histories as a purge reads them, each once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from remanence.errors import NotFound
from remanence.model.filter import Compare
from remanence.model.memory import MemoryRecord, Revision
from remanence.model.scope import Reach
from remanence.ports.store import Store

PAGE = 1_000


class Past:
    """Reads a tenant's memories by id, and what happened to them."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._records: dict[str, MemoryRecord] = {}
        self._histories: dict[str, list[Revision]] = {}

    def changed_since(self, reach: Reach, moment: datetime | None) -> Iterator[MemoryRecord]:
        """Every memory in reach, in any state, that came in or changed from that moment on."""
        where = None if moment is None else Compare("updated_at", "gte", moment, field=True)
        return self._store.walk(reach, where)

    def keep(self, records: Iterable[MemoryRecord]) -> None:
        """Take note of records that were read elsewhere."""
        self._records |= {one.id: one for one in records}

    def get(self, ids: Iterable[str]) -> list[MemoryRecord]:
        """The memories with these ids; those that are gone are left out."""
        wanted = list(dict.fromkeys(ids))
        unread = [id for id in wanted if id not in self._records]
        for at in range(0, len(unread), PAGE):
            self.keep(self._store.get(self._tenant, unread[at : at + PAGE]))
        return [self._records[id] for id in wanted if id in self._records]

    def history(self, record: MemoryRecord) -> list[Revision]:
        """What happened to a memory, oldest first; nothing if it has gone."""
        if record.id not in self._histories:
            try:
                self._histories[record.id] = self._store.history(self._tenant, record.id)
            except NotFound:
                self._histories[record.id] = []
        return self._histories[record.id]

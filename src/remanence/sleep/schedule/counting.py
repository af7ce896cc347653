"""What is new since a moment, counted again only if anything was written meanwhile."""

from __future__ import annotations

from datetime import datetime

from remanence.model.filter import Both, Compare, Filter
from remanence.model.memory import Kind
from remanence.model.scope import Reach
from remanence.ports.store import Store
from remanence.sleep.schedule.due import Counts

MOST_PARTITIONS = 256  # with more, looking whether they moved costs as much as counting

_MESSAGE = Compare("kind", "eq", Kind.MESSAGE, field=True)


class Counting:
    """Counts for one store; a count reads every memory of a tenant, a position next to nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, bool], tuple[datetime, int, int]] = {}

    def of(self, tenant: str) -> Counts:
        """How many memories and messages a tenant got after a moment."""
        return Counts(
            memories=lambda since: self._count(tenant, since, messages=False),
            messages=lambda since: self._count(tenant, since, messages=True),
        )

    def _count(self, tenant: str, since: datetime, *, messages: bool) -> int:
        reach = Reach(tenant=tenant, all_users=True)
        at, known = self._position(reach), self._known.get((tenant, messages))
        if known is not None and at is not None and known[:2] == (since, at):
            return known[2]
        new: Filter = Compare("created_at", "gt", since, field=True)
        found = self._store.count(reach, Both((new, _MESSAGE)) if messages else new)
        if at is not None:
            self._known[tenant, messages] = since, at, found
        return found

    def _position(self, reach: Reach) -> int | None:
        partitions = self._store.partitions(reach)
        if len(partitions) > MOST_PARTITIONS:
            return None
        return sum(self._store.position(partition) for partition in partitions)

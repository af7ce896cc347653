"""Reading one conversation, or one user's day, from the store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from remanence.model.conversation import Level
from remanence.model.filter import Both, Compare, Filter
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.scope import Reach
from remanence.ports.store import Store

FIRST_PAGE = 64  # often enough
PAGE = 1_000


class Thread:
    """The messages and summaries in a reach that stand, in order of time."""

    def __init__(self, store: Store, reach: Reach) -> None:
        self._store = store
        self.reach = reach

    def newest(self, limit: int, until: datetime | None = None) -> list[MemoryRecord]:
        """The last messages, oldest first; with `until`, of those before that moment."""
        where = _messages(until=until)
        return self._store.find(self.reach, where, limit=limit)[::-1]

    def before(self, message: MemoryRecord, limit: int) -> list[MemoryRecord]:
        """The last messages that stand before this one, oldest first."""
        at_once = Compare("happened_at", "lte", message.happened_at, field=True)
        found: list[MemoryRecord] = []
        passed = False
        for record in self._pages(Both((_messages(), at_once)), newest_first=True):
            if passed:
                found.append(record)
            if len(found) == limit:
                break
            passed = passed or record.id == message.id
        return found[::-1]

    def messages(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> Iterator[MemoryRecord]:
        """Messages from `since` up to before `until`, oldest first."""
        return self._pages(_messages(since, until))

    def count(self, since: datetime | None = None, until: datetime | None = None) -> int:
        """How many messages there are from `since` up to before `until`."""
        return self._store.count(self.reach, _messages(since, until))

    def summaries(self, level: Level, *more: Filter) -> Iterator[MemoryRecord]:
        """Summaries of a level, the one that reaches furthest first."""
        return self._pages(Both((_summaries(level), *more)), newest_first=True)

    def count_summaries(self, level: Level) -> int:
        """How many summaries of a level there are."""
        return self._store.count(self.reach, _summaries(level))

    def everything(self, any_state: bool) -> list[MemoryRecord]:
        """Messages and summaries, oldest first."""
        kinds: Filter = Compare("kind", "in", (Kind.MESSAGE, Kind.SUMMARY), field=True)
        return list(self._pages(kinds if any_state else Both((kinds, _ACTIVE))))

    def _pages(self, where: Filter, *, newest_first: bool = False) -> Iterator[MemoryRecord]:
        seen: set[str] = set()  # others may write between the pages
        offset, size = 0, FIRST_PAGE
        while page := self._store.find(
            self.reach, where, limit=size, offset=offset, newest_first=newest_first
        ):
            yield from (record for record in page if record.id not in seen)
            seen |= {record.id for record in page}
            offset += len(page)
            if len(page) < size:
                return
            size = PAGE


_ACTIVE = Compare("state", "eq", State.ACTIVE, field=True)


def _messages(since: datetime | None = None, until: datetime | None = None) -> Filter:
    parts: list[Filter] = [Compare("kind", "eq", Kind.MESSAGE, field=True), _ACTIVE]
    if since is not None:
        parts.append(Compare("happened_at", "gte", since, field=True))
    if until is not None:
        parts.append(Compare("happened_at", "lt", until, field=True))
    return Both(tuple(parts))


def _summaries(level: Level) -> Filter:
    kind = Compare("kind", "eq", Kind.SUMMARY, field=True)
    return Both((kind, _ACTIVE, Compare("level", "eq", level.value)))

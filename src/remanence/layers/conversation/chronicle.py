"""The summaries of a user's days, weeks and months, over all conversations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, tzinfo
from functools import partial

from remanence.errors import Conflict, NotFound
from remanence.layers.conversation.daybook import Daybook
from remanence.layers.conversation.deriving import Deriving
from remanence.layers.conversation.gaps import held_by
from remanence.layers.conversation.making import Summarise, digest_of, drafted, name_at, told
from remanence.layers.conversation.periods import bounds, days_of, name_of
from remanence.layers.conversation.summaries import Summaries
from remanence.layers.conversation.thread import Thread, level_in
from remanence.model.conversation import Level
from remanence.model.filter import Compare, Filter
from remanence.model.memory import MemoryRecord
from remanence.ports.store import Store
from remanence.remember.zones import Zones

TRIES = 5
OF = "of"  # in a summary's metadata: what it was made of, as a digest


class Chronicle:
    """Makes the summary of a day, of a week from its days, of a month from weeks and days.

    Days and weeks that are not worth a summary of their own get none on the way.

    One that stands is brought up to date when there is more to tell. When what it was made of
    changed, lineage has archived it; when that was only forgotten, it is what is left and stays.
    """

    def __init__(
        self,
        store: Store,
        deriving: Deriving,
        summaries: Summaries,
        extract: Summarise,
        zones: Zones,
    ) -> None:
        self._store = store
        self._zones = zones
        self._deriving = deriving
        self._summaries = summaries
        self._extract = extract

    def tell(self, thread: Thread, level: Level, day: date, *, refine: bool) -> MemoryRecord:
        """The summary of the period that holds the day; `NotFound` if nobody spoke in it.

        The thread is at a level of trust, and so is what is told. With `refine` the model writes
        it anew, and what it is made of before that.
        """
        for _ in range(TRIES):
            made = self._made(thread, level, day, refine)
            if made is not None:
                return (self._summaries.refine(made, level) if refine else None) or made
        raise Conflict(f"What was said in {name_of(level, day)} keeps changing; try again.")

    def _made(self, thread: Thread, level: Level, day: date, refine: bool) -> MemoryRecord | None:
        current = _standing(thread, level, day)
        days = days_of(level, day)
        zone = self._zone(thread)
        said = thread.count(bounds(days[0], zone)[0], bounds(days[-1], zone)[1])
        if current is not None and OF in current.metadata and said <= held_by(current):
            return current
        sources = self._sources(thread, level, day, refine)
        if not sources:
            raise NotFound(f"Nothing was said in {name_of(level, day)}: there is no summary.")
        return self._told(thread, level, day, sources)

    def _sources(self, thread: Thread, level: Level, day: date, refine: bool) -> list[MemoryRecord]:
        """What goes into a summary; of a day that is not worth one, what was said itself."""
        book = Daybook(self._store, thread, partial(_standing, thread), zone=self._zone(thread))
        if level is Level.DAY:
            return book.spoken(day).parts
        found: list[MemoryRecord] = []
        for part, first in book.parts(level, day):
            if part is Level.DAY and not book.has(part, first):
                found += book.spoken(first).parts
                continue
            with suppress(NotFound):
                found.append(self.tell(thread, part, first, refine=refine))
        return found

    def _told(
        self, thread: Thread, level: Level, day: date, sources: Sequence[MemoryRecord]
    ) -> MemoryRecord | None:
        current = _standing(thread, level, day)  # not if one of the sources has just been changed
        of = digest_of(*sorted(source.id for source in sources))
        if current is not None and current.metadata.get(OF) == of:
            return current
        agent, name = thread.reach.agent_id, name_of(level, day)
        extra = {level.value: name, OF: of} | ({"for_agent": agent} if agent else {})
        local = [self._zones.local(source) for source in sources]
        text, trust = told(level, local, self._extract), level_in(thread)
        draft = drafted(level, sources, text, trust, **extra)
        if current is not None:
            return self._deriving.rewrite(current, draft.fields, draft.sources)
        key = f"{level.value}:{digest_of(thread.reach.user_id, agent, name)}"
        return self._deriving.write(draft, name_at(trust, key), None)

    def _zone(self, thread: Thread) -> tzinfo:
        return self._zones.of(thread.reach.tenant, thread.reach.user_id)


def _standing(thread: Thread, level: Level, day: date) -> MemoryRecord | None:
    return next(thread.summaries(level, *_of(level, day, thread.reach.agent_id)), None)


def _of(level: Level, day: date, agent: str | None) -> tuple[Filter, Filter]:
    whose = Compare("for_agent", "exists", False)
    if agent is not None:
        whose = Compare("for_agent", "eq", agent)
    return Compare(level.value, "eq", name_of(level, day)), whose

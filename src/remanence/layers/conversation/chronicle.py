"""The summaries of a user's days, weeks and months, over all conversations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date

from remanence.errors import Conflict, NotFound
from remanence.layers.conversation.deriving import Deriving
from remanence.layers.conversation.gaps import held_by
from remanence.layers.conversation.making import Summarise, digest_of, drafted, told
from remanence.layers.conversation.periods import bounds, days_of, name_of, parts_of
from remanence.layers.conversation.summaries import Summaries
from remanence.layers.conversation.thread import Thread
from remanence.model.conversation import Level
from remanence.model.filter import Compare, Filter
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.ports.store import Store
from remanence.remember.lineage import sources_of

TRIES = 5
OF = "of"  # in a summary's metadata: what it was made of, as a digest


class Chronicle:
    """Makes the summary of a day, of a week from its days, of a month from weeks and days.

    One that stands is brought up to date when there is more to tell. When what it was made of
    changed, lineage has archived it; when that was only forgotten, it is what is left and stays.
    """

    def __init__(
        self, store: Store, deriving: Deriving, summaries: Summaries, extract: Summarise
    ) -> None:
        self._store = store
        self._deriving = deriving
        self._summaries = summaries
        self._extract = extract

    def tell(self, reach: Reach, level: Level, day: date, *, refine: bool) -> MemoryRecord:
        """The summary of the period that holds the day; `NotFound` if nobody spoke in it.

        With `refine` the model writes it anew, and what it is made of before that.
        """
        thread = Thread(self._store, reach)
        for _ in range(TRIES):
            made = self._made(thread, level, day, refine)
            if made is not None:
                return (self._summaries.refine(made, level) if refine else None) or made
        raise Conflict(f"What was said in {name_of(level, day)} keeps changing; try again.")

    def _made(self, thread: Thread, level: Level, day: date, refine: bool) -> MemoryRecord | None:
        current = _standing(thread, level, day)
        days = days_of(level, day)
        said = thread.count(bounds(days[0])[0], bounds(days[-1])[1])
        if current is not None and OF in current.metadata and said <= held_by(current):
            return current
        sources = self._sources(thread, level, day, refine)
        if not sources:
            raise NotFound(f"Nothing was said in {name_of(level, day)}: there is no summary.")
        return self._told(thread, level, day, sources)

    def _sources(self, thread: Thread, level: Level, day: date, refine: bool) -> list[MemoryRecord]:
        if level is Level.DAY:
            return self._said_on(thread, day)
        parts = [(Level.DAY, one) for one in days_of(level, day)]
        found = []
        for part in parts_of(day) if level is Level.MONTH else parts:
            with suppress(NotFound):
                found.append(self.tell(thread.reach, *part, refine=refine))
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
        draft = drafted(level, sources, told(level, sources, self._extract), **extra)
        if current is not None:
            return self._deriving.rewrite(current, draft.fields, draft.sources)
        key = f"{level.value}:{digest_of(thread.reach.user_id, agent, name)}"
        return self._deriving.write(draft, key, None)

    def _said_on(self, thread: Thread, day: date) -> list[MemoryRecord]:
        """The segments that lie in the day, and its messages that are in none of those."""
        start, end = bounds(day)
        within = (
            Compare("happened_at", "gte", start, field=True),
            Compare("happened_at", "lt", end, field=True),
        )
        segments = [
            segment
            for segment in thread.summaries(Level.SEGMENT, *within)
            if str(segment.metadata.get("from")) >= start.isoformat()
        ]
        covered = {m.id for segment in segments for m in sources_of(self._store, segment)}
        rest = [m for m in thread.messages(start, end) if m.id not in covered]
        return sorted([*segments, *rest], key=lambda record: (record.happened_at, record.id))


def _standing(thread: Thread, level: Level, day: date) -> MemoryRecord | None:
    return next(thread.summaries(level, *_of(level, day, thread.reach.agent_id)), None)


def _of(level: Level, day: date, agent: str | None) -> tuple[Filter, Filter]:
    whose = Compare("for_agent", "exists", False)
    if agent is not None:
        whose = Compare("for_agent", "eq", agent)
    return Compare(level.value, "eq", name_of(level, day)), whose

"""The summaries of a user's days, weeks and months, and what is worth one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial

from remanence.errors import Conflict, NotFound
from remanence.language.cues import importance_reasons
from remanence.layers.conversation.derivation import (
    Summarise,
    SummaryDerivation,
    bounds,
    days_of,
    digest_of,
    drafted,
    name_at,
    name_of,
    parts_of,
    told,
)
from remanence.layers.conversation.summaries import Summaries
from remanence.layers.conversation.thread import Thread, held_by, level_in
from remanence.memories.lineage import sources_of
from remanence.memories.messages import says_nothing
from remanence.memories.zones import Zones
from remanence.model.conversation import Level
from remanence.model.filter import Compare, Filter, happened
from remanence.model.memory import Kind, MemoryRecord, State, level_of
from remanence.model.ports.store import Store, Trait
from remanence.model.zones import placed

ENOUGH = 4  # messages in a day
LENGTHY = 80  # characters: with one such message, those of two conversations are enough
PARTS = 2  # less than that tells a day, a week or a month already

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Standing = Callable[[Level, date], MemoryRecord | None]

TRIES = 5
OF = "of"  # in a summary's metadata: what it was made of, as a digest


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was said on a day: segments that lie in it, and the messages that are in none of those.

    `coming` are segments that would be written before the day is told, by their messages.
    """

    messages: Sequence[MemoryRecord] = ()
    segments: Sequence[MemoryRecord] = ()
    rest: Sequence[MemoryRecord] = ()
    coming: Sequence[Sequence[MemoryRecord]] = ()

    @property
    def parts(self) -> list[MemoryRecord]:
        """All of it, in order of time."""
        return sorted([*self.segments, *self.rest], key=lambda one: (one.happened_at, one.id))

    @property
    def enough(self) -> bool:
        """Whether it is worth telling; small talk alone never is."""
        said = [message for message in self.messages if tells(message)]
        sessions = {message.session_id for message in said}
        long = any(len(message.text) >= LENGTHY for message in said)
        return may_tell(len(self.messages), len(sessions), long=long) and len(said) >= PARTS

    @property
    def untold(self) -> bool:
        """Whether it is worth telling, and more than one segment tells."""
        if not self.enough:
            return False
        segments = sum(not _silent(segment) for segment in self.segments)
        coming = sum(not all(map(_silent, run)) for run in self.coming)
        return segments + coming + sum(map(tells, self.rest)) >= PARTS


@dataclass(eq=False)
class Daybook:
    """Looks at a thread's days in a zone, each once; only at those in `among`, if given."""

    store: Store
    thread: Thread
    standing: Standing
    _: KW_ONLY
    zone: tzinfo = UTC
    among: Container[date] | None = None
    coming: Sequence[Sequence[MemoryRecord]] = ()
    _read: dict[date, Spoken] = field(default_factory=dict, init=False)

    def spoken(self, day: date) -> Spoken:
        """What was said on the day."""
        if self.among is not None and day not in self.among:
            return Spoken()
        if day not in self._read:
            self._read[day] = self._spoken(day)
        return self._read[day]

    def worth(self, level: Level, day: date) -> bool:
        """Whether the period that holds the day should have a summary of its own.

        A week needs two days that are told of, a month that and two parts.
        """
        if level is Level.DAY:
            return self.spoken(day).untold
        told = sum(map(self._told, days_of(level, day)))
        if told < PARTS or level is Level.WEEK:
            return told >= PARTS
        parts = self.parts(level, day)
        return sum(kind is Level.WEEK or self._told(one) for kind, one in parts) >= PARTS

    def has(self, level: Level, day: date) -> bool:
        """Whether the period has a summary, or should have."""
        return self.standing(level, day) is not None or self.worth(level, day)

    def parts(self, level: Level, day: date) -> list[tuple[Level, date]]:
        """What a week or month is told from: its days; where a week has a summary, that."""
        if level is not Level.MONTH:
            return [(Level.DAY, one) for one in days_of(level, day)]
        found: list[tuple[Level, date]] = []
        for kind, first in parts_of(day):
            split = kind is Level.WEEK and not self.has(kind, first)
            found += self.parts(kind, first) if split else [(kind, first)]
        return found

    def _told(self, day: date) -> bool:
        return self.standing(Level.DAY, day) is not None or self.spoken(day).enough

    def _spoken(self, day: date) -> Spoken:
        start, end = bounds(day, self.zone)
        segments = [
            segment
            for segment in self.thread.summaries(Level.SEGMENT, *happened(start, end))
            if str(segment.metadata.get("from")) >= start.isoformat()
        ]
        coming = [run for run in self.coming if all(start <= m.happened_at < end for m in run)]
        covered = {m.id for segment in segments for m in sources_of(self.store, segment)}
        covered |= {message.id for run in coming for message in run}
        messages = list(self.thread.messages(start, end))
        rest = [message for message in messages if message.id not in covered]
        return Spoken(messages, segments, rest, coming)


class Diary:
    """How many messages stand of each of a user's days, and which days may be worth telling.

    Those count that the thread, at its level of trust, tells of. Read from traits alone: a day
    that is no candidate need not be looked at.
    """

    def __init__(self, store: Store, partition: int, thread: Thread, zone: tzinfo = UTC) -> None:
        self.zone = zone
        self.said = Counter[date]()
        self.own = set[date]()  # with something of the very level, which no other tells
        sessions: dict[date, set[str | None]] = {}
        long: set[date] = set()
        for trait in messages_of(store, partition):
            if not thread.tells(trait.trust):
                continue
            day = placed(_EPOCH + timedelta(microseconds=trait.happened), zone).date()
            self.said[day] += 1
            self.own |= {day} if level_of(trait.trust) == thread.level else set()
            sessions.setdefault(day, set()).add(trait.session)
            long |= {day} if trait.characters >= LENGTHY else set()
        self.candidates = frozenset(
            day
            for day, count in self.said.items()
            if may_tell(count, len(sessions[day]), long=day in long)
        )


def messages_of(store: Store, partition: int) -> Iterator[Trait]:
    """The messages of a partition that stand."""
    for trait in store.recall.traits(partition):
        if trait.kind == Kind.MESSAGE and trait.state == State.ACTIVE:
            yield trait


def may_tell(messages: int, sessions: int, *, long: bool) -> bool:
    """Whether so much may be worth telling; `long` says that one of the messages is of length."""
    return messages >= ENOUGH or (sessions > 1 and long)


def tells(message: MemoryRecord) -> bool:
    """Whether a message is more than small talk, a bare tool call, or about memory itself."""
    reasons = importance_reasons(message.text)
    return not _silent(message) and not any(reason == "small talk" for reason, _ in reasons)


def _silent(record: MemoryRecord) -> bool:
    return says_nothing(record.text, record.metadata)


@dataclass(eq=False)
class Chronicle:
    """Makes the summary of a day, of a week from its days, of a month from weeks and days.

    Days and weeks that are not worth a summary of their own get none on the way.

    One that stands is brought up to date when there is more to tell. When what it was made of
    changed, lineage has archived it; when that was only forgotten, it is what is left and stays.
    """

    store: Store
    deriving: SummaryDerivation
    summaries: Summaries
    extract: Summarise
    zones: Zones

    def tell(self, thread: Thread, level: Level, day: date, *, refine: bool) -> MemoryRecord:
        """The summary of the period that holds the day; `NotFound` if nobody spoke in it.

        The thread is at a level of trust, and so is what is told. With `refine` the model writes
        it anew, and what it is made of before that.
        """
        for _ in range(TRIES):
            made = self._made(thread, level, day, refine)
            if made is not None:
                return (self.summaries.refine(made, level) if refine else None) or made
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
        book = Daybook(self.store, thread, partial(_standing, thread), zone=self._zone(thread))
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
        local = [self.zones.local(source) for source in sources]
        text, trust = told(level, local, self.extract), level_in(thread)
        draft = drafted(level, sources, text, trust, **extra)
        if current is not None:
            return self.deriving.rewrite(current, draft.fields, draft.sources)
        key = f"{level.value}:{digest_of(thread.reach.user_id, agent, name)}"
        return self.deriving.write(draft, name_at(trust, key), None)

    def _zone(self, thread: Thread) -> tzinfo:
        return self.zones.of(thread.reach.tenant, thread.reach.user_id)


def _standing(thread: Thread, level: Level, day: date) -> MemoryRecord | None:
    return next(thread.summaries(level, *_of(level, day, thread.reach.agent_id)), None)


def _of(level: Level, day: date, agent: str | None) -> tuple[Filter, Filter]:
    whose = Compare("for_agent", "exists", False)
    if agent is not None:
        whose = Compare("for_agent", "eq", agent)
    return Compare(level.value, "eq", name_of(level, day)), whose

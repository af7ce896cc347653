"""Summaries as records: their periods, what goes into one, and storing it if its sources stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from hashlib import blake2b
from itertools import count
from typing import Any
from uuid import UUID

from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.language.summary import Said, Summary
from remanence.layers.conversation.thread import held_by
from remanence.memories.lineage import SHOWING, SOURCES, SUMMARISES, made_of
from remanence.memories.messages import CALL_ID, OF_MEMORY, says_nothing
from remanence.memories.writer import Writer
from remanence.model.clock import Clock
from remanence.model.conversation import Level
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.validation import ORIGIN, local_moment_of

# Levels that sum up a time, and the names under which a summary's metadata says which.
DAY = timedelta(days=1)
PERIODS = (Level.DAY, Level.WEEK, Level.MONTH)


def name_of(level: Level, day: date) -> str:
    """What the period is called that holds the day: 2026-03-02, 2026-W10 or 2026-03.

    >>> name_of(Level.WEEK, date(2027, 1, 3))
    '2026-W53'
    """
    if level is Level.WEEK:
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}"
    return f"{day.year:04}-{day.month:02}" if level is Level.MONTH else day.isoformat()


def day_of(day: object) -> date:
    """The day meant by a date, a moment or a text like 2026-03-01."""
    if isinstance(day, datetime):
        return local_moment_of("day", day).date()
    if isinstance(day, date):
        return day
    try:
        return date.fromisoformat(day if isinstance(day, str) else "")
    except ValueError:
        raise InvalidInput(f"day must be a date like 2026-03-01; got {str(day)[:40]!r}.") from None


def days_of(level: Level, day: date) -> list[date]:
    """All days of the period that holds the day, in order; the calendar ends with 9999."""
    at, last = first_of(level, day).toordinal(), date.max.toordinal()
    near = [date.fromordinal(n) for n in range(at, min(at + 31, last + 1))]
    return [one for one in near if name_of(level, one) == name_of(level, day)]


def first_of(level: Level, day: date) -> date:
    """The first day of the period that holds the day."""
    if level is Level.WEEK:
        return date.fromordinal(day.toordinal() - day.weekday())
    return day.replace(day=1) if level is Level.MONTH else day


def parts_of(day: date) -> list[tuple[Level, date]]:
    """What a month is told from: its whole weeks, and the days at its ends that are in none."""
    parts: dict[tuple[Level, date], None] = {}
    for one in days_of(Level.MONTH, day):
        week = days_of(Level.WEEK, one)
        whole = len(week) == 7 and {d.month for d in week} == {one.month}
        parts[(Level.WEEK, week[0]) if whole else (Level.DAY, one)] = None
    return list(parts)


def over(level: Level, days: Iterable[date], today: date) -> list[date]:
    """The first days of the periods that hold some of the days and have ended before today."""
    found = sorted({first_of(level, day) for day in days})
    return [first for first in found if days_of(level, first)[-1] < today]


def bounds(day: date, zone: tzinfo = UTC) -> tuple[datetime, datetime]:
    """When a day begins there, and when the next one does, in UTC."""
    return _midnight(day, zone), _midnight(None if day == date.max else day + DAY, zone)


def _midnight(day: date | None, zone: tzinfo) -> datetime:
    try:
        if day is not None:
            return datetime.combine(day, time(), zone).astimezone(UTC)
    except OverflowError:  # on the first or last day there is
        if day == date.min:
            return datetime.min.replace(tzinfo=UTC)
    return datetime.max.replace(tzinfo=UTC)


Summarise = Callable[[Sequence[Said], int], Summary]

SHARE = 0.2
LEAST = 160
# Characters, at about four to a token: 300 tokens for a segment or a conversation, 200 for a day,
# 300 for a week, 400 for a month.
MOST = {
    Level.SEGMENT: 1_200,
    Level.CONVERSATION: 1_200,
    Level.DAY: 800,
    Level.WEEK: 1_200,
    Level.MONTH: 1_600,
}
READ = 20_000  # of a single long message
AT_ONCE = 64  # summaries in one summary; more are folded into it step by step
SILENT = "(nothing was said)"  # the text of a summary of tools and memory's own doings alone

MOST_NAMES = 10_000  # remembered with how often they have lost their summary
# What tells summaries apart that are of one name.
_SORT = ("level", *PERIODS, "for_agent")


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """A summary to be written: its values, and the memories that it is made of."""

    fields: dict[str, Any]
    sources: tuple[MemoryRecord, ...]


def drafted(
    level: Level, sources: Sequence[MemoryRecord], text: str, trust: float, **metadata: str
) -> SummaryDraft:
    """A summary with this text of the sources, which are given in order of time.

    They are trusted no less than it.
    """
    last = max(source.happened_at for source in sources)
    return SummaryDraft(
        fields={
            "text": text,
            "happened_at": last,
            "trust": trust,
            "importance": max(source.importance for source in sources),
            "metadata": {
                "level": level.value,
                "from": min(_start(source) for source in sources),
                "to": last.isoformat(),
                "messages": sum(messages_in(source) for source in sources),
                SOURCES: len(sources),
                **({OF_MEMORY: True} if text == SILENT else {}),
                **metadata,
            },
        },
        sources=tuple(sources),
    )


def told(
    level: Level, sources: Sequence[MemoryRecord], summarise: Summarise, before: str = ""
) -> str:
    """The text of a summary, never empty."""
    text = before
    for at in range(0, len(sources), AT_ONCE):
        turns = turns_of(sources[at : at + AT_ONCE])
        if turns:
            turns = [Said(None, text), *turns] if text else turns
            made = summarise(turns, length_for(level, turns)).text.strip()
            text = made or text or turns[0].text[:LEAST]
    return text or SILENT


def length_for(level: Level, turns: Sequence[Said]) -> int:
    """How many characters a summary may take: a fifth of what was said, half of summaries.

    Weeks and months may take all their room: of days with little in them none should be lost.
    """
    if level in (Level.WEEK, Level.MONTH):
        return MOST[level]
    said = sum(len(turn.text) for turn in turns)
    share = SHARE if any(turn.speaker for turn in turns) else 0.5
    return min(MOST[level], max(LEAST, int(said * share)))


def turns_of(sources: Sequence[MemoryRecord]) -> list[Said]:
    """What was said, in words: tools' answers only where there is nothing else, calls never."""
    telling = [source for source in sources if not says_nothing(source.text, source.metadata)]
    spoken = [source for source in telling if CALL_ID not in source.metadata] or telling
    return [Said(_speaker(s), s.text[:READ], s.happened_at) for s in spoken]


def messages_in(source: MemoryRecord) -> int:
    """How many messages a source stands for."""
    return held_by(source) if source.kind == Kind.SUMMARY else 1


def name_at(trust: float, name: str) -> str:
    """The name under which a summary is written once for each level of trust."""
    return name if trust == 1 else f"{name}:{trust}"


def digest_of(*values: str | None) -> str:
    """A short name for values of any length."""
    whole = "\0".join("" if value is None else f"={value}" for value in values)
    return blake2b(whole.encode(), digest_size=16).hexdigest()


def common(values: Sequence[str | None]) -> str | None:
    """The value that all have, None if they differ."""
    return values[0] if len(set(values)) == 1 else None


def _speaker(source: MemoryRecord) -> str | None:
    return None if source.kind == Kind.SUMMARY else source.speaker or source.role or "user"


def _start(source: MemoryRecord) -> str:
    start = source.metadata.get("from") if source.kind == Kind.SUMMARY else None
    return start if isinstance(start, str) else source.happened_at.isoformat()


class SummaryDerivation:
    """Writes summaries beside other processes that do the same. None: somebody else did it."""

    def __init__(
        self, store: Store, writer: Writer, clock: Clock, new_id: Callable[[], UUID]
    ) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._new_id = new_id
        self._lost: dict[str, int] = {}  # how many summaries a name has had

    def write(self, draft: SummaryDraft, name: str, session_id: str | None) -> MemoryRecord | None:
        """Store a new summary of what `name` stands for, if there is none."""
        new = self._writer.insertion(self._record(draft, session_id))
        for generation in count(self._lost.get(name, 0)):
            beside = self._beside(new.record, draft.sources)
            if beside is None:
                return None
            try:
                written = self._writer.derive(new, draft.sources, f"{name}:{generation}", beside)
            except Conflict:  # that one was erased since, or another was written meanwhile
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

    def _beside(
        self, record: MemoryRecord, sources: Sequence[MemoryRecord]
    ) -> frozenset[str] | None:
        """The summaries that the sources have; None if one of them does for such a one.

        Another process may have cut the same messages in another way.
        """
        links = self._store.links
        ids = links.pointing(record.tenant, [source.id for source in sources], SUMMARISES)
        found = self._store.archive.get(record.tenant, ids)
        return None if any(_stands(one, record) for one in found) else frozenset(ids)

    def _kept(self, record: MemoryRecord, sources: Sequence[MemoryRecord]) -> MemoryRecord | None:
        """The summary; None, and it is erased, if a source changed while it was written."""
        found = self._store.archive.get(record.tenant, [source.id for source in sources])
        now = {source.id: source for source in found}
        if all(_same(source, now.get(source.id)) for source in sources):
            return record
        self._writer.remove([record])
        return None

    def _lose(self, name: str, generation: int) -> None:
        if len(self._lost) >= MOST_NAMES:
            self._lost.clear()
        self._lost[name] = generation + 1

    def _record(self, draft: SummaryDraft, session_id: str | None) -> MemoryRecord:
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


def _stands(found: MemoryRecord, new: MemoryRecord) -> bool:
    """Whether the one found is what the new one would be; a caller may have made it another."""
    alike = all(found.metadata.get(name) == new.metadata.get(name) for name in _SORT)
    alike = alike and found.trust == new.trust
    return found.state == State.ACTIVE and made_of(found) > 0 and alike


def _same(one: MemoryRecord, other: MemoryRecord | None) -> bool:
    return other is not None and all(getattr(one, n) == getattr(other, n) for n in SHOWING)

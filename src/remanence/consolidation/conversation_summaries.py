"""Talks: sums up conversations that have paused, and days, weeks and months that are over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, tzinfo
from itertools import islice
from typing import NamedTuple

from remanence.consolidation.steps import Chore, ChoreResult
from remanence.errors import Conflict, NotFound
from remanence.layers.conversation import Conversations
from remanence.layers.conversation.chronicle import Daybook, Diary, messages_of
from remanence.layers.conversation.derivation import PERIODS, bounds, days_of, name_of, over
from remanence.layers.conversation.summaries import DECLINED, MODEL, coming
from remanence.layers.conversation.thread import PAUSE, Run, Thread, held_by
from remanence.model.conversation import Level
from remanence.model.filter import Compare, happened
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Span, Store
from remanence.model.progress import Progress
from remanence.model.query import ALL
from remanence.model.scope import Reach
from remanence.model.sleep import Night, Plan, Step
from remanence.model.zones import placed

MOST = 500  # summaries that a run writes; the next one goes on
SUMMARISED = "summarised"  # the verb of a summary that is written anew
_FOR_ALL = Compare("for_agent", "exists", False)
_NAMES = ("conversations", *(f"{level}s" for level in PERIODS))
# A segment that will be written, and the level of trust that it is of.
Coming = tuple[float, Run]


class DueSummary(NamedTuple):
    """Something to tell: a period by its first day, and the summary of it that stands."""

    level: Level
    day: date
    standing: MemoryRecord | None


class Writings:
    """The summaries that a run wrote, and which version those had that stood before it."""

    def __init__(self) -> None:
        self.ids: dict[str, None] = {}
        self.counts = Counter[str]()
        self._before: dict[str, int] = {}

    def note(self, name: str, records: Iterable[MemoryRecord], before: Mapping[str, int]) -> None:
        """Take note of what was written; what the run made itself stays its own."""
        for record in records:
            if record.id not in self.ids:
                self.counts[name] += 1
                self._before |= {record.id: before[record.id]} if record.id in before else {}
                self.ids[record.id] = None

    def done(self, store: Store, tenant: str) -> ChoreResult:
        """As it stands now: a model that was asked may have left another mark."""
        found = store.archive.get(tenant, list(self.ids))
        made = ((one.id, one.version) for one in found if one.id not in self._before)
        revised = (
            (one.id, past.version, past.verb)
            for one in found
            if one.id in self._before
            for past in store.archive.history(tenant, one.id)
            if past.version > self._before[one.id] and past.verb == SUMMARISED
        )
        return ChoreResult(counts=dict(self.counts), made=tuple(made), revised=tuple(revised))


class Talks(Chore):
    """Brings the summaries of conversations and periods up to date. What is done is not redone.

    A conversation is left alone until it has paused, as its last segment may still grow. Of days,
    weeks and months those are told that are worth it; whoever asks for another gets that too.
    """

    step = Step.TALKS

    def __init__(self, conversations: Conversations, store: Store, *, most: int = MOST) -> None:
        self._conversations = conversations
        self._store = store
        self._most = most
        self._settled: dict[str | None, tuple[int, date, bool]] = {}

    def foresee(self, night: Night) -> Plan:
        """How many conversations it would look through, and how many summaries it would write.

        What a model would make of them cannot be known: with one, it may be others that follow.
        """
        due = Counter[str]()
        paused = looked_at = 0
        spans = self._spans(night)
        for user, partition in self._users(night).items():
            looked_at += sum(1 for _ in messages_of(self._store, partition))
            ended = [span for span in spans.get(user, []) if _paused(span, night.now)]
            paused += len(ended)
            coming: list[Coming] = []
            for span in ended:
                found, count = self._coming(night, span)
                due["conversations"] += count
                coming += found
            for thread in self._levels(night, user):
                due.update(self._periods(night, partition, thread, coming))
        told = ", ".join(f"{name}: {due[name]}" for name in _NAMES)
        return Plan(
            step=self.step,
            looked_at=looked_at,
            notes=(f"conversations to look through: {paused}", f"to tell: {told}"),
        )

    def run(self, night: Night, progress: Progress | None = None) -> ChoreResult:
        """Write what is missing or out of date, at most so much; call again while `left` is 1."""
        made = Writings()
        spans, users = self._spans(night), self._users(night)
        for number, (user, partition) in enumerate(users.items(), 1):
            if len(made.ids) >= self._most:
                made.counts["left"] = 1
                break
            self._settle(night, user, partition, spans.get(user, []), made)
            if progress:
                progress(number, len(users))
        return made.done(self._store, night.reach.tenant)

    def _settle(
        self, night: Night, user: str | None, partition: int, talks: Sequence[Span], made: Writings
    ) -> None:
        """One user's conversations and periods, unless nothing has changed since it found none."""
        position = self._store.recall.position(partition)
        mark = (position, self._today(night, user), night.use_model)
        if self._settled.get(user) == mark:
            return
        before = len(made.ids)
        for _ in self._written(night, user, partition, talks, made):
            if len(made.ids) >= self._most:
                made.counts["left"] = 1
                return
        if len(made.ids) == before and all(_paused(span, night.now) for span in talks):
            self._settled[user] = mark

    def _written(
        self, night: Night, user: str | None, partition: int, talks: Sequence[Span], made: Writings
    ) -> Iterator[None]:
        """Write one thing after another, each with what it took."""
        for span in talks:
            if _paused(span, night.now):
                before = self._versions(night, span)
                with suppress(NotFound, Conflict):
                    summarise = self._conversations.summarise
                    written = summarise(span.session_id, user_id=user, refine=night.use_model)
                    made.note("conversations", written, before)
                yield
        for thread in self._levels(night, user):
            diary = Diary(self._store, partition, thread, self._zone(night, user))
            for level in PERIODS:
                for due in self._due(night, thread, level, diary):
                    self._tell(night, thread, due, made)
                    yield

    def _levels(self, night: Night, user: str | None) -> list[Thread]:
        """All that a user said, at each level of trust at which something was said."""
        whole = Thread(self._store, _of(night, user))
        return [whole.at(level) for level in whole.levels()]

    def _versions(self, night: Night, span: Span) -> dict[str, int]:
        """Summaries of a conversation that may be written anew; its segments only by a model."""
        thread = Thread(self._store, replace(_of(night, span.user_id), session_id=span.session_id))
        levels = (Level.CONVERSATION, *([Level.SEGMENT] if night.use_model else []))
        found = (one for level in levels for one in thread.summaries(level))
        return {one.id: one.version for one in found}

    def _tell(self, night: Night, thread: Thread, due: DueSummary, made: Writings) -> None:
        """Write the period's summary; it is noted if it is new, and so are those of its parts."""
        stood = self._below(night, thread, due)
        stood[due.level] = [due.standing] if due.standing else []
        now: dict[Level, list[MemoryRecord]] = {due.level: []}
        with suppress(NotFound, Conflict):
            tell = self._conversations.chronicle.tell
            now[due.level] = [tell(thread, due.level, due.day, refine=night.use_model)]
        for level, records in (self._below(night, thread, due) | now).items():
            before = {one.id: one.version for one in stood[level]}
            new = (one for one in records if before.get(one.id) != one.version)
            made.note(f"{level}s", new, before)

    def _below(
        self, night: Night, thread: Thread, due: DueSummary
    ) -> dict[Level, list[MemoryRecord]]:
        """The summaries that stand of the days and weeks in a week or month."""
        days, zone = days_of(due.level, due.day), self._zone(night, thread.reach.user_id)
        within = happened(bounds(days[0], zone)[0], bounds(days[-1], zone)[1])
        levels = PERIODS[: PERIODS.index(due.level)]
        return {level: list(thread.summaries(level, _FOR_ALL, *within)) for level in levels}

    def _zone(self, night: Night, user: str | None) -> tzinfo:
        return self._conversations.zones.of(night.reach.tenant, user)

    def _today(self, night: Night, user: str | None) -> date:
        return placed(night.now, self._zone(night, user)).date()

    def _due(
        self,
        night: Night,
        thread: Thread,
        level: Level,
        diary: Diary,
        planned: Sequence[Run] = (),
        changing: Container[date] = (),
    ) -> list[DueSummary]:
        """Periods that are over, and that no summary or one with less tells of; earliest first.

        Those with a day that is `changing` are told anew.
        """
        standing = {
            (one, str(record.metadata.get(one))): record
            for one in PERIODS[: PERIODS.index(level) + 1]
            for record in thread.summaries(one, _FOR_ALL)
        }

        def stands(level: Level, day: date) -> MemoryRecord | None:
            return standing.get((level, name_of(level, day)))

        book = Daybook(
            self._store, thread, stands, zone=diary.zone, among=diary.candidates, coming=planned
        )
        ended = over(level, diary.own, self._today(night, thread.reach.user_id))
        found = [
            DueSummary(level, day, stands(level, day)) for day in ended if book.has(level, day)
        ]
        return [
            due
            for due in found
            if _lacking(due, diary.said, night.use_model)
            or any(day in changing for day in days_of(level, due.day))
        ]

    def _periods(
        self, night: Night, partition: int, thread: Thread, coming: Sequence[Coming]
    ) -> Counter[str]:
        """How many days, weeks and months are due, as if the segments that come were there."""
        due = Counter[str]()
        zone = self._zone(night, thread.reach.user_id)
        diary = Diary(self._store, partition, thread, zone)
        planned = [run for level, run in coming if level == thread.level]
        changing: set[date] = set()
        for level in PERIODS:
            found = self._due(night, thread, level, diary, planned, changing)
            due[f"{level}s"] = len(found)
            changing |= {one.day for one in found if level is Level.DAY and one.standing}
        return due

    def _coming(self, night: Night, span: Span) -> tuple[list[Coming], int]:
        """The segments that a conversation lacks, and how many summaries would be written of it."""
        whole = Thread(self._store, replace(_of(night, span.user_id), session_id=span.session_id))
        found: list[Coming] = []
        count = 0
        for trust in whole.levels():
            runs, more = self._coming_at(night, span, whole.at(trust), trust)
            found += [(trust, run) for run in runs]
            count += more
        return found, count

    def _coming_at(
        self, night: Night, span: Span, thread: Thread, trust: float
    ) -> tuple[list[Run], int]:
        window = self._conversations.window(
            span.session_id, user_id=span.user_id, min_trust=trust
        ).messages
        if not window:
            return [], 0
        runs, rolls = coming(self._store, thread, window[0])
        levels = (Level.SEGMENT, *([] if rolls else [Level.CONVERSATION]))
        plain = (one for level in levels for one in thread.summaries(level) if _unrefined(one))
        return runs, len(runs) + rolls + (len(list(plain)) if night.use_model else 0)

    def _users(self, night: Night) -> dict[str | None, int]:
        """Whose messages are in reach, and in which partition, with or without a conversation."""
        found: dict[str | None, int] = {}
        for partition in self._store.recall.partitions(night.reach):
            first = [trait.key for trait in islice(messages_of(self._store, partition), 1)]
            for record in self._store.recall.records(partition, first).values():
                found[record.user_id] = partition
        return found

    def _spans(self, night: Night) -> dict[str | None, list[Span]]:
        """Conversations in reach, by user."""
        found: dict[str | None, list[Span]] = {}
        for span in self._store.archive.spans(night.reach, limit=ALL):
            found.setdefault(span.user_id, []).append(span)
        return found


def _of(night: Night, user: str | None) -> Reach:
    return Reach(tenant=night.reach.tenant, user_id=user)


def _paused(span: Span, now: datetime) -> bool:
    return now - span.last > PAUSE


def _lacking(due: DueSummary, said: Counter[date], use_model: bool) -> bool:
    if due.standing is None or (use_model and _unrefined(due.standing)):
        return True
    return held_by(due.standing) < sum(said[day] for day in days_of(due.level, due.day))


def _unrefined(record: MemoryRecord) -> bool:
    return MODEL not in record.metadata and DECLINED not in record.metadata

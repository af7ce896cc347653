"""Talks: sums up conversations that have paused, and days, weeks and months that are over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from remanence.errors import Conflict, NotFound
from remanence.layers.conversation import Conversations
from remanence.layers.conversation.gaps import held_by
from remanence.layers.conversation.periods import PERIODS, days_of, name_of, over, parts_of
from remanence.layers.conversation.segments import PAUSE
from remanence.layers.conversation.summaries import DECLINED, MODEL
from remanence.layers.conversation.thread import Thread
from remanence.model.conversation import Level
from remanence.model.filter import Compare
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.sleep import Night, Plan, Step
from remanence.ports.store import Progress, Span, Store
from remanence.sleep.steps import Done

MOST = 500  # summaries that a run writes; the next one goes on
PAGE = 1_000
_FOR_ALL = Compare("for_agent", "exists", False)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Due(NamedTuple):
    """Something to tell: a period by its first day, and the summary of it that stands."""

    level: Level
    day: date
    standing: MemoryRecord | None


class Talks:
    """Brings the summaries of conversations and periods up to date. What is done is not redone.

    A conversation is left alone until it has paused, as its last segment may still grow. A week
    of one day, or a month of one week, is told by that already.
    """

    step = Step.TALKS

    def __init__(self, conversations: Conversations, store: Store, *, most: int = MOST) -> None:
        self._conversations = conversations
        self._store = store
        self._most = most
        self._settled: dict[str | None, tuple[int, date, bool]] = {}

    def foresee(self, night: Night) -> Plan:
        """How many conversations it would look through, and how much it would tell."""
        spans = self._spans(night)
        days = {user: self._days(night, user) for user in spans}
        due = Counter(
            one.level
            for user in spans
            for level in PERIODS
            for one in self._due(night, user, level, days[user])
        )
        paused = sum(_paused(span, night.now) for talks in spans.values() for span in talks)
        periods = ", ".join(f"{level}s: {due[level]}" for level in PERIODS)
        return Plan(
            step=self.step,
            looked_at=sum(sum(said.values()) for said in days.values()),
            notes=(f"conversations to look through: {paused}", f"to tell: {periods}"),
        )

    def run(self, night: Night, progress: Progress | None = None) -> Done:
        """Write what is missing or out of date, at most so much; call again while `left` is 1."""
        made: dict[str, int] = {}
        counts = Counter[str]()
        spans = self._spans(night)
        for number, (user, talks) in enumerate(spans.items(), 1):
            if len(made) >= self._most:
                counts["left"] = 1
                break
            self._settle(night, user, talks, made, counts)
            if progress:
                progress(number, len(spans))
        return Done(counts=dict(counts), made=self._as_it_stands(night, made))

    def undo(self, night: Night) -> int:
        """Nothing: all that it made are memories."""
        return 0

    def _as_it_stands(self, night: Night, made: dict[str, int]) -> tuple[tuple[str, int], ...]:
        """What was made and is still there; a model that was asked may have left another mark."""
        found = self._store.get(night.reach.tenant, list(made))
        return tuple((record.id, record.version) for record in found)

    def _settle(
        self,
        night: Night,
        user: str | None,
        talks: Sequence[Span],
        made: dict[str, int],
        counts: Counter[str],
    ) -> None:
        """One user's conversations and periods, unless nothing has changed since it found none."""
        position = sum(map(self._store.position, self._store.partitions(_of(night, user))))
        mark = (position, night.now.date(), night.use_model)
        if self._settled.get(user) == mark:
            return
        before = len(made)
        for name, records in self._told(night, user, talks):
            if records:
                made.update((record.id, record.version) for record in records)
                counts[name] += len(records)
            if len(made) >= self._most:
                counts["left"] = 1
                return
        if len(made) == before and all(_paused(span, night.now) for span in talks):
            self._settled[user] = mark

    def _told(
        self, night: Night, user: str | None, talks: Sequence[Span]
    ) -> Iterator[tuple[str, list[MemoryRecord]]]:
        """What is written, one thing after another, and whether of conversations or periods."""
        for span in talks:
            if _paused(span, night.now):
                with suppress(NotFound, Conflict):
                    yield (
                        "conversations",
                        self._conversations.summarise(
                            span.session_id, user_id=user, refine=night.use_model
                        ),
                    )
        said = self._days(night, user)
        for level in PERIODS:
            for due in self._due(night, user, level, said):
                with suppress(NotFound, Conflict):
                    yield f"{level}s", self._tell(due, user, night.use_model)

    def _tell(self, due: Due, user: str | None, refine: bool) -> list[MemoryRecord]:
        """The period's summary, if it was written now."""
        verbs = self._conversations
        tell = {Level.DAY: verbs.day, Level.WEEK: verbs.week, Level.MONTH: verbs.month}[due.level]
        record, before = tell(due.day, user_id=user, refine=refine), due.standing
        same = before is not None and (before.id, before.version) == (record.id, record.version)
        return [] if same else [record]

    def _due(self, night: Night, user: str | None, level: Level, said: Counter[date]) -> list[Due]:
        """Periods that are over, and that no summary or one with less tells of; earliest first."""
        thread = Thread(self._store, _of(night, user))
        standing = {str(one.metadata.get(level)): one for one in thread.summaries(level, _FOR_ALL)}
        ended = [day for day in over(level, said, night.now.date()) if _worth(level, day, said)]
        found = [Due(level, day, standing.get(name_of(level, day))) for day in ended]
        return [due for due in found if _lacking(due, said, night.use_model)]

    def _days(self, night: Night, user: str | None) -> Counter[date]:
        """How many messages stand of each day."""
        return Counter(
            (_EPOCH + timedelta(microseconds=trait.happened)).date()
            for partition in self._store.partitions(_of(night, user))
            for trait in self._store.traits(partition)
            if trait.kind == Kind.MESSAGE and trait.state == State.ACTIVE
        )

    def _spans(self, night: Night) -> dict[str | None, list[Span]]:
        """Conversations in reach, by user."""
        found: dict[str | None, list[Span]] = {}
        offset = 0
        while page := self._store.spans(night.reach, limit=PAGE, offset=offset):
            for span in page:
                found.setdefault(span.user_id, []).append(span)
            offset += len(page)
        return found


def _of(night: Night, user: str | None) -> Reach:
    return Reach(tenant=night.reach.tenant, user_id=user)


def _paused(span: Span, now: datetime) -> bool:
    return now - span.last > PAUSE


def _worth(level: Level, day: date, said: Counter[date]) -> bool:
    """Whether a period has more than one part to tell."""
    if level is Level.MONTH:
        return sum(any(said[one] for one in days_of(*part)) for part in parts_of(day)) > 1
    return level is Level.DAY or sum(said[one] > 0 for one in days_of(level, day)) > 1


def _lacking(due: Due, said: Counter[date], use_model: bool) -> bool:
    if due.standing is None:
        return True
    told = due.standing.metadata
    unrefined = use_model and MODEL not in told and DECLINED not in told
    return unrefined or held_by(due.standing) < sum(said[d] for d in days_of(due.level, due.day))

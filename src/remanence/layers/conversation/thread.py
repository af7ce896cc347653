"""Reading one conversation, or one user's day; and what has left its window, cut into segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import dropwhile, islice

from remanence.layers.conversation.window import tokens_of
from remanence.memories.lineage import SOURCES, made_of, sources_of
from remanence.memories.merges import hidden
from remanence.memories.messages import OF_MEMORY
from remanence.model.conversation import Level
from remanence.model.filter import ACTIVE, Both, Compare, Filter, happened
from remanence.model.memory import HALF, LEVELS, Kind, MemoryRecord, State, level_of
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.validation import ORIGIN

FIRST_PAGE = 64  # often enough
PAGE = 1_000
MOST_MESSAGES = 16
MOST_TOKENS = 1_200
PAUSE = timedelta(hours=6)
# An append looks for gaps among so many of the newest segments; `summarise` among all.
LOOKED_AT = 50
_MESSAGE = Compare("kind", "eq", Kind.MESSAGE, field=True)
_MOST_HELD = 10**12  # far more than any conversation holds: somebody else's number

Run = list[MemoryRecord]
CountMessage = Callable[[MemoryRecord], int]


def told_from(levels: Sequence[float]) -> list[float]:
    """Of the levels (highest first) at which something was said, those that tell all of it.

    From half on a level tells whatever is trusted no less, so the lowest of these is enough; each
    of the others tells only its own.
    """
    trusted = [level for level in levels if level >= HALF]
    return [*trusted[-1:], *levels[len(trusted) :]]


def level_in(thread: Thread) -> float:
    """The level of trust of a thread that has one."""
    assert thread.level is not None
    return thread.level


class Thread:
    """The messages and summaries in a reach that stand, in order of time.

    At a `level` of trust it has the summaries of that level, and the messages they tell of: from
    half on, all that are trusted no less; below, only those of the level. So what is trusted less
    changes nothing in what is told of the more trusted.
    """

    def __init__(self, store: Store, reach: Reach, level: float | None = None) -> None:
        self._store = store
        self.reach = reach
        self.level = level
        self._said: tuple[Filter, ...] = ()
        self._made: tuple[Filter, ...] = ()
        if level is not None:
            self.reach = replace(reach, min_trust=max(level, reach.min_trust))
            self._made = (Compare("trust", "eq", level, field=True),)
        if level is not None and level < HALF:
            above = LEVELS[LEVELS.index(level) - 1]
            self._said = (Compare("trust", "lt", above, field=True),)

    def tells(self, trust: float) -> bool:
        """Whether the thread tells of what is trusted so far."""
        if self.level is None or self.level >= HALF:
            return trust >= self.reach.min_trust
        return level_of(trust) == self.level

    def at(self, level: float) -> Thread:
        """The same thread at a level of trust."""
        return Thread(self._store, self.reach, level)

    def above(self, trust: float) -> Thread:
        """The same thread with whatever is trusted at least so far."""
        return Thread(self._store, replace(self.reach, min_trust=max(trust, self.reach.min_trust)))

    def below(self, trust: float) -> Thread:
        """The same thread with whatever is trusted less."""
        found = Thread(self._store, self.reach)
        found._said = (Compare("trust", "lt", trust, field=True),)
        return found

    def levels(self, since: datetime | None = None, until: datetime | None = None) -> list[float]:
        """The levels of trust at which something was said, the highest first.

        Each is counted by itself, and all again at the end: others may write between two counts.
        """
        found: list[float] = []
        counted, total = 0, self.count(since, until)
        of_level = self.above(0)
        for level in LEVELS:
            if counted >= total:
                total = self.count(since, until)
            if counted >= total or level < self.reach.min_trust:
                break
            of_level.reach = replace(self.reach, min_trust=level)
            count = of_level.count(since, until)
            found += [level] if count else []
            counted += count
            of_level._said = (Compare("trust", "lt", level, field=True),)
        return found

    def newest(self, limit: int, until: datetime | None = None) -> list[MemoryRecord]:
        """The last messages, oldest first; with `until`, of those before that moment."""
        where = self._messages(until=until)
        return self._store.archive.find(self.reach, where, limit=limit)[::-1]

    def spoken(self, limit: int) -> list[MemoryRecord]:
        """The last messages without those about memory itself, oldest first."""
        return self._store.archive.find(self.reach, self._spoken(), limit=limit)[::-1]

    def count_spoken(self) -> int:
        """How many messages there are, those about memory itself left out."""
        return self._store.archive.count(self.reach, self._spoken())

    def before(self, message: MemoryRecord, limit: int) -> list[MemoryRecord]:
        """The last messages that stand before this memory, which may be archived; oldest first."""
        moment = Compare("happened_at", "eq", message.happened_at, field=True)
        from_it_on = dropwhile(lambda r: r.id != message.id, self._pages(moment, newest_first=True))
        standing = (
            record
            for record in islice(from_it_on, 1, None)
            if record.kind == Kind.MESSAGE and record.state == State.ACTIVE
        )
        found = list(islice(standing, limit))[::-1]
        rest = limit - len(found)
        return [*(self.newest(rest, message.happened_at) if rest else []), *found]

    def messages(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> Iterator[MemoryRecord]:
        """Messages from `since` up to before `until`, oldest first."""
        return self._pages(self._messages(since, until))

    def count(self, since: datetime | None = None, until: datetime | None = None) -> int:
        """How many messages there are from `since` up to before `until`."""
        return self._store.archive.count(self.reach, self._messages(since, until))

    def summaries(self, level: Level, *more: Filter) -> Iterator[MemoryRecord]:
        """Summaries of a level that were made here, the one that reaches furthest first."""
        where = Both((_summaries(level), *self._made, *more))
        found = self._pages(where, newest_first=True)
        return (record for record in found if made_of(record))

    def count_summaries(self, level: Level, *more: Filter) -> int:
        """How many summaries of a level there are."""
        return self._store.archive.count(self.reach, Both((_summaries(level), *self._made, *more)))

    def everything(self, any_state: bool) -> list[MemoryRecord]:
        """Messages and summaries, oldest first: in any state, or those that stand.

        Those that stood until they were merged count among these.
        """
        kinds: Filter = Compare("kind", "in", (Kind.MESSAGE, Kind.SUMMARY), field=True)
        found = list(self._pages(kinds))
        if any_state:
            return found
        merged = {record.id for record in hidden(self._store, found)}
        return [one for one in found if one.state == State.ACTIVE or one.id in merged]

    def _messages(self, since: datetime | None = None, until: datetime | None = None) -> Filter:
        return Both((_MESSAGE, ACTIVE, *happened(since, until), *self._said))

    def _spoken(self) -> Filter:
        return Both((_MESSAGE, ACTIVE, Compare(OF_MEMORY, "exists", False), *self._said))

    def _pages(self, where: Filter, *, newest_first: bool = False) -> Iterator[MemoryRecord]:
        seen: set[str] = set()  # others may write between the pages
        offset, size = 0, FIRST_PAGE
        while page := self._store.archive.find(
            self.reach, where, limit=size, offset=offset, newest_first=newest_first
        ):
            yield from (record for record in page if record.id not in seen)
            seen |= {record.id for record in page}
            offset += len(page)
            if len(page) < size:
                return
            size = PAGE


def _summaries(level: Level) -> Filter:
    kind = Compare("kind", "eq", Kind.SUMMARY, field=True)
    made_here = Compare("origin", "eq", ORIGIN, field=True), Compare(SOURCES, "exists", True)
    return Both((kind, ACTIVE, Compare("level", "eq", level.value), *made_here))


def cut(
    messages: Sequence[MemoryRecord],
    covered: Iterable[str],
    after: datetime | None = None,
    *,
    all_of_it: bool = False,
    count: CountMessage = tokens_of,
) -> list[Run]:
    """Segments of the messages (oldest first) that are not in one yet, by their ids in `covered`.

    First at what is covered already and at long pauses, then so that no segment is too long. The
    last segment is left out while it may still grow, unless `all_of_it`; `after` is when the first
    message behind these was said.
    """
    known = frozenset(covered)
    found: list[Run] = []
    for run, closed in _runs(messages, known, after):
        parts = list(_parts(run, count))
        last = parts[-1]
        full = len(last) >= MOST_MESSAGES or sum(map(count, last)) >= MOST_TOKENS
        if not (closed or all_of_it or full):
            parts.pop()
        found += parts
    return found


def _runs(
    messages: Sequence[MemoryRecord], covered: frozenset[str], after: datetime | None
) -> Iterator[tuple[Run, bool]]:
    """Uncovered messages without a long pause among them, and whether no more can follow."""
    run: Run = []
    for message in messages:
        ended = message.id in covered or _paused(run, message.happened_at)
        if run and ended:
            yield run, True
            run = []
        if message.id not in covered:
            run.append(message)
    if run:
        yield run, after is not None and _paused(run, after)


def _paused(run: Run, at: datetime) -> bool:
    return bool(run) and at - run[-1].happened_at > PAUSE


def _parts(run: Run, count: CountMessage) -> Iterator[Run]:
    part: Run = []
    tokens = 0
    for message in run:
        size = count(message)
        if part and (len(part) == MOST_MESSAGES or tokens + size > MOST_TOKENS):
            yield part
            part, tokens = [], 0
        part.append(message)
        tokens += size
    yield part


def gaps(store: Store, thread: Thread, oldest: MemoryRecord, *, all_of_it: bool) -> list[Run]:
    """The segments to be made of the messages before `oldest`, the first one in the window."""
    segments, start = _looked_at(thread.summaries(Level.SEGMENT), all_of_it)
    since, covered = start, None
    if segments and not all_of_it:
        since, covered = _since(store, thread, segments, start)
    if covered is None:
        covered = [message for segment in segments for message in sources_of(store, segment)]
    left = _left(thread, since, oldest)
    ids = (message.id for message in covered)
    return cut(left, ids, oldest.happened_at, all_of_it=all_of_it)


def _looked_at(
    newest_first: Iterable[MemoryRecord], all_of_it: bool
) -> tuple[list[MemoryRecord], datetime | None]:
    """The newest segments, and since when they are all there are (None: always).

    Many may end at one moment; the last moment's are always all of them.
    """
    chosen: list[MemoryRecord] = []
    for segment in newest_first:
        enough = len(chosen) >= LOOKED_AT and segment.happened_at < chosen[0].happened_at
        if enough and not all_of_it:
            return chosen, _after(segment.happened_at)
        chosen.append(segment)
    return chosen, None


def _since(
    store: Store, thread: Thread, segments: Sequence[MemoryRecord], start: datetime | None
) -> tuple[datetime | None, list[MemoryRecord] | None]:
    """Since when messages must be read, and which of those are covered, if that is known.

    Usually since the end of the last segment: the messages before it are as many as the segments
    say that they hold.
    """
    end = segments[0].happened_at
    last = [segment for segment in segments if segment.happened_at == end]
    covered = [message for segment in last for message in sources_of(store, segment)]
    earlier = [s for s in segments[len(last) :] if start is None or s.happened_at >= start]
    held = sum(message.happened_at < end for message in covered) + sum(map(held_by, earlier))
    whole = thread.count(start, end) == held
    return (end, covered) if whole else (start, None)


def held_by(segment: MemoryRecord) -> int:
    """How many messages a summary covers."""
    number = segment.metadata.get("messages")
    if isinstance(number, bool) or not isinstance(number, int):
        return 0
    return number if 0 < number <= _MOST_HELD else 0


def _left(thread: Thread, since: datetime | None, oldest: MemoryRecord) -> list[MemoryRecord]:
    left: list[MemoryRecord] = []
    for message in thread.messages(since, _after(oldest.happened_at)):
        if message.id == oldest.id:
            break
        left.append(message)
    return left


def _after(moment: datetime) -> datetime | None:
    last = datetime.max.replace(tzinfo=moment.tzinfo)
    return moment + datetime.resolution if moment < last else None

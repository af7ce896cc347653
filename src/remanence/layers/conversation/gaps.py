"""What has left the window and is in no segment yet, found with as little reading as it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from remanence.layers.conversation.segments import Run, cut
from remanence.layers.conversation.thread import Thread
from remanence.model.conversation import Level
from remanence.model.memory import MemoryRecord
from remanence.ports.store import Store
from remanence.remember.lineage import sources_of

# An append looks for gaps among so many of the newest segments; `summarise` among all.
LOOKED_AT = 50
_MOST_HELD = 10**12  # far more than any conversation holds: somebody else's number


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

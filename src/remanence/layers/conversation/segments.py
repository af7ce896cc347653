"""Cutting what has left the window into segments worth a summary each. Pure functions.

The cuts depend on the messages alone, so that two processes that see the same make the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from remanence.layers.conversation.chat import tokens_of
from remanence.model.memory import MemoryRecord

MOST_MESSAGES = 16
MOST_TOKENS = 1_200
PAUSE = timedelta(hours=6)

Run = list[MemoryRecord]
CountMessage = Callable[[MemoryRecord], int]


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
        if not (closed or all_of_it or _full(parts[-1], count)):
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


def _full(part: Run, count: CountMessage) -> bool:
    return len(part) >= MOST_MESSAGES or sum(map(count, part)) >= MOST_TOKENS

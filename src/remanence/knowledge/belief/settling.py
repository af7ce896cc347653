"""Times inside a slot: vague ones settled by what else was said, and who ends whom when."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from remanence.knowledge.belief.said import Said, latest, witnessed


@dataclass(frozen=True, slots=True)
class Span:
    """How long what was said is believed: until `end`, which `by` brought about, if it ends.

    `doubted` are those of more trust that hold all the while, `rivals` equals that say otherwise.
    """

    said: Said
    start: datetime | None
    end: datetime | None = None
    by: Said | None = None
    rivals: tuple[Said, ...] = ()
    doubted: tuple[Said, ...] = ()

    def covers(self, moment: datetime) -> bool:
        """Whether it is believed at that moment."""
        begun = self.start is None or self.start <= moment
        return begun and (self.end is None or moment < self.end)


def settle(said: Sequence[Said]) -> list[Said]:
    """Starts and ends of some length, pushed to their latest where the earliest cannot be.

    Who says today "I moved to Rome this month" and said "I live in Bonn" last week moved since:
    what was said later happened later. Nobody of less trust can push.
    """
    started = [_with_start(one, said) for one in said]
    return [_with_end(one, started) for one in started]


def spans(said: Sequence[Said]) -> list[Span]:
    """For everything said of a slot, how long it is believed."""
    starts = Starts(said)
    ending = [one for one in said if one.end is not None]
    return _covered([_span(one, starts, ending) for one in said if one.names_one])


class Starts:
    """What starts in a slot, in order of time."""

    def __init__(self, said: Iterable[Said]) -> None:
        keyed = [(one.start, one) for one in said if one.start is not None and one.names_one]
        keyed.sort(key=lambda pair: (pair[0], pair[1].at, pair[1].order))
        self._at = [(start, one.at) for start, one in keyed]
        self._said = [one for _, one in keyed]
        self._dated = [one for one in self._said if one.is_dated]
        self._at_once: dict[datetime, list[Said]] = defaultdict(list)
        for one in self._said:
            self._at_once[one.at].append(one)
        self._other = self._others()

    def superseding(self, one: Said) -> Said | None:
        """The first that says otherwise from a later start on, with no less trust.

        Of two starts at one moment the one said later is later. What was told with its end does
        not end what was said to be so after that.
        """
        at = bisect_right(self._at, (one.start or one.at, one.at))
        while at < len(self._said):
            later = self._said[at]
            if later.key == one.key:
                at = self._other[at]
                continue
            equal = later.level == one.level and same_time(one, later)
            passes = later.end is not None and later.end <= one.at
            if later.level >= one.level and not equal and not passes:
                return later
            at += 1
        return None

    def rivals(self, one: Said) -> Iterator[Said]:
        """Those of the same trust that say otherwise from the same time on."""
        undated = [other for other in self._at_once[one.at] if not other.is_dated]
        for other in [*self._dated, *undated] if one.is_dated else self._at_once[one.at]:
            if other.key != one.key and other.level == one.level and same_time(one, other):
                yield other

    def _others(self) -> list[int]:
        """For each place, the next with another key."""
        found = [len(self._said)] * len(self._said)
        for at in range(len(found) - 2, -1, -1):
            alike = self._said[at].key == self._said[at + 1].key
            found[at] = found[at + 1] if alike else at + 1
        return found


def same_time(one: Said, other: Said) -> bool:
    """Whether two claims say that they start at the same time, as far as that is known.

    Told times do if they overlap; a time told and one not told only if both were said at once.
    """
    if one.window is None or other.window is None:
        return False
    at_once = one.at == other.at or (one.is_dated and other.is_dated)
    return at_once and _overlap(one.window, other.window)


def _overlap(one: tuple[datetime, datetime], other: tuple[datetime, datetime]) -> bool:
    """Whether two ranges share a moment; one without length is that moment."""
    first, second = sorted((one, other))
    return first[0] == second[0] or second[0] < first[1]


def _with_start(one: Said, others: Iterable[Said]) -> Said:
    last = latest(one.claim.began, one.at)
    if last is None or one.start is None:
        return one
    for other in others:
        seen = witnessed(other)
        apart = other.names_one and other.key != one.key and other.level >= one.level
        if apart and other.at < one.at and seen is not None and one.start <= seen < last:
            return replace(one, start=last, window=(last, last))
    return one


def _with_end(one: Said, others: Iterable[Said]) -> Said:
    last = latest(one.claim.ended, one.at)
    if last is None or one.end is None:
        return one
    for other in others:
        meant = other.names_one and one.key in (None, other.key)
        heard = other.at <= one.at and other.start is not None and other.level >= one.level
        if meant and heard and other is not one and one.end <= (other.start or one.end) < last:
            return replace(one, end=last)
    return one


def _span(one: Said, starts: Starts, ending: Iterable[Said]) -> Span:
    if one.start is None:
        return Span(one, None, one.end, one)
    rivals = tuple(starts.rivals(one))
    ends = [(one.end, one)] if one.end is not None else []
    ends += [(end.end, end) for end in ending if end.end is not None and _closes(end, one)]
    later = starts.superseding(one)
    ends += [(later.start, later)] if later is not None and later.start is not None else []
    if not ends:
        return Span(one, one.start, rivals=rivals)
    end, by = min(ends, key=lambda pair: (pair[0], -pair[1].level, pair[1].order))
    return Span(one, one.start, max(end, one.start), by, rivals)


def _closes(end: Said, one: Said) -> bool:
    """Whether an end that was told is the end of this, too.

    Of two ends for the same thing the one said later counts.
    """
    if end is one or end.key not in (None, one.key) or end.level < one.level:
        return False
    if end.end is None or one.start is None or end.end <= one.start:
        return False
    return one.end is None or end.level > one.level or one.at < end.at


def _covered(found: Sequence[Span]) -> list[Span]:
    """What starts while something of more trust holds waits for its end, or is doubted."""
    by_level: dict[int, list[Span]] = defaultdict(list)
    for span in found:
        by_level[span.said.level].append(span)
    done: list[Span] = []
    for level in sorted(by_level, reverse=True):
        above = [span for span in done if not span.doubted]
        done += [_uncovered(span, above) for span in by_level[level]]
    return done


def _uncovered(span: Span, above: Sequence[Span]) -> Span:
    start, passed = span.start, []
    while start is not None and (over := _over(span, start, above)) is not None:
        passed.append(over.said)
        if over.end is None or (span.end is not None and span.end <= over.end):
            return replace(span, doubted=tuple(passed))
        start = over.end
    return replace(span, start=start) if passed else span


def _over(span: Span, moment: datetime, above: Iterable[Span]) -> Span | None:
    """What of more trust says otherwise then, unless something of more trust says the same."""
    there = [one for one in above if one.start is not None and one.covers(moment)]
    if any(one.said.key == span.said.key for one in there):
        return None
    return next(iter(there), None)

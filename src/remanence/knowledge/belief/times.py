"""Times inside a slot: vague ones settled, who ends whom, and the stretches that make one fact."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from remanence.knowledge.belief.claims import BY_HALF, SlotClaim, latest, witnessed


@dataclass(frozen=True, slots=True)
class SlotSpan:
    """How long what was said is believed: until `end`, which `by` brought about, if it ends.

    `doubted` are those of more trust that hold all the while, `rivals` equals that say otherwise.
    """

    said: SlotClaim
    start: datetime | None
    end: datetime | None = None
    by: SlotClaim | None = None
    rivals: tuple[SlotClaim, ...] = ()
    doubted: tuple[SlotClaim, ...] = ()

    def covers(self, moment: datetime) -> bool:
        """Whether it is believed at that moment."""
        begun = self.start is None or self.start <= moment
        return begun and (self.end is None or moment < self.end)


def settle(said: Sequence[SlotClaim]) -> list[SlotClaim]:
    """Starts and ends of some length, pushed to their latest where the earliest cannot be.

    Who says today "I moved to Rome this month" and said "I live in Bonn" last week moved since:
    what was said later happened later. Nobody of less trust can push.
    """
    started = [_with_start(one, said) for one in said]
    return [_with_end(one, started) for one in started]


def spans(said: Sequence[SlotClaim]) -> list[SlotSpan]:
    """For everything said of a slot, how long it is believed."""
    starts = Starts(said)
    ending = [one for one in said if one.end is not None]
    return _covered([_span(one, starts, ending) for one in said if one.names_one])


class Starts:
    """What starts in a slot, in order of time."""

    def __init__(self, said: Iterable[SlotClaim]) -> None:
        keyed = [(one.start, one) for one in said if one.start is not None and one.names_one]
        keyed.sort(key=lambda pair: (pair[0], pair[1].at, pair[1].order))
        self._at = [(start, one.at) for start, one in keyed]
        self._said = [one for _, one in keyed]
        self._dated = [one for one in self._said if one.is_dated]
        self._at_once: dict[datetime, list[SlotClaim]] = defaultdict(list)
        for one in self._said:
            self._at_once[one.at].append(one)
        self._other = self._others()

    def superseding(self, one: SlotClaim) -> SlotClaim | None:
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

    def rivals(self, one: SlotClaim) -> Iterator[SlotClaim]:
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


def same_time(one: SlotClaim, other: SlotClaim) -> bool:
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


def _with_start(one: SlotClaim, others: Iterable[SlotClaim]) -> SlotClaim:
    last = latest(one.claim.began, one.at)
    if last is None or one.start is None:
        return one
    for other in others:
        seen = witnessed(other)
        apart = other.names_one and other.key != one.key and other.level >= one.level
        if apart and other.at < one.at and seen is not None and one.start <= seen < last:
            return replace(one, start=last, window=(last, last))
    return one


def _with_end(one: SlotClaim, others: Iterable[SlotClaim]) -> SlotClaim:
    last = latest(one.claim.ended, one.at)
    if last is None or one.end is None:
        return one
    for other in others:
        meant = other.names_one and one.key in (None, other.key)
        heard = other.at <= one.at and other.start is not None and other.level >= one.level
        if meant and heard and other is not one and one.end <= (other.start or one.end) < last:
            return replace(one, end=last)
    return one


def _span(one: SlotClaim, starts: Starts, ending: Iterable[SlotClaim]) -> SlotSpan:
    if one.start is None:
        return SlotSpan(one, None, one.end, one)
    rivals = tuple(starts.rivals(one))
    ends = [(one.end, one)] if one.end is not None else []
    ends += [(end.end, end) for end in ending if end.end is not None and _closes(end, one)]
    later = starts.superseding(one)
    ends += [(later.start, later)] if later is not None and later.start is not None else []
    if not ends:
        return SlotSpan(one, one.start, rivals=rivals)
    end, by = min(ends, key=lambda pair: (pair[0], -pair[1].level, pair[1].order))
    return SlotSpan(one, one.start, max(end, one.start), by, rivals)


def _closes(end: SlotClaim, one: SlotClaim) -> bool:
    """Whether an end that was told is the end of this, too.

    Of two ends for the same thing the one said later counts.
    """
    if end is one or end.key not in (None, one.key) or end.level < one.level:
        return False
    if end.end is None or one.start is None or end.end <= one.start:
        return False
    return one.end is None or end.level > one.level or one.at < end.at


def _covered(found: Sequence[SlotSpan]) -> list[SlotSpan]:
    """What starts while something of more trust holds waits for its end, or is doubted."""
    by_level: dict[int, list[SlotSpan]] = defaultdict(list)
    for span in found:
        by_level[span.said.level].append(span)
    done: list[SlotSpan] = []
    for level in sorted(by_level, reverse=True):
        above = [span for span in done if not span.doubted]
        done += [_uncovered(span, above) for span in by_level[level]]
    return done


def _uncovered(span: SlotSpan, above: Sequence[SlotSpan]) -> SlotSpan:
    start, passed = span.start, []
    while start is not None and (over := _over(span, start, above)) is not None:
        passed.append(over.said)
        if over.end is None or (span.end is not None and span.end <= over.end):
            return replace(span, doubted=tuple(passed))
        start = over.end
    return replace(span, start=start) if passed else span


def _over(span: SlotSpan, moment: datetime, above: Iterable[SlotSpan]) -> SlotSpan | None:
    """What of more trust says otherwise then, unless something of more trust says the same."""
    there = [one for one in above if one.start is not None and one.covers(moment)]
    if any(one.said.key == span.said.key for one in there):
        return None
    return next(iter(there), None)


@dataclass(slots=True)
class Stretch:
    """One object of a slot over one time. It grows while the claims are gone through."""

    key: str
    start: datetime | None
    end: datetime | None
    by: SlotClaim | None
    spans: list[SlotSpan] = field(default_factory=list)

    def join(self, span: SlotSpan) -> None:
        """Take in a span that begins in this stretch: it lasts as long as the longer of both."""
        longer = self.end is not None and (span.end is None or span.end > self.end)
        surer = span.end == self.end and span.by and self.by and span.by.level > self.by.level
        if longer or surer:
            self.end, self.by = span.end, span.by
        self.spans.append(span)

    def meets(self, other: Stretch) -> bool:
        """Whether both are believed at some moment."""
        starts = [one.start for one in (self, other) if one.start is not None]
        ends = [one.end for one in (self, other) if one.end is not None]
        return not starts or not ends or max(starts) < min(ends)

    @property
    def said(self) -> list[SlotClaim]:
        """What was said of it, as it was recorded."""
        if len(self.spans) == 1:
            return [self.spans[0].said]
        return sorted((span.said for span in self.spans), key=lambda one: one.order)

    @property
    def level(self) -> int:
        """The most trust that anybody who said so has."""
        return max(span.said.level for span in self.spans)

    @property
    def superseded_by(self) -> str | None:
        """The key that took its place, if one did."""
        return self.by.key if self.by is not None and self.by.key != self.key else None


def stretches(spans: Sequence[SlotSpan], *, events: bool = False) -> list[Stretch]:
    """Spans as stretches: said again before its end it goes on, later it is another stretch.

    More trust does not reach back over an interruption, nor to where somebody says it began who is
    trusted less than by half. `events` that were told to happen at
    different times stay apart.
    """
    by_key: dict[str, list[SlotSpan]] = defaultdict(list)
    for span in spans:
        by_key[span.said.key or ""].append(span)
    return [one for key, of_key in by_key.items() for one in _of_key(key, of_key, spans, events)]


def _of_key(
    key: str, spans: Sequence[SlotSpan], all: Sequence[SlotSpan], events: bool
) -> list[Stretch]:
    found: list[Stretch] = []
    begun = [(span.start, span) for span in spans if span.start is not None]
    for start, span in sorted(begun, key=lambda pair: (pair[0], pair[1].said.order)):
        if found and _is_surer_after_another(found[-1], start, span, all):
            found[-1].end, found[-1].by = start, span.said
        if not found or not _goes_on(found[-1], start, span, events):
            found.append(Stretch(key, start, span.end, span.by))
        found[-1].join(span)
    ended = [(span.end, span) for span in spans if span.start is None and span.end is not None]
    alone: dict[int, Stretch] = {}
    for end, span in sorted(ended, key=lambda pair: pair[1].said.order):
        _place(key, found, alone, end, span)
    return [*found, *alone.values()]


def _is_surer_after_another(
    before: Stretch, start: datetime, span: SlotSpan, all: Iterable[SlotSpan]
) -> bool:
    level, first = before.level, before.start
    if first is None or span.said.level <= level or not _reaches(before, start):
        return False
    if level < BY_HALF <= span.said.level:
        return True
    return any(
        one.start is not None and first < one.start < start
        for one in all
        if one.said.key != before.key and one.said.level >= level
    )


def _goes_on(before: Stretch, start: datetime, span: SlotSpan, events: bool) -> bool:
    if before.end is not None and start >= before.end:
        return False
    first = before.spans[0].said
    told = first.is_dated and span.said.is_dated
    return not (events and told and not same_time(first, span.said))


def _place(
    key: str, found: Sequence[Stretch], alone: dict[int, Stretch], end: datetime, span: SlotSpan
) -> None:
    """An end without a start belongs to the stretch before it, else to one of unknown start."""
    earlier = [one for one in found if one.start is not None and one.start < end]
    if earlier and (_reaches(earlier[-1], end) or earlier[-1].superseded_by is not None):
        earlier[-1].spans.append(span)
    elif len(earlier) in alone:
        _take(alone[len(earlier)], span)
    else:
        alone[len(earlier)] = Stretch(key, None, end, span.said, [span])


def _reaches(stretch: Stretch, end: datetime) -> bool:
    return stretch.end is None or stretch.end >= end


def _take(stretch: Stretch, span: SlotSpan) -> None:
    """Of several ends the most trusted counts, then the one recorded last."""
    if stretch.by is None or span.said.level >= stretch.by.level:
        stretch.end, stretch.by = span.end, span.said
    stretch.spans.append(span)

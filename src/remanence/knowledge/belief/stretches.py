"""Stretches: the claims that say the same of the same time, which make one fact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from remanence.knowledge.belief.said import BY_HALF, Said
from remanence.knowledge.belief.settling import Span, same_time


@dataclass(slots=True)
class Stretch:
    """One object of a slot over one time. It grows while the claims are gone through."""

    key: str
    start: datetime | None
    end: datetime | None
    by: Said | None
    spans: list[Span] = field(default_factory=list)

    def join(self, span: Span) -> None:
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
    def said(self) -> list[Said]:
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


def stretches(spans: Sequence[Span], *, events: bool = False) -> list[Stretch]:
    """Spans as stretches: said again before its end it goes on, later it is another stretch.

    More trust does not reach back over an interruption, nor to where somebody says it began who is
    trusted less than by half. `events` that were told to happen at
    different times stay apart.
    """
    by_key: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_key[span.said.key or ""].append(span)
    return [one for key, of_key in by_key.items() for one in _of_key(key, of_key, spans, events)]


def _of_key(key: str, spans: Sequence[Span], all: Sequence[Span], events: bool) -> list[Stretch]:
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
    before: Stretch, start: datetime, span: Span, all: Iterable[Span]
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


def _goes_on(before: Stretch, start: datetime, span: Span, events: bool) -> bool:
    if before.end is not None and start >= before.end:
        return False
    first = before.spans[0].said
    told = first.is_dated and span.said.is_dated
    return not (events and told and not same_time(first, span.said))


def _place(
    key: str, found: Sequence[Stretch], alone: dict[int, Stretch], end: datetime, span: Span
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


def _take(stretch: Stretch, span: Span) -> None:
    """Of several ends the most trusted counts, then the one recorded last."""
    if stretch.by is None or span.said.level >= stretch.by.level:
        stretch.end, stretch.by = span.end, span.said
    stretch.spans.append(span)

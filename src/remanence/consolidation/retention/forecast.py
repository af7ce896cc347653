"""The forecast: which memories would be forgotten, when and why; and pictures of their fading."""

from __future__ import annotations

import heapq
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.consolidation.retention.steps import (
    NEVER,
    Days,
    Trace,
    allowance,
    calendar_days,
    candidates,
    days_to_fade,
    forgettable,
    forgotten_on,
    kept_by,
    reason_of,
    slight,
    strength,
    strength_at,
    trace_of,
)
from remanence.errors import ConfigError, InvalidInput
from remanence.model.filter import ACTIVE, Both, Filter, Not
from remanence.model.ports.store import Store
from remanence.model.query import check_limit
from remanence.model.sleep import ForgetPolicy, Night
from remanence.model.validation import whole_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FURTHEST = 36_525  # days: a hundred years
EXCERPT = 80
LASTING = "not fading"


@dataclass(frozen=True, slots=True, kw_only=True)
class FadingMemory:
    """A memory that would be forgotten `on` a day. `excerpt` is for its owner's eyes alone."""

    id: str
    on: date
    strength: float
    importance: float
    uses: int
    touched: datetime
    reason: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would be forgotten from `now` on: the first ones whole, all of them in numbers.

    `weeks` are counts for each week to come; what has faded already is in the first. `exempt`
    counts active memories that stay, by the first reason that holds. A run takes `most_a_run` at
    most, so the days are the earliest possible.
    """

    now: datetime
    policy: ForgetPolicy
    days: int
    total: int
    first: tuple[FadingMemory, ...]
    weeks: tuple[int, ...]
    exempt: Mapping[str, int]
    most_a_run: int


def forecast(store: Store, night: Night, *, days: int = 90, limit: int = 100) -> Forecast:
    """What would be forgotten within so many days, the earliest `limit` of it in detail."""
    whole_of("days", days, 1, FURTHEST)
    check_limit(limit)
    weeks = Counter[int | None]()
    coming = _coming(store, night, days, weeks)
    first = heapq.nsmallest(limit, coming, key=lambda one: (one.on, one.strength, one.id))
    lasting = weeks.pop(None, 0)
    active = store.archive.count(night.reach, ACTIVE)
    return Forecast(
        now=night.now,
        policy=night.policy.forget,
        days=days,
        total=weeks.total(),
        first=tuple(_with_excerpts(store, night, first)),
        weeks=tuple(weeks[n] for n in range(math.ceil(days / 7))),
        exempt=_exempt(store, night) | ({LASTING: lasting} if lasting else {}),
        most_a_run=allowance(night.policy.cap, active),
    )


def excerpt_of(text: str, most: int = EXCERPT) -> str:
    """The beginning of a text on one line, with nothing in it that cannot be printed."""
    line = " ".join(text[: 4 * most].split())
    seen = "".join(letter if letter.isprintable() else "�" for letter in line)
    return seen if len(seen) <= most and len(text) <= 4 * most else seen[: most - 1] + "…"


def _coming(
    store: Store, night: Night, days: int, weeks: Counter[int | None]
) -> Iterator[FadingMemory]:
    now, policy = night.now, night.policy.forget
    for record, counted in candidates(store, night, slight(policy)):
        trace = trace_of(record)
        on = forgotten_on(trace, now, policy, counted)
        if on is None:
            weeks[None] += 1
        elif (ahead := (on - now.date()).days) < days:
            weeks[ahead // 7] += 1
            yield FadingMemory(
                id=record.id,
                on=on,
                strength=strength_at(trace, now, policy, counted),
                importance=trace.importance,
                uses=trace.uses,
                touched=trace.touched,
                reason=_reason(trace, night, counted, ahead),
            )


def _reason(trace: Trace, night: Night, counted: Days, ahead: int) -> str:
    now, policy = night.now, night.policy.forget
    if forgettable(trace, now, policy, counted):
        return reason_of(trace, now, policy, counted)
    unit = "active day" if policy.active_days else "day"
    return (
        f"if not used for {ahead} more {unit}{'' if ahead == 1 else 's'}: importance "
        f"{trace.importance:.2f}, uses {trace.uses}, then older than {policy.older_than_days:g} "
        f"days and below {policy.floor:g}"
    )


def _with_excerpts(store: Store, night: Night, found: list[FadingMemory]) -> Iterator[FadingMemory]:
    """Those that are still there, with the beginning of what they say."""
    texts = {r.id: r.text for r in store.archive.get(night.reach.tenant, [one.id for one in found])}
    for one in found:
        if one.id in texts:
            yield replace(one, excerpt=excerpt_of(texts[one.id]))


def _exempt(store: Store, night: Night) -> dict[str, int]:
    counts: dict[str, int] = {}
    before: tuple[Filter, ...] = (ACTIVE,)
    for why, where in (NEVER | kept_by(night.policy.forget)).items():
        counts[why] = store.archive.count(night.reach, Both((*before, where)))
        before += (Not(where),)
    return counts


BLOCKS = " ▁▂▃▄▅▆▇█"
LABEL = 40
WIDEST = 1_000
STEPS = 200
# Okabe and Ito's palette, told apart by colour-blind eyes too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """How one memory fades. `start` is its last use or change, in days from now, never above 0.

    What it was before is not known: only the last use and the number of uses are kept.
    """

    label: str
    importance: float
    uses: int
    start: float

    def at(self, day: float, policy: ForgetPolicy) -> float | None:
        """Its strength on a day counted from now; None before its last use."""
        if day < self.start:
            return None
        return strength(self.importance, day - self.start, self.uses, policy)


def foreseen(coming: Forecast) -> list[Curve]:
    """The curves of what a forecast tells in detail."""
    return [
        Curve(
            label=excerpt_of(one.excerpt, LABEL),
            importance=one.importance,
            uses=one.uses,
            start=-max(0.0, calendar_days(one.touched, coming.now)),
        )
        for one in coming.first
    ]


def text_plot(
    curves: Sequence[Curve],
    policy: ForgetPolicy,
    *,
    days: int = 90,
    width: int = 60,
    height: int = 4,
) -> list[str]:
    """A small chart for each memory, in lines of at most `width` + 8 characters or its label's.

    `╌` is the floor, `●` the last use, `┼` now.
    """
    whole_of("days", days, 1, WIDEST)
    whole_of("width", width, 1, WIDEST)
    whole_of("height", height, 1, WIDEST)
    first = _first(curves, days)
    charts = [_chart(curve, policy, (first, days), (width, height)) for curve in curves]
    return [line for chart in charts for line in chart]


def draw(curves: Sequence[Curve], policy: ForgetPolicy, path: Path, *, days: int = 90) -> None:
    """Draw the curves to a .png or .svg file, in place of what was there."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise InvalidInput(f"A picture's path must end in .png or .svg; got {path.name[:60]!r}.")
    whole_of("days", days, 1, WIDEST)
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(
            f"Plotting needs an extra: run `pip install 'remanence[plot]'` ({error})."
        ) from error
    figure = Figure(figsize=(9, 5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    _draw_on(axes, curves, policy, (_first(curves, days), days))
    _save(figure, path)


def _first(curves: Sequence[Curve], days: int) -> float:
    """The day a picture begins with: the earliest last use, no further back than it looks ahead."""
    return max(-float(days), min((curve.start for curve in curves), default=0.0))


def _chart(
    curve: Curve, policy: ForgetPolicy, span: tuple[float, int], size: tuple[int, int]
) -> list[str]:
    width, height = size
    first, last = span
    days = [first + (last - first) * (column + 0.5) / width for column in range(width)]
    values = [curve.at(day, policy) or 0.0 for day in days]
    top = max(curve.importance, policy.floor) or 1.0
    floor = min(int(policy.floor / top * height), height - 1)
    rows = []
    for row in reversed(range(height)):
        name = f"{top:.2f}" if row == height - 1 else f"{policy.floor:.2f}" if row == floor else ""
        cells = [BLOCKS[max(0, min(8, round((v / top * height - row) * 8)))] for v in values]
        line = "".join("╌" if row == floor and cell == " " else cell for cell in cells)
        rows.append(f"{name:>5} │{line}")
    axis = "".join(_tick(curve, *edges) for edges in _edges(first, last, width))
    return [curve.label, *rows, f"{'':>5} └{axis}", f"{'':>7}{_told(curve, policy, last)}"]


def _edges(first: float, last: float, width: int) -> list[tuple[float, float]]:
    step = (last - first) / width
    return [(first + step * n, first + step * (n + 1)) for n in range(width)]


def _tick(curve: Curve, left: float, right: float) -> str:
    if curve.uses and left <= curve.start < right:
        return "●"
    return "┼" if left <= 0 < right else "─"


def _told(curve: Curve, policy: ForgetPolicy, last: int) -> str:
    fading = days_to_fade(curve.importance, curve.uses, policy)
    left = None if fading is None else fading + curve.start
    if left is None:
        end = "never below the floor"
    elif left <= 0:
        end = "below the floor"
    else:
        end = f"below the floor in {left:.0f} days"
    return f"touched {-curve.start:.0f} days ago, uses {curve.uses}, {end}; {last} days ahead"


def _draw_on(
    axes: Axes, curves: Sequence[Curve], policy: ForgetPolicy, span: tuple[float, int]
) -> None:
    first, last = span
    for number, curve in enumerate(curves):
        start = max(first, curve.start)
        days = [start + (last - start) * n / STEPS for n in range(STEPS + 1)]
        colour = COLOURS[number % len(COLOURS)]
        # A label that begins with a line would be left out, one with dollar signs is no formula.
        label = " " + curve.label.replace("$", r"\$")
        axes.plot(days, [curve.at(day, policy) or 0.0 for day in days], color=colour, label=label)
        if curve.uses and curve.start >= first:
            axes.plot([curve.start], [curve.importance], "o", color=colour)
    axes.axhline(policy.floor, color="#777777", linestyle="--", linewidth=0.9, label="floor")
    axes.axvline(0, color="#BBBBBB", linewidth=0.9)
    axes.set_xlabel("active days from now" if policy.active_days else "days from now")
    axes.set_ylabel("strength")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7)


def _save(figure: Figure, path: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        try:
            figure.savefig(path, format=path.suffix[1:].lower())
        except OSError as error:
            raise InvalidInput(
                f"Cannot write {path}: {error.strerror}; give another path."
            ) from error

"""Pictures of fading: lines of text that fit, and files that open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.consolidation.retention.forecast import (
    Curve,
    FadingMemory,
    Forecast,
    draw,
    excerpt_of,
    foreseen,
    text_plot,
)
from remanence.errors import InvalidInput
from remanence.model.sleep import ForgetPolicy

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
POLICY = ForgetPolicy()
USED = Curve(label="used", importance=0.8, uses=3, start=-10)

curves = st.builds(
    Curve,
    label=st.just("a memory"),
    importance=st.floats(0, 1),
    uses=st.integers(0, 100),
    start=st.floats(-1e5, 0),
)


def test_a_chart_shows_fading_floor_use_and_now() -> None:
    lines = text_plot([USED], POLICY, days=90, width=20, height=4)
    assert lines == [
        "used",
        " 0.80 │▇▅▃▂                ",
        "      │█████▆▅▄▃▁          ",
        "      │███████████▇▆▅▅▄▃▂▂▁",
        " 0.10 │████████████████████",
        "      └●─┼─────────────────",
        "       touched 10 days ago, uses 3, below the floor in 152 days; 90 days ahead",
    ]
    faded = Curve(label="faded", importance=0.1, uses=0, start=0)
    assert "╌" in "".join(text_plot([faded], ForgetPolicy(floor=0.9), width=20))


@settings(deadline=None)
@given(st.lists(curves, max_size=3), st.integers(1, 80), st.integers(1, 10), st.integers(1, 400))
def test_every_chart_fits(found: list[Curve], width: int, height: int, days: int) -> None:
    lines = text_plot(found, POLICY, days=days, width=width, height=height)
    assert len(lines) == len(found) * (height + 3)
    charts = [line for line in lines if "│" in line or "└" in line]
    assert {len(line) for line in charts} <= {width + 7}


@pytest.mark.parametrize("size", [0, -1, 10**9, True, 1.5, "9"])
@pytest.mark.parametrize("name", ["days", "width", "height"])
def test_sizes_are_checked(name: str, size: Any) -> None:
    with pytest.raises(InvalidInput, match="whole number"):
        text_plot([USED], POLICY, **{name: size})


def test_a_curve_begins_with_the_last_use() -> None:
    old, used, ahead = foreseen(coming(*(NOW + timedelta(days=n) for n in (-60, 0, 9))))
    assert (old.start, used.start, ahead.start) == (-60, 0, 0)
    assert old.label == "a long text"
    assert old.at(-61, POLICY) is None


def coming(*touched: datetime) -> Forecast:
    """A forecast of a memory for each of these last uses."""
    told: dict[str, Any] = {"strength": 0.3, "importance": 0.3, "uses": 2, "reason": "faded"}
    first = (
        FadingMemory(id="id", on=NOW.date(), touched=at, excerpt="a\nlong text", **told)
        for at in touched
    )
    return Forecast(
        now=NOW,
        policy=POLICY,
        days=90,
        total=len(touched),
        first=tuple(first),
        weeks=(),
        exempt={},
        most_a_run=1,
    )


@pytest.mark.parametrize("suffix", [".png", ".svg", ".SVG"])
def test_a_picture_is_drawn(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"fading{suffix}"
    hostile = Curve(label="_$x^$ <script> 記憶 \\frac{", importance=0.05, uses=1, start=-400)
    draw([USED, hostile], POLICY, path)
    head = path.read_bytes()[:300]
    assert head.startswith(b"\x89PNG") or b"<svg" in path.read_bytes()
    assert b"<script>" not in path.read_bytes()
    draw([], POLICY, path)


def test_a_picture_needs_a_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"end in \.png"):
        draw([USED], POLICY, tmp_path / "fading.exe")
    with pytest.raises(InvalidInput, match="Cannot write"):
        draw([USED], POLICY, tmp_path / "nowhere" / "fading.png")


@settings(deadline=None)
@given(st.text(max_size=500), st.integers(2, 100))
def test_an_excerpt_is_a_short_line(text: str, most: int) -> None:
    found = excerpt_of(text, most)
    assert len(found) <= most
    assert found.isprintable()

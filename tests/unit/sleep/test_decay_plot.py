"""Pictures of fading: lines of text that fit, and files that open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.errors import InvalidInput
from remanence.model.sleep import ForgetPolicy
from remanence.sleep.forgetting.forecast import excerpt_of
from remanence.sleep.forgetting.plotting import Curve, curve_of, draw, text_plot
from remanence.testing.store_suites.making import memory

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
    with pytest.raises(InvalidInput, match="whole numbers"):
        text_plot([USED], POLICY, **{name: size})


def test_a_curve_begins_with_the_last_use() -> None:
    old = NOW - timedelta(days=60)
    record = memory("a\nlong text", created_at=old, updated_at=old, happened_at=old, importance=0.3)
    assert curve_of(record, NOW).start == -60
    used = memory("used", created_at=old, updated_at=old, happened_at=old, uses=2, used_at=NOW)
    assert curve_of(used, NOW).start == 0
    ahead = memory("ahead", happened_at=NOW + timedelta(days=9))
    assert curve_of(ahead, NOW).start == 0
    assert curve_of(record, NOW).label == "a long text"
    assert curve_of(record, NOW).at(-61, POLICY) is None


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

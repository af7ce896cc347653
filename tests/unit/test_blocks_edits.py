"""What edits make of a text, and what they say when they cannot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.errors import InvalidInput
from remanence.layers.blocks.documents import (
    GONE,
    Content,
    appended,
    check_fits,
    difference,
    inserted,
    replaced,
)
from remanence.model.block import block_label, block_limit


def test_append_joins_with_a_newline() -> None:
    assert appended("", "tea") == "tea"
    assert appended("tea", "cake") == "tea\ncake"


def test_replace_takes_exactly_one_place() -> None:
    assert replaced("human", "tea and cake", "tea", "coffee") == "coffee and cake"
    with pytest.raises(InvalidInput, match=r"occurs 0 times .* exactly as it stands"):
        replaced("human", "tea", "milk", "x")
    with pytest.raises(InvalidInput, match=r"occurs 2 times .* more of the text around"):
        replaced("human", "tea tea", "tea", "x")


def test_places_that_overlap_are_several() -> None:
    with pytest.raises(InvalidInput, match="occurs 2 times"):
        replaced("human", "aaa", "aa", "b")


@pytest.mark.parametrize(
    ("line", "gives"),
    [(-1, "a\nb\nx"), (0, "x\na\nb"), (1, "a\nx\nb"), (2, "a\nb\nx")],
)
def test_insert_goes_before_the_line(line: int, gives: str) -> None:
    assert inserted("human", "a\nb", "x", line) == gives


@pytest.mark.parametrize("line", [3, -2, 10**30, True, "1", None, 1.0])
def test_a_line_out_of_range_names_the_number_of_lines(line: object) -> None:
    with pytest.raises(InvalidInput, match="has 2 lines"):
        inserted("human", "a\nb", "x", line)  # type: ignore[arg-type]


def test_an_empty_block_has_no_lines() -> None:
    assert inserted("human", "", "x", 0) == "x"
    assert inserted("human", "", "x", -1) == "x"
    with pytest.raises(InvalidInput, match="has 0 lines"):
        inserted("human", "", "x", 1)
    with pytest.raises(InvalidInput, match="has 1 line;"):
        inserted("human", "a", "x", 2)


@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=6), st.integers(-1, 6))
def test_insert_is_an_insert_into_the_list_of_lines(lines: list[str], line: int) -> None:
    value = "\n".join(lines)
    if not value or line > len(lines):
        return
    at = len(lines) if line == -1 else line
    lines.insert(at, "x")
    assert inserted("human", value, "x", line) == "\n".join(lines)


def test_what_does_not_fit_says_by_how_much() -> None:
    check_fits("human", "x" * 10, 10)
    told = r"at most 10 characters and would have 1,234, 1,224 too many; .*configure"
    with pytest.raises(InvalidInput, match=told):
        check_fits("human", "x" * 1234, 10)


@pytest.mark.parametrize("label", ["human", "a", "A-b_c.9", "x" * 64])
def test_labels(label: str) -> None:
    assert block_label(label) == label


@pytest.mark.parametrize(
    "label",
    ["", "x" * 65, "a b", "a/b", "ä", "人", "a\n", "a\0", "<human>", None, 3, b"a", "core_memory",
     "Core_Memory", "\u200bhuman", "a'; DROP TABLE documents; --"],
)  # fmt: skip
def test_no_labels(label: object) -> None:
    with pytest.raises(InvalidInput, match="label"):
        block_label(label)


@pytest.mark.parametrize("limit", [0, -1, 1_000_001, True, 1.0, "12", None])
def test_no_limits(limit: object) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        block_limit(limit)


def test_a_diff_shows_text_and_settings() -> None:
    before = Content(value="a\nb", limit=10)
    after = Content(value="a\nc", limit=20)
    assert difference("human", before, after, ("version 1", "version 2")).splitlines() == [
        "--- human version 1",
        "+++ human version 2",
        "@@ -1,3 +1,3 @@",
        "-[limit: 10]",
        "+[limit: 20]",
        " a",
        "-b",
        "+c",
    ]
    assert difference("human", before, before, ("1", "2")) == ""
    assert "-[no block]" in difference("human", GONE, before, ("0", "1"))

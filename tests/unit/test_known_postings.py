"""Postings are read once for a state of a partition, and never outlive it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from remanence import Memory
from remanence.model.ports.store import Keys
from remanence.recall.columns import columns_of
from remanence.recall.postings import KnownPostings, joined, posting_of

from .test_recall_columns import trait

COLUMNS = columns_of([trait(key) for key in range(1, 9)])


class Reader:
    """Gives every term the same keys, and writes down what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []

    def __call__(self, terms: Sequence[str]) -> list[Keys | None]:
        self.asked.append(list(terms))
        return [None if term == "common" else np.array([2, 2, 5]) for term in terms]


def test_only_what_is_not_known_is_read() -> None:
    known, read = KnownPostings(COLUMNS, 1 << 20), Reader()
    first = known.of([("tea",), ("dog",)], read)
    second = known.of([("dog",), ("common",), ("tea",)], read)
    assert read.asked == [["tea", "dog"], ["common"]]
    assert (second[0] is first[1], second[1].common, second[2] is first[0]) == (True, True, True)
    assert known.of([], read) == []


def test_what_was_asked_longest_ago_goes_first() -> None:
    one = posting_of(COLUMNS, np.array([2, 2, 5])).nbytes
    known, read = KnownPostings(COLUMNS, 2 * one), Reader()
    for term in ("a", "b", "a", "c", "a", "b"):
        known.of([(term,)], read)
    assert read.asked == [["a"], ["b"], ["c"], ["b"]]


def test_nothing_is_kept_that_does_not_fit() -> None:
    known, read = KnownPostings(COLUMNS, 10), Reader()
    word = [("a",)]
    assert known.of(word, read)[0].rows.tolist() == known.of(word, read)[0].rows.tolist()
    assert read.asked == [["a"], ["a"]]


def test_a_word_is_read_once_under_all_its_readings() -> None:
    known, read = KnownPostings(COLUMNS, 1 << 20), Reader()
    found = known.of([("haus", "haus·de"), ("haus",), ("common", "haus·de")], read)
    assert read.asked == [["haus", "haus·de", "common"]]
    assert [one.rows.tolist() for one in found] == [[1, 4]] * 3
    assert found[0].scores.tolist() == found[1].scores.tolist()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([[2, 2, 5]], [2, 2, 5]),
        ([[2, 2, 5], [2, 3, 5, 5, 5]], [2, 2, 3, 5, 5, 5]),
        ([[], [4], []], [4]),
        ([None, [4]], [4]),
        ([None, []], None),
        ([[], []], []),
    ],
)
def test_a_memory_has_a_word_as_often_as_its_most_frequent_reading(
    found: list[list[int] | None], expected: list[int] | None
) -> None:
    keys = joined([None if one is None else np.array(one, np.int64) for one in found])
    assert (None if keys is None else keys.tolist()) == expected


@pytest.mark.parametrize("user", [None, "ana"])
def test_a_write_is_found_by_the_next_question(user: str | None) -> None:
    with Memory(":memory:") as memory:
        for number in range(3):
            memory.add(f"The lighthouse keeper number {number} drinks tea", user_id=user)
        assert len(memory.search("lighthouse keeper", user_id=user)) == 3
        added = memory.add("Another lighthouse keeper came", user_id=user)
        hits = memory.search("lighthouse keeper", user_id=user)
        assert added.id in {hit.memory.id for hit in hits}
        memory.forget(added.id)
        assert len(memory.search("lighthouse keeper", user_id=user)) == 3

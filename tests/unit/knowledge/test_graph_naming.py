"""Names: which may mean one thing, and which only look alike."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.knowledge.graph.likeness import (
    Sort,
    distance,
    name_likeness,
    pairs_worth_comparing,
    words_of,
)

ALIKE = [
    ("Ana Silva", "ana  SILVA", Sort.SAME),
    ("Ana-Maria", "Ana Maria", Sort.SAME),
    ("Dr. Ana Silva", "Ana Silva", Sort.SAME),
    ("Silva, Ana", "Ana Silva", Sort.SAME),
    ("José Peña", "Jose Pena", Sort.SAME),
    ("J. Smith", "John Smith", Sort.INITIALS),
    ("John S", "John Smith", Sort.INITIALS),
    ("NYU", "New York University", Sort.INITIALS),
    ("N.Y.U.", "New York University", Sort.INITIALS),
    ("BoE", "Bank of England", Sort.INITIALS),
    ("Ana", "Ana Silva", Sort.PART),
    ("Silva", "Ana Silva", Sort.PART),
    ("Acme", "Acme Corporation", Sort.PART),
    ("Katherine", "Kathrine", Sort.MISSPELT),
    ("Micheal", "Michael", Sort.MISSPELT),
    ("Constantinople", "Constantinopel", Sort.MISSPELT),
]
APART = [
    ("Ana", "Bob"),
    ("Room 12", "Room 13"),
    ("iPhone 12", "iPhone 12 Pro 2"),
    ("Al", "Al Gore Institute"),
    ("Tim", "Tom"),
    ("Lisa", "Elsa"),
    ("Anne Smith", "John Smith"),
    ("J. Smith", "K. Smith"),
    ("…", "!!"),
]


@pytest.mark.parametrize(("a", "b", "sort"), ALIKE)
def test_alike(a: str, b: str, sort: Sort) -> None:
    found = name_likeness(a, b)
    turned = name_likeness(b, a)
    assert found is not None
    assert turned is not None
    assert (found.sort, turned.sort) == (sort, sort)
    assert found.score == turned.score
    if sort in (Sort.PART, Sort.INITIALS):
        assert found.fuller
        assert not turned.fuller


@pytest.mark.parametrize(("a", "b"), APART)
def test_apart(a: str, b: str) -> None:
    found = name_likeness(a, b)
    assert found is None or found.score < 0.5, found


def test_the_more_certain_the_higher() -> None:
    pairs = [("Ana Silva", "Silva Ana"), ("J. Smith", "John Smith"), ("Ana", "Ana Silva")]
    scores = [one.score for a, b in pairs if (one := name_likeness(a, b))]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 3


@pytest.mark.parametrize(("a", "b", "sort"), ALIKE)
def test_what_is_alike_is_worth_comparing(a: str, b: str, sort: Sort) -> None:
    assert pairs_worth_comparing({"1": [a], "2": [b], "3": ["Zebra"]}) == [("1", "2")]


def test_aliases_bring_two_together() -> None:
    assert pairs_worth_comparing({"1": ["Robert", "Bobby"], "2": ["Boby"]}) == [("1", "2")]


def test_many_names_are_not_compared_each_with_each() -> None:
    names = {str(n): [f"Person {n:05}x{n * 7919 % 100_003}"] for n in range(5_000)}
    started = time.thread_time()
    found = pairs_worth_comparing(names)
    assert len(found) < 50_000
    assert time.thread_time() - started < 10


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "acb", 1), ("ab", "abcd", 2),
     ("kitten", "sitting", 3), ("abcdef", "uvwxyz", 3)],
)  # fmt: skip
def test_distance(a: str, b: str, expected: int) -> None:
    assert distance(a, b, 2) == expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_two_texts_can_be_compared(a: str, b: str) -> None:
    found, turned = name_likeness(a, b), name_likeness(b, a)
    assert (found and found.score) == (turned and turned.score)
    assert found is None or 0 < found.score < 1
    assert words_of(a) == words_of(a.upper().lower()) or not a.isascii()

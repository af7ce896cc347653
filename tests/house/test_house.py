"""The house may shrink: what makes it hard to walk through is held below the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from .imports import rooms_in, rooms_of_contract
from .measures import (
    PACKAGE,
    PYPROJECT,
    RECORD,
    REWRITE,
    Measures,
    measure,
    read_record,
    risen,
    too_large,
    written,
)
from .paths import four_paths


@pytest.fixture(scope="module")
def now() -> Measures:
    return measure()


def test_every_room_is_in_the_contract_and_in_the_record() -> None:
    rooms = set(rooms_in(PACKAGE))
    assert rooms == rooms_of_contract(PYPROJECT)
    assert rooms == set(read_record()["rooms"]), f"run {REWRITE}"


def test_nothing_rose_that_may_only_fall(now: Measures) -> None:
    rose = risen(read_record(), now)
    assert not rose, "\n".join(["the house grew", *rose, f"if that is meant, run {REWRITE}"])


def test_no_room_is_larger_than_its_ceiling(now: Measures) -> None:
    grown = too_large(read_record(), now)
    assert not grown, "\n".join([*grown, "make the room smaller; only a new room sets a ceiling"])


def test_every_path_and_port_of_the_record_is_measured(now: Measures) -> None:
    record = read_record()
    assert set(now["hops"]) == set(record["hops"]) == {"add", "night", "rest", "search"}
    assert set(now["ports"]) >= {"Store", "Embedder", "VectorIndex", "Cache"}
    assert all(0 < path["modules"] <= path["functions"] for path in now["hops"].values())


def test_the_same_paths_have_the_same_hops(now: Measures, tmp_path: Path) -> None:
    again = four_paths(tmp_path)
    assert {name: path.functions for name, path in again.items()} == {
        name: path["functions"] for name, path in now["hops"].items()
    }


def test_the_record_is_as_it_would_be_written() -> None:
    assert RECORD.read_text() == written(read_record())

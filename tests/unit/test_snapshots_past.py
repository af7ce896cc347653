"""What a memory was: its history, played backwards, gives every version it ever had."""

from __future__ import annotations

import tracemalloc
import zlib
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.layers.snapshots.section import chunks, packed, unpacked
from remanence.memories.draft import COMPARED, differing
from remanence.model.memory import Kind, MemoryRecord, Revision, State, at_version
from remanence.store.rows import before_text, before_values, revised

NOW = datetime(2024, 5, 1, tzinfo=UTC)
FIRST = MemoryRecord(
    id=str(UUID(int=1)), text="tea", tenant="t", happened_at=NOW, created_at=NOW, updated_at=NOW
)
METADATA = st.dictionaries(st.sampled_from("ab"), st.integers(0, 2) | st.booleans(), max_size=2)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["tea", "cake", "milk"]),
        "kind": st.sampled_from(Kind),
        "state": st.sampled_from(State),
        "importance": st.sampled_from([0.1, 0.5, 1.0]),
        "pinned": st.booleans(),
        "happened_at": st.integers(0, 3).map(lambda n: NOW + timedelta(days=n)),
        "speaker": st.sampled_from([None, "Ana"]),
        "metadata": st.dictionaries(st.sampled_from("ab"), st.integers(0, 2), max_size=2),
        "superseded_by": st.sampled_from([None, str(UUID(int=2))]),
        "session_id": st.sampled_from([None, "s"]),
    },
)


def lived(changes: list[dict[str, Any]]) -> tuple[list[MemoryRecord], list[Revision]]:
    """Every version of a memory that went through these changes, and the history that is kept."""
    versions, history = [FIRST], [Revision(version=1, verb="added", at=NOW)]
    for change in changes:
        old = versions[-1]
        before = before_values(before_text(old, change))  # what the stores write and read
        versions.append(revised(old, change, NOW))
        told = Revision(version=old.version + 1, verb="updated", at=NOW, before=before)
        history.append(told)
    return versions, history


@pytest.mark.slow
@given(st.lists(CHANGES, max_size=8), st.randoms())
def test_every_version_comes_back(changes: list[dict[str, Any]], chance: Any) -> None:
    versions, history = lived(changes)
    chance.shuffle(history)
    for version in versions:
        assert at_version(versions[-1], history, version.version) == replace(
            version, updated_at=versions[-1].updated_at
        )


@given(st.lists(CHANGES, min_size=1, max_size=5))
def test_changing_back_makes_it_what_it_was(changes: list[dict[str, Any]]) -> None:
    versions, history = lived(changes)
    for version in versions:
        now = versions[-1]
        goal = at_version(now, history, version.version)
        assert goal is not None
        back = replace(now, **differing(now, goal))
        assert differing(back, version) == {}


def test_a_version_it_never_had() -> None:
    versions, history = lived([{"text": "cake"}])
    assert at_version(versions[-1], history, 3) is None


def test_a_change_that_came_while_the_history_was_read_is_passed_over() -> None:
    versions, history = lived([{"text": "cake"}, {"text": "milk"}])
    assert at_version(versions[1], history, 1) == replace(versions[0], version=1)
    assert at_version(versions[1], history, 2) == versions[1]


@given(METADATA, METADATA)
def test_true_and_one_are_two_things(one: dict[str, Any], other: dict[str, Any]) -> None:
    told = differing(replace(FIRST, metadata=one), replace(FIRST, metadata=other))
    same = {k: (type(v), v) for k, v in one.items()} == {k: (type(v), v) for k, v in other.items()}
    assert (told == {}) == same


def test_counts_of_use_are_no_difference() -> None:
    used = replace(FIRST, uses=3, used_at=NOW, version=9, updated_at=NOW + timedelta(1))
    assert differing(FIRST, used) == {}
    assert "uses" not in COMPARED


@given(st.dictionaries(st.uuids().map(str), st.integers(1, 2**32 - 1), max_size=30))
def test_references_come_back_as_they_were_packed(versions: dict[str, int]) -> None:
    assert list(unpacked(packed(versions), len(versions)).items()) == list(versions.items())


@pytest.mark.parametrize(
    "text",
    [
        "?",
        "",
        b64encode(b"no zlib").decode(),
        b64encode(zlib.compress(bytes(19))).decode(),
        b64encode(zlib.compress(bytes(40))[:-5]).decode(),
        b64encode(zlib.compress(bytes(60))).decode(),
    ],
)
def test_what_is_not_packed_references_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        unpacked(text, 2)


def test_a_bomb_is_not_unpacked() -> None:
    bomb = b64encode(zlib.compress(bytes(64 << 20), 9)).decode()
    tracemalloc.start()
    with pytest.raises(ValueError, match="more than there can be"):
        unpacked(bomb, 50_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 << 20


def test_a_reference_takes_few_bytes() -> None:
    versions = {str(UUID(int=n * 2**64 + n * 7919)): 1 for n in range(10_000)}
    assert len(packed(versions)) < 22 * 10_000


def test_chunks() -> None:
    assert list(chunks([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(chunks([], 2)) == []

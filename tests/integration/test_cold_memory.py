"""A whole memory whose everything is cold: every verb answers as before."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.model.clock import FixedClock
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.model.tier import Tier
from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite.restoring import restore
from remanence.testing.store_suites.tiers import ALL, LATER, stored, use, vectors, whole
from remanence.tools.transfer.exports import export_memory
from remanence.tools.transfer.store_copy import copy_store
from remanence.tools.transfer.verification import verify
from support.places import Place, opened, places

MAY = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SAID = [
    "Ana moved to Lisbon in March and likes the trams there.",
    "Bo keeps bees behind the house and sells the honey in autumn.",
    "The meeting about the harbour is on Thursday in room 4.",
    *[
        f"On day {n} Ana wrote {n} pages of her book about the river and the sea."
        for n in range(30)
    ],
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    clock = FixedClock(MAY)
    with Memory(tmp_path / "memory.db", clock=clock) as opened_memory:
        made = opened_memory.add_many([{"text": text} for text in SAID], user_id="ana")
        clock.at = MAY + 2 * DAY
        opened_memory.update(made[2].id, text="The meeting about the harbour is in room 9.")
        yield opened_memory


def answers(memory: Memory) -> dict[str, Any]:
    """What the verbs that read say."""
    ask: dict[str, Any] = {"user_id": "ana"}
    past = memory.search("where is the meeting?", **ask, known_at=MAY + DAY, limit=1)
    exported = io.BytesIO()
    export_memory(memory, exported)
    found = memory.find(**ask, limit=50)
    return {
        "search": [hit.memory.text for hit in memory.search("who keeps bees?", **ask, limit=1)],
        "known_at": [hit.memory.text for hit in past],
        "find": [_unused(one) for one in found],
        "contains": len(memory.find(**ask, filters={"text": {"contains": "HONEY"}})),
        "get": [_unused(memory.get(one.id)) for one in found],
        "history": [memory.history(one.id) for one in found],
        "context": memory.context("where did Ana move?", **ask, max_tokens=40).text,
        "export": [json.loads(line).get("text") for line in exported.getvalue().splitlines()],
    }


def _unused(record: MemoryRecord) -> MemoryRecord:
    return replace(record, uses=0, used_at=None)


def test_every_verb_reads_what_is_cold(memory: Memory) -> None:
    memory.snapshot("before", user_id="ana")
    before = answers(memory)
    store = memory.parts.store
    everyone = Reach(tenant="default", all_users=True)
    assert store.tiers.pack(everyone, Tier.COLD, before=MAY + 9 * DAY).memories == len(SAID)
    assert [one.tier for one in store.tiers.uses("default")] == [Tier.COLD]
    after = answers(memory)
    for name, found in before.items():
        assert after[name] == found, name
    assert memory.snapshots.diff("before", user_id="ana").same
    assert not any(one.problems for one in memory.doctor())


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with places(tmp_path, request) as made:
        yield made


@pytest.mark.parametrize("into", ["sqlite", "postgres"])
def test_a_copy_of_what_is_cold_is_the_same(tmp_path: Path, place: Place, into: str) -> None:
    with (
        closing(SqliteStore(tmp_path / "own.db")) as source,
        closing(opened(place(into))) as target,
    ):
        records = stored(source, 40)
        source.tiers.pack(ALL, Tier.COLD, before=LATER)
        copy_store(source, target)
        assert target.archive.get("t", [one.id for one in records]) == records
        assert use(target, Tier.HOT).memories == 40
        assert vectors(target)[1] == vectors(source)[1]
        assert verify(source, target).differences.count == 0
        assert whole(target)


def test_a_backup_of_what_is_cold_is_whole(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "own.db")) as source:
        records = stored(source, 40)
        source.tiers.pack(ALL, Tier.COLD, before=LATER)
        source.upkeep.backup(tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "again.db")
    with closing(SqliteStore(tmp_path / "again.db")) as again:
        assert again.archive.get("t", [one.id for one in records]) == records
        assert whole(again)

"""Upkeep as a step of sleep: what has run out goes, vectors are made and left, the store tended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remanence import Memory
from remanence.consolidation.chores import UpkeepChore
from remanence.memories.writer import CHUNK
from remanence.model.clock import FixedClock
from remanence.model.document import Address, Put, Shelf
from remanence.model.scope import Reach
from remanence.model.sleep import Night, Run, SleepPolicy, Status
from remanence.testing.store_suites.making import FINGERPRINT, add, healthy, memory, pieces

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(BEGIN)


@pytest.fixture
def kept(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", clock=clock) as opened:
        yield opened


def upkept(kept: Memory) -> Run:
    (run,) = kept.sleep.run(["upkeep"])
    assert run.status is Status.COMPLETED
    return run


def chore(kept: Memory, **more: float) -> UpkeepChore:
    parts = kept.parts
    return UpkeepChore(
        parts.store,
        kept.tenant,
        sessions=kept.sessions,
        working=kept.working,
        writer=parts.writer,
        embedder=parts.embedder,
        **more,  # type: ignore[arg-type]
    )


def night(kept: Memory, now: datetime = BEGIN) -> Night:
    reach = Reach(tenant=kept.tenant, all_users=True)
    return Night(reach=reach, now=now, policy=SleepPolicy())


def test_what_has_run_out_is_removed(kept: Memory, clock: FixedClock) -> None:
    kept.sessions.create("s1", ttl_s=60)
    kept.sessions.create("s2", ttl_s=86_400 * 3)
    kept.working.set("goal", "tidy", session_id="s1", ttl_s=60)
    old = Address(shelf=Shelf.RUN, name="an old account")
    kept.parts.store.documents.put(
        kept.tenant, [Put(address=old, value={}, at=BEGIN, expires_at=BEGIN)]
    )
    clock.at = BEGIN + timedelta(days=1)
    counts = upkept(kept).counts
    assert (counts["sessions_removed"], counts["working_removed"]) == (1, 1)
    assert not kept.parts.store.documents.get(kept.tenant, [old])
    assert [one.id for one in kept.sessions.active()] == ["s2"]
    assert len(kept.sleep.log()) == 1


def test_a_present_that_is_to_come_removes_no_account(kept: Memory) -> None:
    kept.add("Ana likes tea.")
    (merged,) = kept.sleep.run(["merge"])
    (run,) = kept.sleep.run(["upkeep"], now=BEGIN + timedelta(days=300))
    assert run.status is Status.COMPLETED
    assert len(kept.sleep.log()) == 2
    assert kept.sleep.undo(merged.id).status is Status.UNDONE


def test_a_clock_that_is_doubted_removes_no_session(kept: Memory, clock: FixedClock) -> None:
    kept.sessions.create("s1", ttl_s=60)
    clock.at = BEGIN + timedelta(days=3650)
    assert "sessions_removed" not in chore(kept).run(night(kept, clock.at)).counts
    clock.at = BEGIN + timedelta(seconds=30)
    assert len(kept.sessions.active()) == 1


def test_memories_get_vectors_and_former_ones_go_when_all_have(kept: Memory) -> None:
    store, now = kept.parts.store, kept.parts.embedder.fingerprint
    records = [memory(f"note {n}", kept.tenant) for n in range(CHUNK + 20)]
    add(store, *records, made=pieces())
    assert store.vectors.count_unembedded(kept.tenant, now) == len(records)
    notes = kept.sleep.plan(["upkeep"])[0].notes
    assert f"{len(records)} of {len(records)} memories get vectors." in notes
    first = chore(kept, embedded=1).run(night(kept))
    assert first.counts["embedded"] == CHUNK
    assert "stale_vectors" not in first.counts
    assert FINGERPRINT in store.vectors.embedders()
    second = upkept(kept)
    assert second.counts["embedded"] == 20
    assert second.counts["stale_vectors"] >= len(records)
    assert store.vectors.count_unembedded(kept.tenant, now) == 0
    assert kept.search("note 7", limit=1)[0].memory.text == "note 7"


def test_without_an_embedder_the_rest_is_done(tmp_path: Path, clock: FixedClock) -> None:
    with Memory(tmp_path / "memory.db", clock=clock, embedder="none-here") as kept:
        kept.add("a")
        kept.sessions.create("s1", ttl_s=60)
        clock.at += timedelta(hours=1)
        assert upkept(kept).counts["sessions_removed"] == 1


def test_a_store_is_tended_once_in_a_while(kept: Memory) -> None:
    record = kept.add("a")
    for n in range(5):
        kept.update(record.id, importance=n / 10)
    assert upkept(kept).counts["feed_trimmed"] >= 5
    for n in range(5):
        kept.update(record.id, importance=n / 20)
    assert "feed_trimmed" not in upkept(kept).counts
    assert chore(kept, rest_s=0).run(night(kept)).counts["feed_trimmed"] >= 5
    assert [hit.memory.text for hit in kept.search("a")] == ["a"]
    assert healthy(kept.parts.store)

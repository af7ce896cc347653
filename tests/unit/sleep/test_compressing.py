"""The step that packs what is old: what it foresees, does and takes back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from remanence.consolidation.chores import Compressing
from remanence.errors import InvalidInput
from remanence.model.memory import MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.sleep import Night, SleepPolicy, Step
from remanence.model.tier import Tier
from remanence.model.write import Insert
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import NOW, memory, revise, write
from remanence.testing.store_suites.tiers import MADE_BY, made

REACH = Reach(tenant="t", all_users=True)
AGES = (0, 89, 91, 364, 366, 5000)


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    store = SqliteStore(":memory:")
    yield store
    store.close()


@pytest.fixture
def records(store: SqliteStore) -> list[MemoryRecord]:
    """A memory of each age, in days."""
    made_of = []
    for age in AGES:
        at = NOW - timedelta(days=age)
        made_of.append(memory(f"Ana said it {age} days ago. " * 9, happened_at=at, created_at=at))
    write(store, *[Insert(record=one, pieces=made(n)) for n, one in enumerate(made_of)])
    return made_of


def night(**policy: Any) -> Night:
    return Night(reach=REACH, now=NOW, policy=SleepPolicy(**policy))


def tiers(store: SqliteStore) -> dict[str, int]:
    return {one.tier.name: one.memories for one in store.tiers.uses("t")}


@pytest.mark.usefixtures("records")
def test_age_decides_the_tier(store: SqliteStore) -> None:
    chore = Compressing(store)
    assert chore.step is Step.COMPRESS
    foreseen = chore.foresee(night())
    assert foreseen.notes[0].startswith("2 memories")
    assert foreseen.notes[1].startswith("2 memories")
    assert tiers(store) == {"HOT": 6}
    told: list[tuple[int, int]] = []
    done = chore.run(night(), lambda so_far, of: told.append((so_far, of)))
    assert tiers(store) == {"HOT": 2, "COOL": 2, "COLD": 2}
    assert done.counts == {"cold": 2, "cool": 2, "texts": 4, "pieces": 4, "repacked": 0}
    assert told
    assert all(so_far <= of for so_far, of in told)
    assert chore.run(night()).counts["cold"] == 0
    assert chore.foresee(night()).looked_at == 0


def test_what_is_used_stays_and_what_is_archived_goes(
    store: SqliteStore, records: list[MemoryRecord]
) -> None:
    store.archive.note_uses("t", [(records[-1].id, NOW)])
    revise(store, records[0].id, state=State.ARCHIVED)
    Compressing(store, "snappy").run(night())
    assert tiers(store) == {"HOT": 2, "COOL": 2, "COLD": 2}


def test_time_enough_keeps_everything_hot(store: SqliteStore, records: list[MemoryRecord]) -> None:
    Compressing(store).run(night(cool_after_days=1e12, cold_after_days=float("inf")))
    assert tiers(store) == {"HOT": len(records)}


def test_undo_gives_the_texts_back(store: SqliteStore, records: list[MemoryRecord]) -> None:
    chore = Compressing(store)
    chore.run(night(cool_after_days=0, cold_after_days=1))
    assert tiers(store) == {"HOT": 1, "COLD": 5}
    assert chore.undo(night()) == 5
    assert tiers(store) == {"HOT": 6}
    assert store.archive.get("t", [one.id for one in records]) == records
    assert store.vectors.count_unembedded("t", MADE_BY) == 5
    assert chore.undo(night()) == 0


def test_an_unknown_codec_is_refused(store: SqliteStore) -> None:
    with pytest.raises(InvalidInput):
        Compressing(store, "rar").run(night())


@pytest.mark.usefixtures("records")
def test_stats_tell_the_tiers(store: SqliteStore) -> None:
    Compressing(store).run(night())
    assert {one.tier for one in store.upkeep.stats("t").tiers} == set(Tier)

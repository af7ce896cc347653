"""Tending: the store is kept in shape, and nothing that it holds or tells is changed."""

from __future__ import annotations

import pytest

from remanence.model.write import Remove
from remanence.ports.store import Store
from remanence.testing.copies import everything, fill
from remanence.testing.store_suites.making import (
    add,
    healthy,
    memory,
    partition_of,
    pieces,
    postings,
    revise,
    write,
)

ALL = 10**6


class Enough(Exception):
    """Somebody has seen enough."""


class TendingSuite:
    """`tend` and what it must leave alone."""

    def test_tending_changes_nothing_that_is_stored(self, store: Store) -> None:
        fill(store)
        before = everything(store)
        done = store.tend()
        assert done["feed_trimmed"] > 0
        assert everything(store) == before
        assert healthy(store)
        assert store.tend()["feed_trimmed"] == 0

    def test_followers_find_all_that_changed_wherever_they_were(self, store: Store) -> None:
        records = add(store, *[memory(f"m{n}") for n in range(8)], made=pieces())
        partition = partition_of(store)
        places = [0, store.position(partition)]
        for round in range(3):
            for record in records[round : round + 4]:
                revise(store, record.id, importance=round / 10)
            places.append(store.position(partition))
        write(store, Remove(id=records[0].id))
        told = [_told(store, partition, place) for place in places]
        newest, entries = store.position(partition), len(store.changes(partition, 0, ALL))
        store.tend()
        assert [_told(store, partition, place) for place in places] == told
        assert store.position(partition) == newest
        assert len(store.changes(partition, 0, ALL)) == 8 < entries
        add(store, memory("later"))
        assert len(store.changes(partition, newest, ALL)) == 1

    def test_words_are_found_as_before(self, store: Store) -> None:
        for n in range(30):
            add(store, memory(f"lemon tree {n}"))
        (before,) = postings(store, ["lemon"])
        store.tend()
        (after,) = postings(store, ["lemon"])
        assert after.tolist() == before.tolist()
        assert len(after) == 30

    def test_it_can_be_ended_between_transactions(self, store: Store) -> None:
        fill(store)
        before = everything(store)

        def enough(done: int, _total: int) -> None:
            raise Enough(done)

        with pytest.raises(Enough):
            store.tend(enough)
        assert everything(store) == before
        assert store.tend()
        assert healthy(store)

    def test_one_tends_at_a_time(self, store: Store) -> None:
        add(store, memory("a"))
        with store.alone("tend"):
            assert store.tend() == {}
        assert store.tend()


def _told(store: Store, partition: int, after: int) -> set[int]:
    return {change.key for change in store.changes(partition, after, ALL)}

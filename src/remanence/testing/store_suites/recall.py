"""What recall and the indexes read."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from remanence.model.memory import Kind
from remanence.model.write import Remove
from remanence.ports.store import Store
from remanence.testing.store_suites.making import (
    NOW,
    Reopen,
    add,
    memory,
    partition_of,
    postings,
    revise,
    write,
)


class RecallSuite:
    """What recall and the indexes read."""

    def test_the_feed_names_every_change(self, store: Store, reopen: Reopen) -> None:
        a, b = add(store, memory("a"), memory("b", user_id="u"))
        place = store.key_of("t", a.id)
        assert place is not None
        mine, key = place
        start, theirs = store.position(mine), partition_of(store, user_id="u")
        before = store.position(theirs)
        revise(store, a.id, importance=0.9)
        add(store, memory("c"))
        write(store, Remove(id=b.id))
        store = reopen(store)
        assert partition_of(store) == mine
        assert partition_of(store, user_id="u") == theirs
        feed = store.changes(mine, 0, 100)
        assert [change.key for change in feed].count(key) == 2
        assert [change.seq for change in feed] == sorted({change.seq for change in feed})
        assert feed[-1].seq == store.position(mine) > start
        assert len(store.changes(mine, start, 9)) == 2
        assert len(store.changes(theirs, before, 9)) == 1
        assert store.changes(mine, feed[0].seq, 1) == [feed[1]]
        assert store.changes(mine, store.position(mine), 9) == []

    def test_a_watcher_is_told_where_something_was_written(
        self, store: Store, reopen: Reopen
    ) -> None:
        add(store, memory("a"), memory("b", user_id="u"))
        mine, theirs = partition_of(store), partition_of(store, user_id="u")
        while store.watch(0):
            pass
        add(store, memory("c", user_id="u"))
        assert set(store.watch(5)) == {theirs}
        assert store.watch(0) == []
        add(store, memory("d"))
        assert set(store.watch(5)) == {mine}

    def test_traits_tell_what_recall_needs(self, store: Store) -> None:
        record = memory(
            "Is Ana's 3rd café open?", session_id="s", agent_id="g", speaker="Ana", role="user",
            kind=Kind.MESSAGE, importance=0.75, trust=0.5, happened_at=NOW + timedelta(seconds=1),
        )  # fmt: skip
        add(store, record, memory("other"))
        place = store.key_of("t", record.id)
        assert place is not None
        partition, key = place
        trait = next(one for one in store.traits(partition) if one.key == key)
        assert trait[:8] == (key, partition, "s", "g", "Ana", "user", "message", "active")
        assert trait.happened - trait.created == 1_000_000
        assert trait.created == int(NOW.timestamp()) * 1_000_000
        assert (trait.terms, trait.characters) == (5, len(record.text))
        assert (trait.importance, trait.trust) == (0.75, 0.5)
        assert list(store.traits(partition, [key, key + 999])) == [trait]
        assert list(store.traits(partition + 1, [key])) == []
        assert list(store.traits(partition, [])) == []

    def test_postings_name_a_key_once_per_occurrence(self, store: Store) -> None:
        a, b = add(store, memory("tea for two, tea for three"), memory("tea"))
        add(store, memory("tea of somebody else", user_id="u"))
        keys = [store.key_of("t", record.id) for record in (a, b)]
        asked = ["tea", "zebra", "three"]
        tea, none, three = postings(store, asked)
        assert tea.tolist() == [key[1] for key in (keys[0], keys[0], keys[1]) if key]
        assert none.size == 0
        assert three.tolist() == [keys[0] and keys[0][1]]
        assert tea.dtype == np.int64

    def test_a_term_that_is_everywhere_comes_back_empty(self, store: Store) -> None:
        add(store, *[memory("common word") for _ in range(20)], memory("rare word"))
        found = store.postings(partition_of(store), ["common", "rare", "word"], 20)
        assert [keys if keys is None else len(keys) for keys in found] == [20, 1, None]

    def test_words_follow_a_revision(self, store: Store) -> None:
        (record,) = add(store, memory("before"))
        revise(store, record.id, text="after")
        sizes = [keys.size for keys in postings(store, ["before", "after"])]
        assert sizes == [0, 1]

    def test_records_come_by_key(self, store: Store) -> None:
        records = add(store, *[memory(f"m{i}") for i in range(700)])
        keys = [key for key, _ in store.scan("t")]
        (foreign,) = add(store, memory("foreign", user_id="u"))
        place = store.key_of("t", foreign.id)
        assert place is not None
        mine = partition_of(store)
        found = store.records(mine, [*reversed(keys), place[1], place[1] + 1])
        assert found == dict(zip(keys, records, strict=True))
        assert store.records(mine, []) == {}

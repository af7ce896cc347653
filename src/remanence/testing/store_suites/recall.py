"""What recall and the indexes read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

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

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = (edge.replace(tzinfo=UTC) for edge in (datetime.min, datetime.max))


def said(store: Store, tenant: str = "t") -> list[tuple[int, int]]:
    """The days that each memory of no user speaks of, by key."""
    traits = store.traits(partition_of(store, tenant=tenant))
    return [(trait.said_from, trait.said_to) for trait in sorted(traits, key=lambda one: one.key)]


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

    def test_traits_tell_the_days_a_text_speaks_of(self, store: Store, reopen: Reopen) -> None:
        texts = ["We met yesterday.", "We met.", "Since 2019, and again yesterday."]
        records = add(store, *[memory(text, happened_at=NOW) for text in texts])
        today = (NOW - EPOCH).days
        assert said(store) == [(today - 1, today), (0, 0), (today - 1, today)]
        revise(store, records[1].id, text="We met today.")
        revise(store, records[0].id, happened_at=NOW - timedelta(days=9))
        revise(store, records[2].id, importance=0.9)
        told = [(today - 10, today - 9), (today, today + 1), (today - 1, today)]
        assert said(store) == told
        store = reopen(store)
        assert said(store) == told
        revise(store, records[0].id, text="We met.")
        assert said(store)[0] == (0, 0)

    def test_the_days_are_those_of_the_zone_that_a_time_is_given_in(self, store: Store) -> None:
        zone = timezone(timedelta(hours=-8))
        late = datetime(2024, 5, 9, 20, tzinfo=zone)
        add(store, memory("today", happened_at=late), memory("today", happened_at=EPOCH))
        add(store, *[memory("ten years ago", happened_at=at) for at in (FIRST, LAST)])
        day = (datetime(2024, 5, 9, tzinfo=UTC) - EPOCH).days
        *told, ancient, distant = said(store)
        assert told == [(day, day + 1), (0, 1)]
        assert ancient == (0, 0)
        assert 0 < distant[0] < distant[1] < 2**31

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

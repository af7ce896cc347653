"""What recall and the indexes read: words, traits, the feed, and stored pieces."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from remanence.errors import InvalidInput
from remanence.model.memory import Kind
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Piece, Pieces, Remove
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    NOW,
    OTHER,
    Reopen,
    add,
    healthy,
    memory,
    partition_of,
    pieces,
    postings,
    revise,
    write,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = (edge.replace(tzinfo=UTC) for edge in (datetime.min, datetime.max))


def said(store: Store, tenant: str = "t") -> list[tuple[int, int]]:
    """The days that each memory of no user speaks of, by key."""
    traits = store.recall.traits(partition_of(store, tenant=tenant))
    return [(trait.said_from, trait.said_to) for trait in sorted(traits, key=lambda one: one.key)]


class RecallSuite:
    """What recall and the indexes read."""

    def test_the_feed_names_every_change(self, store: Store, reopen: Reopen) -> None:
        a, b = add(store, memory("a"), memory("b", user_id="u"))
        place = store.recall.key_of("t", a.id)
        assert place is not None
        mine, key = place
        start, theirs = store.recall.position(mine), partition_of(store, user_id="u")
        before = store.recall.position(theirs)
        revise(store, a.id, importance=0.9)
        add(store, memory("c"))
        write(store, Remove(id=b.id))
        store = reopen(store)
        assert partition_of(store) == mine
        assert partition_of(store, user_id="u") == theirs
        feed = store.recall.changes(mine, 0, 100)
        assert [change.key for change in feed].count(key) == 2
        assert [change.seq for change in feed] == sorted({change.seq for change in feed})
        assert feed[-1].seq == store.recall.position(mine) > start
        assert len(store.recall.changes(mine, start, 9)) == 2
        assert len(store.recall.changes(theirs, before, 9)) == 1
        assert store.recall.changes(mine, feed[0].seq, 1) == [feed[1]]
        assert store.recall.changes(mine, store.recall.position(mine), 9) == []

    def test_a_watcher_is_told_where_something_was_written(
        self, store: Store, reopen: Reopen
    ) -> None:
        add(store, memory("a"), memory("b", user_id="u"))
        mine, theirs = partition_of(store), partition_of(store, user_id="u")
        while store.recall.watch(0):
            pass
        add(store, memory("c", user_id="u"))
        assert set(store.recall.watch(5)) == {theirs}
        assert store.recall.watch(0) == []
        add(store, memory("d"))
        assert set(store.recall.watch(5)) == {mine}

    def test_traits_tell_what_recall_needs(self, store: Store) -> None:
        record = memory(
            "Is Ana's 3rd café open?", session_id="s", agent_id="g", speaker="Ana", role="user",
            kind=Kind.MESSAGE, importance=0.75, trust=0.5, happened_at=NOW + timedelta(seconds=1),
        )  # fmt: skip
        add(store, record, memory("other"))
        place = store.recall.key_of("t", record.id)
        assert place is not None
        partition, key = place
        trait = next(one for one in store.recall.traits(partition) if one.key == key)
        assert trait[:8] == (key, partition, "s", "g", "Ana", "user", "message", "active")
        assert trait.happened - trait.created == 1_000_000
        assert trait.created == int(NOW.timestamp()) * 1_000_000
        assert (trait.terms, trait.characters) == (5, len(record.text))
        assert (trait.importance, trait.trust) == (0.75, 0.5)
        assert list(store.recall.traits(partition, [key, key + 999])) == [trait]
        assert list(store.recall.traits(partition + 1, [key])) == []
        assert list(store.recall.traits(partition, [])) == []

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
        keys = [store.recall.key_of("t", record.id) for record in (a, b)]
        asked = ["tea", "zebra", "three"]
        tea, none, three = postings(store, asked)
        assert tea.tolist() == [key[1] for key in (keys[0], keys[0], keys[1]) if key]
        assert none.size == 0
        assert three.tolist() == [keys[0] and keys[0][1]]
        assert tea.dtype == np.int64

    def test_a_term_that_is_everywhere_comes_back_empty(self, store: Store) -> None:
        add(store, *[memory("common word") for _ in range(20)], memory("rare word"))
        found = store.recall.postings(partition_of(store), ["common", "rare", "word"], 20)
        assert [keys if keys is None else len(keys) for keys in found] == [20, 1, None]

    def test_words_follow_a_revision(self, store: Store) -> None:
        (record,) = add(store, memory("before"))
        revise(store, record.id, text="after")
        sizes = [keys.size for keys in postings(store, ["before", "after"])]
        assert sizes == [0, 1]

    def test_records_come_by_key(self, store: Store) -> None:
        records = add(store, *[memory(f"m{i}") for i in range(700)])
        keys = [key for key, _ in store.archive.scan("t")]
        (foreign,) = add(store, memory("foreign", user_id="u"))
        place = store.recall.key_of("t", foreign.id)
        assert place is not None
        mine = partition_of(store)
        found = store.recall.records(mine, [*reversed(keys), place[1], place[1] + 1])
        assert found == dict(zip(keys, records, strict=True))
        assert store.recall.records(mine, []) == {}


class VectorSuite:
    """Stored pieces, and who still needs them."""

    def test_pieces_come_back_by_key_and_part(self, store: Store) -> None:
        add(store, memory("one"), memory("two"), made=pieces(3))
        keys = [key for key, _ in store.archive.scan("t")]
        found = store.vectors.pieces(FINGERPRINT, partition_of(store), list(reversed(keys)))
        assert [(piece.key, piece.part) for piece in found] == [
            (key, part) for key in keys for part in range(3)
        ]
        assert found[1][2:] == (1, 2, 0, pieces(3).pieces[1].vector, b"c" * 32)
        assert store.vectors.pieces(OTHER, partition_of(store), keys) == []
        scanned = list(store.vectors.scan(FINGERPRINT, partition_of(store)))
        assert scanned == [(piece.key, piece.part, piece.vector) for piece in found]

    def test_pieces_of_the_wrong_size_are_refused(self, store: Store) -> None:
        wrong = Piece(part=0, passage=0, start=0, stop=1, vector=b"short", codes=b"")
        with pytest.raises(InvalidInput):
            add(store, memory("x"), made=Pieces(fingerprint=FINGERPRINT, pieces=(wrong,)))
        assert store.archive.count(Reach(tenant="t")) == 0

    def test_what_is_not_embedded_is_listed_until_it_is(self, store: Store) -> None:
        records = add(store, memory("a"), memory("b", user_id="u"))
        add(store, memory("c"), made=pieces())
        waiting = store.vectors.unembedded("t", FINGERPRINT, 9)
        assert [record for _, record in waiting] == records
        assert store.vectors.count_unembedded("t", FINGERPRINT) == 2
        assert store.vectors.count_unembedded("t", OTHER) == 3
        assert len(store.vectors.unembedded("t", OTHER, 2)) == 2
        shared = partition_of(store)
        position = store.recall.position(shared)
        made = [(key, record.text, pieces()) for key, record in waiting]
        assert store.vectors.put("t", [*made, (10**6, "gone", pieces())]) == 2
        assert store.vectors.count_unembedded("t", FINGERPRINT) == 0
        assert [change.key for change in store.recall.changes(shared, position, 9)] == [
            waiting[0][0]
        ]

    def test_pieces_of_a_text_that_changed_are_passed_over(self, store: Store) -> None:
        (record,) = add(store, memory("before"), made=pieces())
        key = next(store.archive.scan("t"))[0]
        revise(store, record.id, text="after")
        assert store.vectors.pieces(FINGERPRINT, partition_of(store), [key]) == []
        assert store.vectors.put("t", [(key, "before", pieces())]) == 0
        assert store.vectors.count_unembedded("t", FINGERPRINT) == 1
        assert store.vectors.put("t", [(key, "after", pieces(2))]) == 1
        assert len(store.vectors.pieces(FINGERPRINT, partition_of(store), [key])) == 2

    def test_a_revision_brings_its_pieces(self, store: Store) -> None:
        (record,) = add(store, memory("before"), made=pieces(3))
        key = next(store.archive.scan("t"))[0]
        revise(store, record.id, text="after", pieces=pieces(1, fill=9))
        (piece,) = store.vectors.pieces(FINGERPRINT, partition_of(store), [key])
        assert piece.vector[0] == 9
        revise(store, record.id, importance=0.9)
        assert store.vectors.pieces(FINGERPRINT, partition_of(store), [key]) == [piece]
        assert healthy(store)

    def test_two_embedders_live_side_by_side(self, store: Store) -> None:
        add(store, memory("a"), memory("b"), made=pieces(2))
        waiting = store.vectors.unembedded("t", OTHER, 9)
        store.vectors.put(
            "t", [(key, record.text, pieces(1, OTHER)) for key, record in waiting[:1]]
        )
        assert store.vectors.count_unembedded("t", OTHER) == 1
        add(store, memory("c"), made=pieces(1))
        assert store.vectors.count_unembedded("t", OTHER) == 2
        assert store.vectors.count_unembedded("t", FINGERPRINT) == 0
        keys = [key for key, _ in store.archive.scan("t")]
        assert len(store.vectors.pieces(FINGERPRINT, partition_of(store), keys)) == 5
        add(store, memory("theirs", tenant="u"), made=pieces(2))
        assert store.vectors.put("u", [(keys[0], "a", pieces(1, OTHER))]) == 0
        assert store.vectors.embedders() == [FINGERPRINT, OTHER]
        assert store.vectors.forget_embedders("t", OTHER) == 5
        assert store.vectors.pieces(FINGERPRINT, partition_of(store), keys) == []
        assert len(store.vectors.pieces(OTHER, partition_of(store), keys)) == 1
        assert store.vectors.count_unembedded("t", FINGERPRINT) == 3
        assert store.vectors.count_unembedded("u", FINGERPRINT) == 0
        theirs = partition_of(store, tenant="u")
        assert len(list(store.vectors.scan(FINGERPRINT, theirs))) == 2
        assert healthy(store)

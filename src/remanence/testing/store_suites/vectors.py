"""Stored pieces, and who still needs them."""

from __future__ import annotations

import pytest

from remanence.errors import InvalidInput
from remanence.model.scope import Reach
from remanence.model.write import Piece, Pieces
from remanence.ports.store import Store
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    OTHER,
    add,
    healthy,
    memory,
    partition_of,
    pieces,
    revise,
)


class VectorSuite:
    """Stored pieces, and who still needs them."""

    def test_pieces_come_back_by_key_and_part(self, store: Store) -> None:
        add(store, memory("one"), memory("two"), made=pieces(3))
        keys = [key for key, _ in store.scan("t")]
        found = store.pieces(FINGERPRINT, partition_of(store), list(reversed(keys)))
        assert [(piece.key, piece.part) for piece in found] == [
            (key, part) for key in keys for part in range(3)
        ]
        assert found[1][2:] == (1, 2, 0, pieces(3).pieces[1].vector, b"c" * 32)
        assert store.pieces(OTHER, partition_of(store), keys) == []
        scanned = list(store.scan_vectors(FINGERPRINT, partition_of(store)))
        assert scanned == [(piece.key, piece.part, piece.vector) for piece in found]

    def test_pieces_of_the_wrong_size_are_refused(self, store: Store) -> None:
        wrong = Piece(part=0, passage=0, start=0, stop=1, vector=b"short", codes=b"")
        with pytest.raises(InvalidInput):
            add(store, memory("x"), made=Pieces(fingerprint=FINGERPRINT, pieces=(wrong,)))
        assert store.count(Reach(tenant="t")) == 0

    def test_what_is_not_embedded_is_listed_until_it_is(self, store: Store) -> None:
        records = add(store, memory("a"), memory("b", user_id="u"))
        add(store, memory("c"), made=pieces())
        waiting = store.unembedded("t", FINGERPRINT, 9)
        assert [record for _, record in waiting] == records
        assert store.count_unembedded("t", FINGERPRINT) == 2
        assert store.count_unembedded("t", OTHER) == 3
        assert len(store.unembedded("t", OTHER, 2)) == 2
        shared = partition_of(store)
        position = store.position(shared)
        made = [(key, record.text, pieces()) for key, record in waiting]
        assert store.put_pieces("t", [*made, (10**6, "gone", pieces())]) == 2
        assert store.count_unembedded("t", FINGERPRINT) == 0
        assert [change.key for change in store.changes(shared, position, 9)] == [waiting[0][0]]

    def test_pieces_of_a_text_that_changed_are_passed_over(self, store: Store) -> None:
        (record,) = add(store, memory("before"), made=pieces())
        key = next(store.scan("t"))[0]
        revise(store, record.id, text="after")
        assert store.pieces(FINGERPRINT, partition_of(store), [key]) == []
        assert store.put_pieces("t", [(key, "before", pieces())]) == 0
        assert store.count_unembedded("t", FINGERPRINT) == 1
        assert store.put_pieces("t", [(key, "after", pieces(2))]) == 1
        assert len(store.pieces(FINGERPRINT, partition_of(store), [key])) == 2

    def test_a_revision_brings_its_pieces(self, store: Store) -> None:
        (record,) = add(store, memory("before"), made=pieces(3))
        key = next(store.scan("t"))[0]
        revise(store, record.id, text="after", pieces=pieces(1, fill=9))
        (piece,) = store.pieces(FINGERPRINT, partition_of(store), [key])
        assert piece.vector[0] == 9
        revise(store, record.id, importance=0.9)
        assert store.pieces(FINGERPRINT, partition_of(store), [key]) == [piece]
        assert healthy(store)

    def test_two_embedders_live_side_by_side(self, store: Store) -> None:
        add(store, memory("a"), memory("b"), made=pieces(2))
        waiting = store.unembedded("t", OTHER, 9)
        store.put_pieces("t", [(key, record.text, pieces(1, OTHER)) for key, record in waiting[:1]])
        assert store.count_unembedded("t", OTHER) == 1
        add(store, memory("c"), made=pieces(1))
        assert store.count_unembedded("t", OTHER) == 2
        assert store.count_unembedded("t", FINGERPRINT) == 0
        keys = [key for key, _ in store.scan("t")]
        assert len(store.pieces(FINGERPRINT, partition_of(store), keys)) == 5
        add(store, memory("theirs", tenant="u"), made=pieces(2))
        assert store.put_pieces("u", [(keys[0], "a", pieces(1, OTHER))]) == 0
        assert store.embedders() == [FINGERPRINT, OTHER]
        assert store.forget_embedders("t", OTHER) == 5
        assert store.pieces(FINGERPRINT, partition_of(store), keys) == []
        assert len(store.pieces(OTHER, partition_of(store), keys)) == 1
        assert store.count_unembedded("t", FINGERPRINT) == 3
        assert store.count_unembedded("u", FINGERPRINT) == 0
        theirs = partition_of(store, tenant="u")
        assert len(list(store.scan_vectors(FINGERPRINT, theirs))) == 2
        assert healthy(store)

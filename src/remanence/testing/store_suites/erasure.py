"""What erasure needs of a store: signatures, counts of what goes, keys that stay used."""

from __future__ import annotations

import pytest

from remanence.errors import Conflict
from remanence.model.write import Insert, Receipt, Remove
from remanence.ports.store import Store
from remanence.testing.store_suites.making import (
    NOW,
    Reopen,
    add,
    link,
    memory,
    new_id,
    pieces,
    revise,
    write,
)
from remanence.testing.store_suites.saying import claim, entity, found


class ErasureSuite:
    """Signatures, counts of what goes, keys that stay used."""

    def test_a_store_signs_with_its_own_secret(self, store: Store, reopen: Reopen) -> None:
        signed = store.sign(b"a receipt")
        assert len(signed) == 32
        assert store.sign(b"another") != signed
        assert reopen(store).sign(b"a receipt") == signed

    def test_it_says_what_it_is_and_what_may_stay(self, store: Store) -> None:
        assert store.kind
        assert all(line.endswith(".") for line in store.leftovers)

    def test_what_is_stored_with_memories_is_counted(self, store: Store) -> None:
        one, two, three = add(store, memory("a"), memory("b"), memory("c"), made=pieces(2))
        revise(store, one.id, importance=0.9)
        store.associate("t", link(one, two))
        store.associate("t", link(two, three))
        store.note_feedback("t", one.id, useful=True, query="q", at=NOW)
        ana = entity("Ana")
        said = found(one, claim(ana, "likes", "tea", memory=one.id), names=(ana,))
        write(store, learnt=(said,))
        nothing = dict.fromkeys(("versions", "vectors", "links", "claims", "mentions"), 0)
        assert store.holdings("t", [one.id, two.id]) == {
            "versions": 3, "vectors": 4, "links": 2, "claims": 1, "mentions": 1, "feedback": 1,
        }  # fmt: skip
        assert store.holdings("t", [three.id, str(new_id()), "no id"])["links"] == 1
        assert store.holdings("u", [one.id]) == {**nothing, "feedback": 0}
        assert store.holdings("t", []) == {**nothing, "feedback": 0}

    def test_a_key_stays_used_when_what_it_wrote_is_removed(
        self, store: Store, reopen: Reopen
    ) -> None:
        gone, stays, other = memory("gone"), memory("stays"), memory("other")
        both, alone = Receipt(key="k", digest=b"d"), Receipt(key="other", digest=b"d")
        write(store, Insert(record=gone), Insert(record=stays), receipt=both)
        write(store, Insert(record=other), receipt=alone)
        write(store, Remove(id=gone.id))
        store = reopen(store)
        for digest in (b"d", b"e"):
            with pytest.raises(Conflict, match="erased"):
                write(store, Insert(record=memory("x")), receipt=Receipt(key="k", digest=digest))
        assert write(store, Insert(record=memory("x")), receipt=alone).records == (other,)
        write(store, Remove(id=stays.id))
        with pytest.raises(Conflict, match="erased"):
            write(store, Insert(record=memory("x")), receipt=both)
        fresh = memory("of another tenant", tenant="u")
        assert not write(store, Insert(record=fresh), tenant="u", receipt=both).repeated

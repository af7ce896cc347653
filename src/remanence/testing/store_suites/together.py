"""What a batch does besides its actions: documents shelved, uses moved; and links the other way."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.document import Discard, Put
from remanence.model.memory import State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Insert, Moved, Receipt, Remove, Revise
from remanence.testing.store_suites.making import (
    NOW,
    Reopen,
    add,
    block,
    claim,
    entity,
    found,
    healthy,
    link,
    memory,
    new_id,
    put,
    revise,
    write,
)

DAY = timedelta(days=1)


def _used(store: Store, id: str) -> tuple[int, object]:
    [found] = store.archive.get("t", [id])
    return found.uses, found.used_at


def _put(name: str, **fields: Any) -> Put:
    return Put(address=block(name), value={"of": name}, at=NOW, **fields)


class TogetherSuite:
    """Documents, uses and actions of one batch happen together or not at all."""

    def test_documents_are_shelved_with_the_actions(self, store: Store, reopen: Reopen) -> None:
        record, ends = memory("a"), NOW + DAY
        asked = (_put("new", expected=0, expires_at=ends, keep=True), _put("plain"))
        write(store, Insert(record=record), documents=asked)
        store = reopen(store)
        new, plain = store.documents.get("t", [block("new"), block("plain")])
        assert (new.value, new.version, new.expires_at) == ({"of": "new"}, 1, ends)
        assert (plain.version, plain.created_at) == (1, NOW)
        assert [one.value for one in store.documents.editions("t", block("new"))] == [{"of": "new"}]
        assert store.archive.get("t", [record.id])[0].text == "a"
        assert store.documents.get("u", [block("new")]) == []
        assert healthy(store)

    def test_documents_alone_are_a_batch_too(self, store: Store) -> None:
        assert write(store, documents=(_put("b"),)).records == ()
        write(store, documents=(_put("b", expected=1), Discard(address=block("none"))))
        assert store.documents.get("t", [block("b")])[0].version == 2
        write(store, documents=(Discard(address=block("b"), expected=2),))
        assert store.documents.get("t", [block("b")]) == []

    @pytest.mark.parametrize("shelving", [
        _put("b", expected=7), _put("b", expected=0), _put("none", expected=1),
        Discard(address=block("b"), expected=3), Discard(address=block("none"), expected=1),
    ], ids=str)  # fmt: skip
    def test_a_version_that_passed_undoes_the_whole_batch(
        self, store: Store, shelving: Put | Discard
    ) -> None:
        (old,) = add(store, memory("old"))
        (before,) = [put(store, block("b"), {"x": 1})]
        new = memory("new")
        with pytest.raises(Conflict):
            write(
                store,
                Insert(record=new),
                Revise(id=old.id, changes={"text": "other"}, verb="update", at=NOW),
                links=(link(new, old),),
                moved=(Moved(id=old.id, uses=3, used_at=NOW),),
                documents=(_put("fine"), shelving),
            )
        assert store.archive.get("t", [old.id, new.id]) == [old]
        assert list(store.links.scan("t")) == []
        assert store.documents.get("t", [block("b"), block("fine")]) == [before]
        assert healthy(store)

    def test_an_action_that_fails_shelves_nothing(self, store: Store) -> None:
        (old,) = add(store, memory("old"))
        stale = Revise(id=old.id, changes={"importance": 1.0}, verb="x", at=NOW, expected=9)
        for action, error in ((stale, Conflict), (Remove(id=str(new_id())), NotFound)):
            moved = (Moved(id=old.id, uses=1, used_at=NOW),)
            with pytest.raises(error):
                write(store, action, documents=(_put("b"),), moved=moved)
        assert store.documents.get("t", [block("b")]) == []
        assert _used(store, old.id) == (0, None)

    def test_what_cannot_be_stored_is_refused_with_all_of_it(self, store: Store) -> None:
        record = memory("a")
        bad = Put(address=block("b"), value={"n": float("nan")}, at=NOW)
        with pytest.raises(InvalidInput):
            write(store, Insert(record=record), documents=(bad,))
        assert store.archive.get("t", [record.id]) == []

    def test_a_repeated_batch_writes_none_of_it(self, store: Store) -> None:
        record, receipt = memory("a"), Receipt(key="k", digest=b"d" * 16)
        asked: dict[str, Any] = {
            "receipt": receipt,
            "documents": (_put("b"), Discard(address=block("gone"))),
            "moved": (Moved(id=record.id, uses=2, used_at=NOW),),
        }
        write(store, Insert(record=record), **asked)
        put(store, block("gone"))
        assert write(store, Insert(record=record), **asked).repeated
        assert store.documents.get("t", [block("b")])[0].version == 1
        assert len(store.documents.get("t", [block("gone")])) == 1
        assert _used(store, record.id) == (2, NOW)

    def test_uses_move_and_never_fall_below_none(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b"))
        store.archive.note_uses("t", [(a.id, NOW)] * 3)
        moved = (Moved(id=a.id, uses=-3), Moved(id=b.id, uses=3, used_at=NOW))
        write(store, moved=moved)
        assert (_used(store, a.id), _used(store, b.id)) == ((0, NOW), (3, NOW))
        write(store, moved=(Moved(id=b.id, uses=-9), Moved(id=a.id, uses=-1)))
        assert (_used(store, a.id), _used(store, b.id)) == ((0, NOW), (0, NOW))
        versions = {record.version for record in store.archive.get("t", [a.id, b.id])}
        assert versions == {1}
        assert healthy(store)

    def test_the_last_use_only_moves_forward(self, store: Store) -> None:
        (a,) = add(store, memory("a"))

        def moved(**fields: Any) -> tuple[int, object]:
            write(store, moved=(Moved(id=a.id, **fields),))
            return _used(store, a.id)

        assert moved(uses=-1) == (0, None)
        assert moved(uses=1, used_at=NOW) == (1, NOW)
        assert moved(uses=1, used_at=NOW - DAY) == (2, NOW)
        assert moved(uses=1, used_at=NOW + DAY) == (3, NOW + DAY)
        assert moved(uses=0) == (3, NOW + DAY)

    def test_a_last_use_goes_back_where_it_is_the_one_that_was_given(self, store: Store) -> None:
        (a,) = add(store, memory("a"))

        def moved(**fields: Any) -> tuple[int, object]:
            write(store, moved=(Moved(id=a.id, **fields),))
            return _used(store, a.id)

        assert moved(uses=2, used_at=NOW) == (2, NOW)
        assert moved(uses=-1, used_at=NOW - DAY, instead_of=NOW + DAY) == (1, NOW)
        assert moved(uses=-1, used_at=NOW - DAY, instead_of=NOW) == (0, NOW - DAY)
        assert moved(uses=0, instead_of=NOW - DAY) == (0, None)

    def test_uses_of_what_the_batch_inserts_and_of_what_is_not_there(self, store: Store) -> None:
        new, (gone,), (theirs,) = memory("new"), add(store, memory("x")), _of(store, "u")
        ids = (new.id, gone.id, theirs.id, str(new_id()), "no id")
        moved = tuple(Moved(id=id, uses=4, used_at=NOW) for id in ids)
        write(store, Insert(record=new), Remove(id=gone.id), moved=moved)
        assert _used(store, new.id) == (4, NOW)
        assert store.archive.get("t", [gone.id]) == []
        assert store.archive.get("u", [theirs.id]) == [theirs]
        assert healthy(store)

    def test_links_are_removed_with_the_actions_before_others_are_put(self, store: Store) -> None:
        a, b, c = add(store, memory("a"), memory("b"), memory("c"))
        (theirs,) = _of(store, "u")
        for one, other in ((a, b), (a, c)):
            store.links.associate("t", link(one, other))
            store.links.associate("t", replace(link(one, other), type="other"))
        cut = ((a.id, b.id, "about"), (a.id, c.id, "about"))
        stale = Revise(id=a.id, changes={"importance": 1.0}, verb="x", at=NOW, expected=9)
        with pytest.raises(Conflict):
            write(store, stale, unlinked=cut)
        assert len(list(store.links.scan("t"))) == 4
        gone = ((b.id, a.id, "about"), (a.id, str(new_id()), "about"), (theirs.id, a.id, "x"))
        write(store, unlinked=(*cut, *gone), links=(link(a, c, 0.75),))
        told = {(one.target, one.type, one.strength) for one in store.links.scan("t")}
        assert told == {(b.id, "other", 0.5), (c.id, "other", 0.5), (c.id, "about", 0.75)}

    def test_links_beside_those_that_are_known_alone(self, store: Store) -> None:
        a, b, c, d = add(store, *[memory(text, user_id=text) for text in "abcd"])
        store.links.associate("t", link(a, c))
        store.links.associate("t", replace(link(b, c), type="other"))
        new = memory("new")
        asked: dict[str, Any] = {"links": (link(new, c), link(new, d))}
        with pytest.raises(Conflict):
            write(store, Insert(record=new), beside=frozenset([b.id]), **asked)
        assert store.archive.get("t", [new.id]) == []
        write(store, Insert(record=new), beside=frozenset([a.id, d.id]), **asked)
        assert store.links.pointing("t", [c.id, d.id], "about") == [a.id, new.id]
        with pytest.raises(Conflict):
            write(store, links=(link(a, d),), beside=frozenset())
        write(store, links=(link(a, d),), unlinked=((new.id, d.id, "about"),), beside=frozenset())
        assert store.links.pointing("t", [d.id], "about") == [a.id]
        assert healthy(store)

    def test_pointed_names_each_target_once_by_key(self, store: Store) -> None:
        a, b, c, d = add(store, *[memory(text, user_id=text) for text in "abcd"])
        for source, target in ((a, c), (a, b), (b, c), (c, d), (a, a)):
            store.links.associate("t", link(source, target))
        store.links.associate("t", replace(link(a, d), type="other"))
        revise(store, c.id, state=State.ARCHIVED)
        assert store.links.pointed("t", [a.id], "about") == [a.id, b.id, c.id]
        assert store.links.pointed("t", [b.id, a.id, b.id], "about") == [a.id, b.id, c.id]
        assert store.links.pointed("t", [a.id], "other") == [d.id]
        assert store.links.pointed("t", [d.id, str(new_id()), "no id"], "about") == []
        assert store.links.pointed("t", [], "about") == []
        assert store.links.pointed("u", [a.id], "about") == []
        assert store.links.pointed("nobody", [a.id], "about") == []

    def test_claims_rest_and_wake_with_a_batch(self, store: Store) -> None:
        (a,) = add(store, memory("a", user_id="u"))
        ana, tea = entity("Ana", user_id="u"), entity("Tea", user_id="u")
        write(store, learnt=(found(a, claim(ana, "likes", tea, memory=a.id), names=(ana, tea)),))
        reach = Reach(tenant="t", user_id="u")
        rest = Revise(id=a.id, changes={"state": State.ARCHIVED}, verb="merged", at=NOW)
        write(store, rest, documents=(_put("b"),))
        assert [one.rested_at for one in store.knowledge.claims(reach)] == [NOW]
        assert store.knowledge.mentions(reach, [ana.id]) == []
        wake = Revise(id=a.id, changes={"state": State.ACTIVE}, verb="undone", at=NOW)
        write(store, wake, documents=(_put("b"),))
        assert [one.rested_at for one in store.knowledge.claims(reach)] == [None]
        assert [one.memory for one in store.knowledge.mentions(reach, [ana.id])] == [a.id]


def _of(store: Store, tenant: str) -> list[Any]:
    return add(store, memory("theirs", tenant=tenant))

"""Shelves of documents: order, reach, expiry, copies, and writers who meet."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from remanence.errors import Conflict, InvalidInput
from remanence.model.document import Address, Discard, Document, Edition, Put, Shelf
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.testing.store_suites.documents import SECOND, names, one
from remanence.testing.store_suites.making import NOW, block, healthy, put


class ShelfSuite:
    """Documents beside each other."""

    def test_a_shelf_shows_the_last_put_first(self, store: Store) -> None:
        for at, name in enumerate(["c", "a", "b"]):
            put(store, block(name), at=NOW + at * SECOND)
        put(store, block("x"), at=NOW + SECOND)
        put(store, block("c"), at=NOW + 9 * SECOND)
        put(store, Address(shelf=Shelf.SESSION, name="elsewhere"), at=NOW + 10 * SECOND)
        reach = Reach(tenant="t")
        assert names(store.documents.shelved(reach, Shelf.BLOCK)) == ["c", "b", "a", "x"]
        assert names(store.documents.shelved(reach, Shelf.BLOCK, limit=2, offset=1)) == ["b", "a"]
        assert names(store.documents.shelved(reach, Shelf.SESSION)) == ["elsewhere"]
        assert store.documents.shelved(reach, Shelf.SNAPSHOT) == []
        assert store.documents.shelved(Reach(tenant="nobody"), Shelf.BLOCK) == []

    def test_ties_on_a_shelf_are_ordered_by_address(self, store: Store) -> None:
        owners = [(None, None, None), (None, None, "a"), (None, "s", None), ("u", None, None)]
        made = [
            put(store, Address(shelf=Shelf.BLOCK, name=name, user_id=user, session_id=session,
                               agent_id=agent))
            for user, session, agent in owners
            for name in ("B", "a", "ä")
        ]  # fmt: skip
        assert store.documents.shelved(Reach(tenant="t", all_users=True), Shelf.BLOCK) == made

    def test_reach_says_whose_documents_are_seen(self, store: Store) -> None:
        for user in (None, "a", "b"):
            for agent in (None, "x", "y"):
                for session in (None, "s"):
                    address = Address(
                        shelf=Shelf.WORKING,
                        name="same",
                        user_id=user,
                        agent_id=agent,
                        session_id=session,
                    )
                    put(store, address, {"at": f"{user}/{agent}/{session}"})
        reaches = {
            Reach(tenant="t"): 6,
            Reach(tenant="t", user_id="a"): 6,
            Reach(tenant="t", user_id="a", include_shared=True): 12,
            Reach(tenant="t", include_shared=True): 6,
            Reach(tenant="t", all_users=True): 18,
            Reach(tenant="t", all_users=True, agent_id="x"): 6,
            Reach(tenant="t", user_id="b", agent_id="x"): 2,
            Reach(tenant="t", user_id="b", session_id="s"): 3,
            Reach(tenant="t", user_id="b", agent_id="y", session_id="s"): 1,
            Reach(tenant="t", user_id="a", agent_id="x", session_id="s", include_shared=True): 2,
            Reach(tenant="t", user_id="c"): 0,
            Reach(tenant="t", agent_id="z"): 0,
            Reach(tenant="u", all_users=True): 0,
        }
        for reach, count in reaches.items():
            found = store.documents.shelved(reach, Shelf.WORKING)
            assert len(found) == count, reach
            for document in found:
                address = document.address
                owner = (address.user_id, address.agent_id, address.session_id)
                assert document.value == {"at": "/".join(map(str, owner))}
                assert _reached(reach, address)

    def test_a_shelf_shows_only_the_agents_asked_for(self, store: Store) -> None:
        for at, (user, agent) in enumerate(product((None, "a"), (None, "x", "y", "z"))):
            put(store, replace(block(f"{agent}", user), agent_id=agent), at=NOW + at * SECOND)
        own, shared = Reach(tenant="t", user_id="a"), Reach(tenant="t", user_id="a",
                                                            include_shared=True)  # fmt: skip
        asked: list[tuple[Reach, list[str | None], list[str]]] = [
            (own, ["x", "z"], ["z", "x"]),
            (own, [None, "y"], ["y", "None"]),
            (own, ["nobody"], []),
            (own, [], []),
            (shared, [None, "x"], ["x", "None", "x", "None"]),
            (replace(own, agent_id="x"), [None, "x"], ["x"]),
            (replace(own, agent_id="x"), ["y"], []),
        ]
        for reach, agents, wanted in asked:
            assert names(store.documents.shelved(reach, Shelf.BLOCK, agents=agents)) == wanted
        assert len(store.documents.shelved(own, Shelf.BLOCK, agents=None)) == 4
        paged = store.documents.shelved(shared, Shelf.BLOCK, agents=[None, "x"], limit=2, offset=1)
        assert names(paged) == ["None", "x"]

    def test_documents_expire_at_their_moment(self, store: Store) -> None:
        ends = {"early": -1, "now": 0, "late": 1}
        for name, seconds in ends.items():
            moment = NOW + timedelta(microseconds=seconds)
            put(store, _session(name), expires_at=moment, keep=True)
        put(store, _session("forever"))
        put(store, block("other"), expires_at=NOW - SECOND)
        assert store.documents.expire("t", Shelf.SESSION, NOW - SECOND) == []
        assert store.documents.expire("t", Shelf.SESSION, NOW) == [
            _session("early"),
            _session("now"),
        ]
        assert store.documents.expire("t", Shelf.SESSION, NOW) == []
        left = names(store.documents.shelved(Reach(tenant="t"), Shelf.SESSION))
        assert sorted(left) == ["forever", "late"]
        assert store.documents.editions("t", _session("early")) == []
        assert one(store, block("other")) is not None
        assert healthy(store)

    def test_the_oldest_expire_first_and_a_new_put_saves(self, store: Store) -> None:
        for seconds in (3, 1, 2, 1):
            for name in ("b", "a"):
                put(store, _session(f"{name}{seconds}"), expires_at=NOW - seconds * SECOND)
        put(store, _session("a3"), expires_at=NOW + SECOND)
        put(store, _session("b3"), at=NOW, tenant="u", expires_at=NOW - SECOND)
        assert [a.name for a in store.documents.expire("t", Shelf.SESSION, NOW, limit=2)] == [
            "b3",
            "a2",
        ]
        assert [a.name for a in store.documents.expire("t", Shelf.SESSION, NOW)] == [
            "b2",
            "a1",
            "b1",
        ]
        put(store, _session("a3"))
        assert store.documents.expire("t", Shelf.SESSION, NOW + timedelta(days=9)) == []
        assert store.documents.expire("nobody", Shelf.SESSION, NOW) == []
        assert one(store, _session("b3"), "u") is not None

    def test_scan_and_adopt_make_a_true_copy(self, store: Store) -> None:
        for number in range(120):
            address = Address(
                shelf=list(Shelf)[number % 5],
                name=f"n{number:03}",
                user_id=f"u{number % 2}" if number % 3 else None,
                session_id="s" if number % 7 == 0 else None,
            )
            for version in range(number % 4 + 1):
                at = NOW + version * SECOND
                ends = at + SECOND if number % 5 == 0 else None
                put(store, address, {"v": version}, at=at, keep=version % 2 == 0, expires_at=ends)
        found = list(store.documents.scan("t"))
        assert len(found) == 120
        assert found == sorted(found, key=lambda pair: _place(pair[0].address))
        for document, editions in found:
            assert store.documents.editions("t", document.address) == list(editions)
        store.documents.adopt("copy", found)
        assert list(store.documents.scan("copy")) == found
        assert list(store.documents.scan("nobody")) == []
        assert healthy(store)
        again = put(store, found[0][0].address, {"more": 1}, tenant="copy")
        assert again.version == found[0][0].version + 1

    def test_adopt_replaces_what_was_there(self, store: Store) -> None:
        address = block("b")
        for n in range(5):
            put(store, address, {"n": n}, keep=True)
        past = datetime(2001, 2, 3, tzinfo=UTC)
        edition = Edition(version=2, verb="made", at=past, value={"e": 1}, author="x", reason="y")
        document = Document(
            address=address, value={"d": 1}, version=3, created_at=past, updated_at=past
        )
        store.documents.adopt("t", [(document, (edition,))])
        assert list(store.documents.scan("t")) == [(document, (edition,))]
        store.documents.adopt("t", [(document, ())])
        assert store.documents.editions("t", address) == []
        store.documents.adopt("t", [])
        assert one(store, address) == document
        assert healthy(store)

    def test_adopt_refuses_a_version_that_was_not_expected(self, store: Store) -> None:
        here = put(store, block("here"), {"n": 1}, keep=True)
        new, other = replace(here, address=block("new")), replace(here, value={"n": 2}, version=7)
        for expected in (
            {here.address: 0, new.address: 0},
            {here.address: 2, new.address: 0},
            {here.address: 1, new.address: 1},
        ):
            with pytest.raises(Conflict):
                store.documents.adopt("t", [(new, ()), (other, ())], expected)
            with pytest.raises(Conflict):
                store.documents.adopt("nobody", [(other, ())], {here.address: 1})
        assert [document for document, _ in store.documents.scan("t")] == [here]
        assert len(store.documents.editions("t", here.address)) == 1
        store.documents.adopt("t", [(new, ()), (other, ())], {here.address: 1, new.address: 0})
        assert store.documents.get("t", [here.address, new.address]) == [other, new]
        store.documents.adopt("t", [(here, ())], {new.address: 9})
        assert one(store, here.address) == here
        assert healthy(store)

    def test_editions_that_cannot_be_are_not_adopted(self, store: Store) -> None:
        document = put(store, block("b"))
        edition = Edition(version=1, verb="put", at=NOW, value={})
        for wrong in (
            (document, (replace(edition, version=2),)),
            (document, (edition, edition)),
            (document, (replace(edition, version=0),)),
            (replace(document, version=0), ()),
        ):
            with pytest.raises(InvalidInput):
                store.documents.adopt("t", [(document, (edition,)), wrong])
        assert list(store.documents.scan("t")) == [(document, ())]

    def test_writers_who_expect_a_version_lose_no_edit(self, store: Store) -> None:
        address, failures = block("counter"), list[BaseException]()
        start = threading.Barrier(4)

        def increments() -> None:
            try:
                start.wait()
                for _ in range(50):
                    _increment(store, address)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=increments) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert (found := one(store, address)) is not None
        assert (found.value, found.version) == ({"n": 200}, 200)
        values = [edition.value["n"] for edition in store.documents.editions("t", address)]
        assert values == list(range(1, 201))

    def test_writers_who_expect_nothing_all_succeed(self, store: Store) -> None:
        """Also where the document comes and goes meanwhile."""
        failures = list[BaseException]()
        start = threading.Barrier(4)

        def puts(number: int) -> None:
            try:
                start.wait()
                for n in range(25):
                    both = [Put(address=block(name), value={"n": n}, at=NOW, keep=True)
                            for name in ("ab" if number % 2 else "ba")]  # fmt: skip
                    store.documents.put("t", both)
                    if number == 3:
                        store.documents.put("t", [Discard(address=block("a"))])
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=puts, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert (found := one(store, block("b"))) is not None
        assert found.version == 100
        assert len(store.documents.editions("t", block("b"))) == 100
        assert healthy(store)


def _increment(store: Store, address: Address) -> None:
    while True:
        found = one(store, address)
        count, version = (found.value["n"], found.version) if found else (0, 0)
        try:
            put(store, address, {"n": count + 1}, expected=version, keep=True)
        except Conflict:
            continue
        return


def _session(name: str) -> Address:
    return Address(shelf=Shelf.SESSION, name=name)


def _place(address: Address) -> tuple[str, str, str, str, str]:
    owner = (address.user_id or "", address.session_id or "", address.agent_id or "")
    return (address.shelf, *owner, address.name)


def _reached(reach: Reach, address: Address) -> bool:
    users = {reach.user_id, None} if reach.include_shared else {reach.user_id}
    return (
        (reach.all_users or address.user_id in users)
        and reach.agent_id in (None, address.agent_id)
        and reach.session_id in (None, address.session_id)
    )

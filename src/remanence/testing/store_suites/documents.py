"""Documents: named, versioned values; who may change them, and when they go."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from remanence.errors import Conflict, InvalidInput
from remanence.model.document import Address, Discard, Document, Edition, Put, Shelf
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.testing.store_suites.making import NOW, Reopen, add, block, healthy, memory, put

SECOND = timedelta(seconds=1)
HOSTILE_NAMES = [
    "'; DROP TABLE documents; --", "%", "_", '"', "\\", "a\\u0000b", "Ä", "ä", "a", "A", " ",
    "\N{ZERO WIDTH JOINER}x", "名前", "{}", "null", "0", "%s", "🎈" * 256, "../x", "é", "e\u0301",
]  # fmt: skip
REFUSED_VALUES: list[Any] = [
    {"n": float("nan")}, {"n": [1, {"x": float("inf")}]}, {"n": "a\0b"}, {"a\0b": 1},
    {"n": "\ud800"}, {"\udfff": 1}, {"n": 2**64}, {"n": b"bytes"}, {"n": {1, 2}}, {1: "x"},
    {"n": NOW}, {"n": 1j}, ["no", "mapping"], "text", None,
]  # fmt: skip
KEPT_VALUES: list[Any] = [
    {}, {"": ""}, {"n": [0.1, 1e300, -0.0, 2**63, -(2**63), True, None]}, {"t": "a\\u0000b\\"},
    {"deep": [[[[{"x": {"y": []}}]]]]}, {"u": "東京 🎈 e\u0301 \u200d", "q": "'\"\\\n\t\x01"},
    {"1": "0.10", "2": 1.0, "3": 1},
]  # fmt: skip


def one(store: Store, address: Address, tenant: str = "t") -> Document | None:
    """The document at an address."""
    found = store.documents.get(tenant, [address])
    return found[0] if found else None


def names(documents: list[Document]) -> list[str]:
    """Their names, in order."""
    return [document.address.name for document in documents]


class DocumentSuite:
    """Named, versioned values of the layers."""

    def test_a_document_comes_back_as_it_was_put(self, store: Store, reopen: Reopen) -> None:
        address = Address(shelf=Shelf.WORKING, name="n", user_id="u", agent_id="a", session_id="s")
        ends = NOW + timedelta(hours=1)
        (made,) = store.documents.put(
            "t", [Put(address=address, value={"x": [1]}, at=NOW, expires_at=ends)]
        )
        assert made == Document(
            address=address,
            value={"x": [1]},
            version=1,
            created_at=NOW,
            updated_at=NOW,
            expires_at=ends,
        )
        assert one(reopen(store), address) == made

    def test_versions_count_and_times_move(self, store: Store) -> None:
        address = block("persona")
        first = put(store, address, {"v": 1})
        second = put(store, address, {"v": 2}, at=NOW + SECOND, expected=1)
        assert (first.version, second.version) == (1, 2)
        assert (second.created_at, second.updated_at) == (NOW, NOW + SECOND)
        assert one(store, address) == second
        put(store, address, {"v": 3}, at=NOW)
        assert (found := one(store, address)) is not None
        assert (found.version, found.updated_at, found.value) == (3, NOW, {"v": 3})

    def test_an_expected_version_must_hold(self, store: Store) -> None:
        address = block("b")
        with pytest.raises(Conflict, match="no block 'b'"):
            put(store, address, expected=1)
        put(store, address, expected=0)
        for wrong in (0, 2, 7):
            with pytest.raises(Conflict, match="version 1"):
                put(store, address, {"wrong": wrong}, expected=wrong)
            with pytest.raises(Conflict):
                store.documents.put("t", [Discard(address=address, expected=wrong)])
        assert put(store, address, expected=1).version == 2
        store.documents.put("t", [Discard(address=address, expected=2)])
        with pytest.raises(Conflict):
            store.documents.put("t", [Discard(address=address, expected=2)])
        store.documents.put("t", [Discard(address=address, expected=0)])
        with pytest.raises(Conflict):
            store.documents.put("nobody", [Discard(address=address, expected=1)])
        assert put(store, address, expected=0).version == 1

    def test_a_batch_with_a_conflict_changes_nothing(self, store: Store) -> None:
        a, b, c = block("a"), block("b"), block("c")
        before = [put(store, a, {"old": 1}, keep=True), put(store, b, {"old": 2})]
        with pytest.raises(Conflict):
            store.documents.put(
                "t",
                [
                    Put(address=c, value={}, at=NOW),
                    Put(address=a, value={"new": 1}, at=NOW, keep=True),
                    Discard(address=b),
                    Put(address=b, value={}, at=NOW, expected=1),
                ],
            )
        with pytest.raises(InvalidInput):
            store.documents.put(
                "t", [Discard(address=a), Put(address=b, value={"n": "\0"}, at=NOW)]
            )
        assert store.documents.get("t", [a, b, c]) == before
        assert len(store.documents.editions("t", a)) == 1
        assert healthy(store)

    def test_one_batch_may_touch_an_address_several_times(self, store: Store) -> None:
        a, b = block("a"), block("b")
        put(store, a, {"n": 0}, keep=True)
        done = store.documents.put(
            "t",
            [
                Put(address=a, value={"n": 1}, at=NOW, expected=1, keep=True),
                Put(address=a, value={"n": 2}, at=NOW, expected=2),
                Discard(address=a, expected=3),
                Put(address=a, value={"n": 3}, at=NOW + SECOND, expected=0, keep=True),
                Put(address=b, value={}, at=NOW, keep=True),
                Discard(address=b),
            ],
        )
        assert [(one.address.name, one.version) for one in done] == [
            ("a", 1 + 1), ("a", 3), ("a", 1), ("b", 1),
        ]  # fmt: skip
        assert (found := one(store, a)) == done[2]
        assert found is not None
        assert found.created_at == NOW + SECOND
        assert [edition.value for edition in store.documents.editions("t", a)] == [{"n": 3}]
        assert one(store, b) is None
        assert store.documents.editions("t", b) == []
        assert healthy(store)

    def test_only_what_was_put_to_keep_becomes_an_edition(self, store: Store) -> None:
        address = block("b")
        put(store, address, {"n": 1}, keep=True, verb="create", author="me", reason="why not")
        put(store, address, {"n": 2})
        put(store, address, {"n": 3}, keep=True, at=NOW + SECOND)
        put(store, address, {"n": 4})
        assert store.documents.editions("t", address) == [
            Edition(
                version=1, verb="create", at=NOW, value={"n": 1}, author="me", reason="why not"
            ),
            Edition(version=3, verb="put", at=NOW + SECOND, value={"n": 3}),
        ]
        assert (found := one(store, address)) is not None
        assert (found.version, found.value) == (4, {"n": 4})
        assert store.documents.editions("t", block("other")) == []
        assert store.documents.editions("u", address) == []

    def test_what_is_discarded_is_gone_with_its_editions(self, store: Store) -> None:
        a, b = block("a"), block("b")
        put(store, a, keep=True)
        put(store, b, keep=True)
        assert store.documents.put("t", [Discard(address=a), Discard(address=block("none"))]) == []
        assert store.documents.get("t", [a, b]) == [one(store, b)]
        assert store.documents.editions("t", a) == []
        assert put(store, a, {"again": True}).version == 1
        assert store.documents.editions("t", a) == []
        assert healthy(store)

    def test_documents_come_in_the_order_asked(self, store: Store) -> None:
        a, b, c = (put(store, block(name)) for name in "abc")
        asked = [c.address, block("missing"), a.address, b.address, a.address]
        assert store.documents.get("t", asked) == [c, a, b, a]
        assert store.documents.get("t", []) == []
        assert store.documents.get("nobody", asked) == []

    def test_the_same_name_is_another_document_elsewhere(self, store: Store) -> None:
        addresses = [
            Address(shelf=shelf, name="n", user_id=user, agent_id=agent, session_id=session)
            for shelf in (Shelf.BLOCK, Shelf.WORKING)
            for user, agent, session in [
                (None, None, None), ("n", None, None), (None, "n", None), (None, None, "n"),
            ]
        ]  # fmt: skip
        for tenant in ("t", "u"):
            for at, address in enumerate(addresses):
                value = {"of": f"{tenant}{at}"}
                assert put(store, address, value, tenant=tenant, keep=True).version == 1
        store.documents.put("t", [Discard(address=addresses[0])])
        for at, address in enumerate(addresses[1:], start=1):
            assert (mine := one(store, address)) is not None
            assert mine.value == {"of": f"t{at}"}
        theirs = store.documents.get("u", addresses)
        assert [document.value for document in theirs] == [{"of": f"u{at}"} for at in range(8)]
        assert [store.documents.editions("u", address)[0].value for address in addresses] == [
            document.value for document in theirs
        ]

    def test_documents_are_not_memories(self, store: Store) -> None:
        put(store, block("b", user_id="u"))
        assert store.archive.count(Reach(tenant="t", all_users=True)) == 0
        assert store.upkeep.tenants() == ["t"]
        add(store, memory("x", tenant="u"))
        put(store, block("b"), tenant="v")
        assert sorted(store.upkeep.tenants()) == ["t", "u", "v"]

    @pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: ascii(name)[:20])
    def test_any_name_is_only_a_name(self, store: Store, name: str) -> None:
        every = {"user_id": name, "agent_id": name, "session_id": name}
        made = [
            put(store, Address(shelf=Shelf.BLOCK, name=name, **owner), {"of": list(owner)})
            for owner in ({}, every, {"user_id": name}, {"agent_id": name})
        ]
        put(store, block("innocent"))
        addresses = [document.address for document in made]
        assert store.documents.get("t", addresses) == made
        reach = Reach(tenant="t", user_id=name, agent_id=name, session_id=name)
        assert store.documents.shelved(reach, Shelf.BLOCK) == [made[1]]
        store.documents.put("t", [Discard(address=address) for address in addresses])
        assert [d.address.name for d, _ in store.documents.scan("t")] == ["innocent"]

    @pytest.mark.parametrize("value", KEPT_VALUES, ids=ascii)
    def test_values_come_back_as_they_are(self, store: Store, value: Any) -> None:
        address = block("b")
        made = put(store, address, value, keep=True)
        assert repr(made.value) == repr(value)
        assert (found := one(store, address)) is not None
        assert repr(found.value) == repr(value)
        assert repr(store.documents.editions("t", address)[0].value) == repr(value)

    @pytest.mark.parametrize("value", REFUSED_VALUES, ids=ascii)
    def test_what_json_cannot_hold_is_refused(self, store: Store, value: Any) -> None:
        with pytest.raises(InvalidInput):
            put(store, block("b"), value)
        document = replace(put(store, block("c")), value=value)
        with pytest.raises(InvalidInput):
            store.documents.adopt("t", [(document, ())])
        assert names([document for document, _ in store.documents.scan("t")]) == ["c"]

    def test_values_are_bounded(self, store: Store) -> None:
        big = {"x": "é" * (4 << 20)}
        assert put(store, block("big"), big, keep=True).value == big
        assert (found := one(store, block("big"))) is not None
        assert found.value == big
        with pytest.raises(InvalidInput, match="at most"):
            put(store, block("big"), {"x": "é" * (8 << 20)})
        nested: dict[str, Any] = {}
        for _ in range(2000):
            nested = {"n": nested}
        with pytest.raises(InvalidInput):
            put(store, block("deep"), nested)

    def test_words_about_a_change_are_checked_too(self, store: Store) -> None:
        for told in (
            {"verb": "a\0b"}, {"author": "\ud800"}, {"reason": "x\0"}, {"verb": None},
            {"author": 5}, {"at": datetime(2026, 1, 1)}, {"expires_at": datetime(2026, 1, 1)},
        ):  # fmt: skip
            with pytest.raises(InvalidInput):
                put(store, block("b"), keep=True, **told)
        assert list(store.documents.scan("t")) == []

    def test_a_value_is_not_the_callers_own(self, store: Store) -> None:
        value = {"list": [1]}
        made = put(store, block("b"), value)
        value["list"].append(2)
        assert made.value == {"list": [1]}
        assert (found := one(store, block("b"))) is not None
        assert found.value == {"list": [1]}

    def test_stats_count_documents_by_shelf(self, store: Store) -> None:
        put(store, block("a"))
        put(store, block("b", user_id="u"))
        put(store, _session("s"))
        put(store, block("a"), tenant="u")
        assert store.upkeep.stats("t").documents == {"block": 2, "session": 1}
        assert store.upkeep.stats("nobody").documents == {}

    def test_documents_survive_compaction(self, store: Store) -> None:
        for n in range(20):
            put(store, block(f"b{n}"), {"x": "y" * 5000}, keep=True)
        store.documents.put("t", [Discard(address=block(f"b{n}")) for n in range(0, 20, 2)])
        before = list(store.documents.scan("t"))
        store.upkeep.compact()
        assert list(store.documents.scan("t")) == before
        assert len(before) == 10
        assert healthy(store)


def _session(name: str) -> Address:
    return Address(shelf=Shelf.SESSION, name=name)

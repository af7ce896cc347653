"""Memories: written in transactions, read by id or by condition."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.memory import Feedback, Kind, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Insert, Receipt, Remove, Revise
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    NOW,
    Reopen,
    add,
    healthy,
    link,
    memory,
    new_id,
    partition_of,
    pieces,
    postings,
    revise,
    texts,
    write,
)


class ArchiveSuite:
    """Writing, reading, history."""

    def test_what_is_written_comes_back_whole(self, store: Store, reopen: Reopen) -> None:
        record = memory(
            "Žofie\n moved to 東京 🗼",
            user_id="alice",
            agent_id="a",
            session_id="s",
            external_id="D1:3",
            role="user",
            speaker="Ana",
            kind=Kind.SEMANTIC,
            importance=0.8,
            pinned=True,
            source="crm",
            actor="bob",
            origin="import",
            trust=0.25,
            metadata={"n": {"x": [1, 2.5, None, True]}, "long": "é" * 500, "big": 2**62},
            superseded_by=str(new_id()),
            uses=3,
            used_at=NOW - timedelta(microseconds=1),
            happened_at=datetime(1, 1, 1, tzinfo=UTC),
        )
        assert add(store, record) == [record]
        assert reopen(store).archive.get("t", [record.id]) == [record]

    def test_get_keeps_the_order_asked_and_leaves_out_the_unknown(self, store: Store) -> None:
        one, two = add(store, memory("one"), memory("two"))
        asked = [two.id, str(new_id()), "no uuid", one.id]
        assert texts(store.archive.get("t", asked)) == ["two", "one"]

    def test_a_failed_batch_has_changed_nothing(self, store: Store) -> None:
        (kept,) = add(store, memory("kept"))
        position = store.recall.position(partition_of(store))
        with pytest.raises(NotFound):
            write(
                store, Insert(record=memory("lost")), Remove(id=kept.id), Remove(id=str(new_id()))
            )
        assert texts(store.archive.find(Reach(tenant="t"))) == ["kept"]
        assert store.recall.position(partition_of(store)) == position
        assert healthy(store)

    def test_an_id_is_used_once(self, store: Store) -> None:
        (one,) = add(store, memory("one"))
        with pytest.raises(Conflict):
            add(store, replace(memory("two"), id=one.id))

    def test_a_batch_writes_its_own_tenant_only(self, store: Store) -> None:
        with pytest.raises(InvalidInput):
            write(store, Insert(record=memory("x", tenant="other")), tenant="t")

    @pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"bytes", {3: 4}, 2**64, "\ud800"])
    def test_metadata_that_json_cannot_hold_is_refused(self, store: Store, value: Any) -> None:
        with pytest.raises(InvalidInput):
            add(store, memory("x", metadata={"value": value}))
        assert store.archive.count(Reach(tenant="t")) == 0

    def test_revise_keeps_the_old_values_in_the_history(self, store: Store) -> None:
        (record,) = add(store, memory("before", importance=0.2, actor="ana"))
        later = NOW + timedelta(hours=1)
        new = revise(store, record.id, text="after", state="archived", importance=0.2, at=later)
        assert (new.text, new.state, new.version, new.updated_at) == (
            "after",
            State.ARCHIVED,
            2,
            later,
        )
        assert store.archive.get("t", [record.id]) == [new]
        first, second = store.archive.history("t", record.id)
        assert (first.version, first.verb, first.at, first.actor) == (1, "added", NOW, "ana")
        assert (second.version, second.verb, second.at) == (2, "update", later)
        assert second.before == {"text": "before", "state": State.ACTIVE}

    def test_history_gives_back_values_as_a_record_holds_them(self, store: Store) -> None:
        (record,) = add(store, memory("x", kind=Kind.SEMANTIC, metadata={"a": [1]}))
        revise(store, record.id, kind="summary", metadata={}, happened_at=NOW - timedelta(days=1))
        before = store.archive.history("t", record.id)[1].before
        assert before == {"kind": Kind.SEMANTIC, "metadata": {"a": [1]}, "happened_at": NOW}

    def test_an_expected_version_that_has_passed_is_a_conflict(self, store: Store) -> None:
        (record,) = add(store, memory("x"))
        revise(store, record.id, importance=0.9, expected=1)
        with pytest.raises(Conflict):
            revise(store, record.id, importance=0.1, expected=1)
        assert store.archive.get("t", [record.id])[0].importance == 0.9

    @pytest.mark.parametrize("field", ["id", "tenant", "user_id", "created_at", "version", "nope"])
    def test_what_makes_a_memory_itself_cannot_be_revised(self, store: Store, field: str) -> None:
        (record,) = add(store, memory("x"))
        action = Revise(id=record.id, changes={field: "y"}, verb="update", at=NOW)
        with pytest.raises(InvalidInput):
            write(store, action)

    def test_remove_leaves_nothing(self, store: Store) -> None:
        gone, kept = add(store, memory("gone", metadata={"a": 1}), memory("kept"), made=pieces(2))
        key = store.recall.key_of("t", gone.id)
        assert key is not None
        revise(store, gone.id, importance=0.7)
        store.archive.note_uses("t", [(gone.id, NOW)])
        store.archive.note_feedback("t", gone.id, useful=True, query="q", at=NOW)
        store.links.associate("t", link(gone, kept))
        assert write(store, Remove(id=gone.id)).records == ()
        assert store.archive.get("t", [gone.id]) == []
        assert store.links.related("t", kept.id, type=None, direction="both", limit=9) == []
        assert store.vectors.pieces(FINGERPRINT, key[0], [key[1]]) == []
        assert postings(store, ["gone"], key[0])[0].size == 0
        with pytest.raises(NotFound):
            store.archive.history("t", gone.id)
        assert healthy(store)

    def test_a_key_is_never_used_twice(self, store: Store, reopen: Reopen) -> None:
        (first,) = add(store, memory("first"))
        key = store.recall.key_of("t", first.id)
        write(store, Remove(id=first.id))
        store = reopen(store)
        (second,) = add(store, memory("second"))
        assert store.recall.key_of("t", second.id) != key

    def test_a_receipt_repeats_the_earlier_answer(self, store: Store, reopen: Reopen) -> None:
        receipt = Receipt(key="k", digest=b"d1")
        record = memory("once")
        assert not write(store, Insert(record=record), receipt=receipt).repeated
        store = reopen(store)
        again = write(store, Insert(record=memory("once")), receipt=receipt)
        assert again.repeated
        assert again.records == (record,)
        with pytest.raises(Conflict):
            write(store, receipt=Receipt(key="k", digest=b"d2"))
        other = memory("of another tenant", tenant="u")
        assert not write(store, Insert(record=other), tenant="u", receipt=receipt).repeated
        assert store.archive.count(Reach(tenant="t")) == 1

    def test_uses_add_up_and_the_latest_counts(self, store: Store) -> None:
        (record,) = add(store, memory("x"))
        early, late = NOW - timedelta(days=9), NOW + timedelta(days=9)
        store.archive.note_uses("t", [(record.id, late), (str(new_id()), NOW), (record.id, early)])
        store.archive.note_uses("t", [(record.id, NOW)])
        store.archive.note_uses("u", [(record.id, NOW)])
        (found,) = store.archive.get("t", [record.id])
        assert (found.uses, found.used_at) == (3, late)

    def test_find_orders_by_time_then_by_insertion(self, store: Store) -> None:
        old = NOW - timedelta(days=1)
        add(store, memory("b"), memory("c"), memory("a", happened_at=old))
        reach = Reach(tenant="t")
        assert texts(store.archive.find(reach)) == ["c", "b", "a"]
        assert texts(store.archive.find(reach, newest_first=False)) == ["a", "b", "c"]
        assert texts(store.archive.find(reach, limit=1, offset=1)) == ["b"]

    def test_feedback_is_kept_with_its_question(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b", user_id="u"))
        (theirs,) = add(store, memory("theirs", tenant="u"))
        later = NOW + timedelta(seconds=1)
        store.archive.note_feedback("t", b.id, useful=True, query="why?", at=NOW)
        store.archive.note_feedback("t", a.id, useful=False, query=None, at=NOW)
        store.archive.note_feedback("t", a.id, useful=True, query="and now?", at=later)
        store.archive.note_feedback("u", theirs.id, useful=True, query=None, at=NOW)
        assert list(store.archive.feedback("t")) == [
            Feedback(id=a.id, useful=False, query=None, at=NOW),
            Feedback(id=a.id, useful=True, query="and now?", at=later),
            Feedback(id=b.id, useful=True, query="why?", at=NOW),
        ]

    def test_feedback_of_a_partition_is_its_own(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b", user_id="u"))
        for one in (a, b):
            store.archive.note_feedback("t", one.id, useful=True, query="q", at=NOW)
        [shared] = store.recall.partitions(Reach(tenant="t"))
        [own] = store.recall.partitions(Reach(tenant="t", user_id="u"))
        assert [one.id for one in store.archive.feedback("t", shared)] == [a.id]
        assert [one.id for one in store.archive.feedback("t", own)] == [b.id]
        assert list(store.archive.feedback("u", own)) == []

    def test_feedback_is_trimmed_of_repeats_then_of_the_oldest(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b"))
        told = [(a, True, "x"), (b, True, "y"), (a, True, "x"), (a, False, "x"), (b, True, None)]
        for day, (one, useful, query) in enumerate(told):
            at = NOW + timedelta(days=day)
            store.archive.note_feedback("t", one.id, useful=useful, query=query, at=at)
        assert store.archive.trim_feedback("t", 5) == 0
        assert store.archive.trim_feedback("t", 4) == 1
        days = sorted((one.at - NOW).days for one in store.archive.feedback("t"))
        assert days == [1, 2, 3, 4]
        assert store.archive.trim_feedback("t", 2) == 2
        assert sorted((one.at - NOW).days for one in store.archive.feedback("t")) == [3, 4]

    def test_feedback_is_bounded_for_each_user_and_tenant_apart(self, store: Store) -> None:
        mine = add(store, memory("a"), memory("b", user_id="u"))
        (theirs,) = add(store, memory("c", tenant="u"))
        for day in range(4):
            at = NOW + timedelta(days=day)
            for tenant, one in (("t", mine[0]), ("t", mine[1]), ("u", theirs)):
                store.archive.note_feedback(tenant, one.id, useful=True, query=f"{day}", at=at)
        assert store.archive.trim_feedback("t", 3) == 2
        assert len(list(store.archive.feedback("t"))) == 6
        assert len(list(store.archive.feedback("u"))) == 4
        assert store.archive.trim_feedback("nobody", 0) == 0

    def test_scan_gives_everything_by_key(self, store: Store) -> None:
        add(store, *[memory(f"m{i}", user_id=f"u{i % 3}") for i in range(1100)])
        add(store, memory("foreign", tenant="u"))
        found = list(store.archive.scan("t"))
        assert texts([record for _, record in found]) == [f"m{i}" for i in range(1100)]
        assert [key for key, _ in found] == sorted(key for key, _ in found)
        assert texts([record for _, record in store.archive.scan("u")]) == ["foreign"]
        assert [key for key, _ in store.archive.scan("t", after=found[-2][0])] == [found[-1][0]]

"""Lineage: what was derived from a memory goes with it, on every path and at every level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from remanence.errors import EmbedderUnavailable, NotFound
from remanence.layers.conversation.derivation import SummaryDerivation, drafted
from remanence.memories import lineage
from remanence.memories.lineage import (
    MERGED_INTO,
    SOURCES,
    SUMMARISES,
    derived,
    made_of,
    merged,
    sheltering,
    sources_of,
    torn,
    whole,
)
from remanence.memories.merges import as_active, hidden
from remanence.memories.removal import remove
from remanence.memories.writer import Writer
from remanence.model.clock import FixedClock
from remanence.model.conversation import Level
from remanence.model.embedding import Fingerprint
from remanence.model.filter import Both, Either, Not, parse_filter
from remanence.model.memory import Association, Kind, MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.validation import ORIGIN
from remanence.model.write import Batch, Remove, Revise, Written
from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite.archive import SqliteArchive
from remanence.store.sqlite.vectors import Dictionaries
from remanence.testing.store_suites.making import FINGERPRINT, NOW, add, memory, revise

ALL = Reach(tenant="t", all_users=True)


class NoEmbedder:
    """An embedder that is down: lineage must not depend on vectors."""

    max_tokens = 128
    fingerprint: Fingerprint = FINGERPRINT

    def embed(self, texts: object) -> list[object]:
        raise EmbedderUnavailable("down")

    embed_query = spans = embed

    def close(self) -> None: ...


class InterruptedArchive(SqliteArchive):
    before_write: Callable[[], object] | None = None

    def write(self, batch: Batch) -> Written:
        act, self.before_write = self.before_write, None
        if act is not None:
            act()
        return super().write(batch)


class Interrupted(SqliteStore):
    """A store where something happens just before a batch is written, but not `quietly`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.quietly = self.archive
        self.archive = self.interrupted = InterruptedArchive(
            self._database, Dictionaries(self._database)
        )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Interrupted]:
    store = Interrupted(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def writer(store: Interrupted) -> Writer:
    return Writer(store, NoEmbedder(), FixedClock(NOW))  # type: ignore[arg-type]


def said(store: SqliteStore, *texts: str) -> list[MemoryRecord]:
    return add(store, *(memory(t, kind=Kind.MESSAGE, session_id="s") for t in texts))


def summed(writer: Writer, key: str, *sources: MemoryRecord) -> MemoryRecord:
    record = memory(
        f"Summary {key}",
        kind=Kind.SUMMARY,
        session_id="s",
        origin=ORIGIN,
        metadata={SOURCES: len(sources)},
    )
    return writer.derive(writer.insertion(record), sources, key).records[0]


def states(store: SqliteStore, *records: MemoryRecord) -> list[str]:
    found = {
        record.id: record.state.value for record in store.archive.get("t", [r.id for r in records])
    }
    return [found.get(record.id, "gone") for record in records]


def test_every_level_is_derived(store: Interrupted, writer: Writer) -> None:
    one, two, other = said(store, "one", "two", "other")
    segment, beside = summed(writer, "segment", one, two), summed(writer, "beside", other)
    day = summed(writer, "day", segment, one)
    assert [r.id for r in derived(store, "t", [one.id])] == [segment.id, day.id]
    assert derived(store, "t", [day.id]) == []
    assert derived(store, "x", [one.id]) == []
    assert [r.id for r in sources_of(store, day)] == sorted([one.id, segment.id])
    writer.remove([one])
    assert states(store, two, other, segment, beside, day) == [
        *("active", "active", "gone", "active", "gone"),
    ]


def test_a_message_is_in_one_segment_though_two_cut_it_in_other_ways(
    store: Interrupted, writer: Writer
) -> None:
    one, two, three = said(store, "one", "two", "three")
    deriving = SummaryDerivation(store, writer, FixedClock(NOW), uuid4)

    def written(*sources: MemoryRecord) -> MemoryRecord | None:
        draft = drafted(Level.SEGMENT, sources, "A summary.", 1.0)
        return deriving.write(draft, f"segment:{sources[0].id}", "s")

    store.interrupted.before_write = lambda: written(two, three)
    assert written(one, two) is None
    assert written(one) is not None
    for message in (one, two, three):
        assert len(store.links.pointing("t", [message.id], SUMMARISES)) == 1


@pytest.mark.parametrize(
    ("changes", "outdates"),
    [
        ({"text": "new"}, True),
        ({"speaker": "Tom"}, True),
        ({"trust": 0.1}, True),
        ({"state": State.ARCHIVED}, True),
        ({"importance": 0.9}, False),
        ({"pinned": True}, False),
        ({"metadata": {"a": 1}}, False),
    ],
)
def test_what_shows_in_a_summary_outdates_it(
    store: Interrupted, writer: Writer, changes: dict[str, object], outdates: bool
) -> None:
    one, two, three = said(store, "one", "two", "three")
    made = [summed(writer, "a", one), summed(writer, "b", two), summed(writer, "c", three)]
    writer.revise_all([(one, changes)], verb="u")
    writer.revise_all([(two, changes)], verb="u")
    if "text" not in changes:
        writer.change_all([three], changes, verb="u")
    else:
        writer.remove([three])
    wanted = ["archived"] * 3 if outdates else ["active"] * 3
    wanted[2] = "gone" if "text" in changes else wanted[2]
    assert states(store, *made) == wanted


def test_an_archived_summary_is_erased_all_the_same(store: Interrupted, writer: Writer) -> None:
    (one,) = said(store, "one")
    segment = summed(writer, "segment", one)
    writer.change_all([one], {"state": State.ARCHIVED}, verb="forgot")
    assert states(store, segment) == ["archived"]
    writer.remove(store.archive.get("t", [one.id]))
    assert states(store, one, segment) == ["gone", "gone"]


def test_removing_both_together(store: Interrupted, writer: Writer) -> None:
    (one,) = said(store, "one")
    segment = summed(writer, "segment", one)
    writer.remove([segment, one])
    assert states(store, one, segment) == ["gone", "gone"]


@pytest.mark.parametrize("how", ["remove", "archive"])
def test_a_summary_written_at_that_very_moment(
    store: Interrupted, writer: Writer, how: str
) -> None:
    one, two = said(store, "one", "two")
    made: list[MemoryRecord] = []
    store.interrupted.before_write = lambda: made.append(summed(writer, "late", one, two))
    if how == "remove":
        writer.remove([one])
    else:
        writer.change_all([one], {"state": State.ARCHIVED}, verb="forgot")
    assert states(store, two, *made) == ["active", "gone" if how == "remove" else "archived"]


def test_a_summary_of_what_has_gone_is_refused(store: Interrupted, writer: Writer) -> None:
    one, two = said(store, "one", "two")
    writer.remove([one])
    with pytest.raises(NotFound):
        summed(writer, "late", one, two)
    assert store.archive.count(ALL) == 1


def test_a_summary_removed_by_another_meanwhile(store: Interrupted, writer: Writer) -> None:
    (one,) = said(store, "one")
    segment = summed(writer, "segment", one)
    other = Writer(store, NoEmbedder(), FixedClock(NOW))  # type: ignore[arg-type]
    store.interrupted.before_write = lambda: other.remove([segment])
    writer.remove([one])
    assert states(store, one, segment) == ["gone", "gone"]


def test_whole_or_torn(store: Interrupted, writer: Writer) -> None:
    one, two = said(store, "one", "two")
    segment = summed(writer, "segment", one, two)
    by_hand = add(store, memory("Mine", kind=Kind.SUMMARY, session_id="s"))
    assert whole(store, segment)
    assert torn(store, [one], NOW) == []
    store.quietly.write(_removal(one))
    assert [record.id for record in torn(store, [one], NOW)] == [segment.id]
    assert whole(store, by_hand[0])


def test_a_callers_own_summary_is_never_torn(store: Interrupted, writer: Writer) -> None:
    mine = [
        memory("Mine", kind=Kind.SUMMARY, metadata={"sources": 3}),
        memory("Mine too", kind=Kind.SUMMARY, session_id="s", metadata={SOURCES: 3}),
        memory("And mine", kind=Kind.SUMMARY, origin=ORIGIN, metadata={"sources": 3}),
        memory("Odd", kind=Kind.SUMMARY, origin=ORIGIN, metadata={SOURCES: "x"}),
        memory("Big", kind=Kind.SUMMARY, origin=ORIGIN, metadata={SOURCES: 10**15}),
        memory("True", kind=Kind.SUMMARY, origin=ORIGIN, metadata={SOURCES: True}),
    ]
    add(store, *mine)
    assert [made_of(record) for record in mine] == [0] * len(mine)
    writer.remove(said(store, "hello"))
    assert states(store, *mine) == ["active"] * len(mine)


def test_a_summary_whose_sources_are_archived_is_whole(store: Interrupted, writer: Writer) -> None:
    one, two, other = said(store, "one", "two", "other")
    segment = summed(writer, "segment", one, two)
    day = summed(writer, "day", segment)
    writer.change_all([one], {"state": State.ARCHIVED}, verb="forgot")
    assert states(store, segment, day) == ["archived", "archived"]
    writer.remove([other])
    assert states(store, one, two, segment, day) == ["archived", "active", "archived", "archived"]
    moved = {"happened_at": NOW.replace(year=1999)}
    writer.revise_all([(two, moved)], verb="u")
    writer.remove(said(store, "more"))
    assert states(store, segment, day) == ["archived", "archived"]


def test_a_torn_summary_is_found_whatever_its_state_and_age(
    store: Interrupted, writer: Writer
) -> None:
    one, two, three = said(store, "one", "two", "three")
    late: list[MemoryRecord] = []

    def meanwhile() -> None:
        late.append(summed(writer, "late", one, two))
        writer.change_all([two], {"state": State.ARCHIVED}, verb="forgot")

    store.interrupted.before_write = meanwhile
    writer.remove([one])
    assert states(store, two, *late) == ["archived", "gone"]
    old = add(store, replace(
        memory("Old", kind=Kind.SUMMARY, session_id="s", origin=ORIGIN, metadata={SOURCES: 1}),
        created_at=NOW - timedelta(days=9), updated_at=NOW - timedelta(days=9),
    ))[0]  # fmt: skip
    changes = {"text": "Old and three", "metadata": {SOURCES: 1}}
    store.interrupted.before_write = lambda: writer.rederive(old, changes, [three])
    writer.remove([three])
    assert states(store, three, old) == ["gone", "gone"]


def test_removing_what_has_gone_is_no_error(store: Interrupted, writer: Writer) -> None:
    one, two = said(store, "one", "two")
    other = Writer(store, NoEmbedder(), FixedClock(NOW))  # type: ignore[arg-type]
    store.interrupted.before_write = lambda: other.remove([one])
    writer.remove([one, two])
    assert states(store, one, two) == ["gone", "gone"]
    writer.remove([one, two])


def test_another_removes_the_torn_summary_first(
    store: Interrupted, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = said(store, "one", "two")
    late: list[MemoryRecord] = []
    store.interrupted.before_write = lambda: late.extend(
        summed(writer, key, one) for key in ("a", "b")
    )

    def found(*asked: Any) -> list[MemoryRecord]:
        records = torn(*asked)
        store.quietly.write(_removal(records[0])) if records else None
        return records

    monkeypatch.setattr(lineage, "torn", found)
    writer.remove([one])
    assert states(store, two, *late) == ["active", "gone", "gone"]


def test_a_summary_that_has_gone_has_no_sources(store: Interrupted, writer: Writer) -> None:
    (one,) = said(store, "one")
    segment = summed(writer, "segment", one)
    writer.remove([segment])
    assert sources_of(store, segment) == []


def test_a_change_passes_over_what_others_have_changed_or_removed(
    store: Interrupted, writer: Writer
) -> None:
    one, two, three = said(store, "one", "two", "three")

    def meanwhile() -> None:
        writer.revise_all([(one, {"pinned": True})], verb="pinned")
        writer.remove([two])

    store.interrupted.before_write = meanwhile
    away = {"state": State.ARCHIVED}
    done = writer.change_all([one, two, three], away, verb="cleaned up", unchanged=True)
    assert [record.id for record in done] == [three.id]
    assert states(store, one, two, three) == ["active", "gone", "archived"]
    assert [r.id for r in writer.change_all([one, two], away, verb="forgot")] == [one.id]
    assert writer.change_all([two], away, verb="forgot") == []


def test_a_change_may_leave_summaries_standing(store: Interrupted, writer: Writer) -> None:
    one, two = said(store, "one", "two")
    segment = summed(writer, "segment", one, two)
    whole_of_it = summed(writer, "whole", segment)
    writer.change_all([one], {"state": State.ARCHIVED}, verb="cleaned up", leave_summaries=True)
    writer.remove(said(store, "other"))
    assert states(store, one, segment, whole_of_it) == ["archived", "active", "active"]
    writer.outdate(store.archive.get("t", [one.id]))
    assert states(store, one, two, segment, whole_of_it) == [
        *("archived", "active", "archived", "archived"),
    ]
    assert [revision.verb for revision in store.archive.history("t", segment.id)] == [
        "added",
        "outdated",
    ]


def merge(store: SqliteStore, one: MemoryRecord, into: MemoryRecord) -> None:
    gone = {"state": State.ARCHIVED, "superseded_by": into.id}
    link = Association(
        source=one.id, target=into.id, type=MERGED_INTO, strength=1.0, created_at=NOW
    )
    change = Revise(id=one.id, changes=gone, verb="merged", at=NOW)
    store.quietly.write(Batch(tenant="t", at=NOW, actions=(change,), links=(link,)))


def ids(records: Iterable[MemoryRecord]) -> set[str]:
    return {record.id for record in records}


def test_only_what_rests_counts_as_merged(store: Interrupted) -> None:
    top, one, two, low = said(store, "top", "one", "two", "low")
    for original, into in ((one, top), (two, top), (low, one)):
        merge(store, original, into)
    assert ids(merged(store, "t", [top.id])) == {one.id, two.id, low.id}
    revise(store, one.id, state=State.ACTIVE)
    assert ids(merged(store, "t", [top.id])) == {two.id}
    assert ids(merged(store, "t", [one.id])) == {low.id}
    assert ids(hidden(store, store.archive.get("t", [top.id, one.id, two.id, low.id]))) == {
        two.id,
        low.id,
    }


def test_what_stands_for_a_protected_memory_is_known(store: Interrupted) -> None:
    top, middle, low, other, plain = said(store, "top", "middle", "low", "other", "plain")
    for original, into in ((middle, top), (low, middle), (plain, other)):
        merge(store, original, into)
    every = [top.id, other.id, middle.id]
    assert sheltering(store, "t", every) == set()
    revise(store, low.id, pinned=True)
    assert sheltering(store, "t", every) == {top.id, middle.id}
    assert sheltering(store, "t", [top.id]) == {top.id}
    assert sheltering(store, "x", every) == set()


@pytest.mark.parametrize("alone", [True, False])
def test_what_is_merged_at_that_very_moment_comes_back(store: Interrupted, alone: bool) -> None:
    top, one, own = said(store, "top", "one", "own")
    merge(store, own, top)
    by_hand = said(store, "superseded by its owner")[0]
    revise(store, by_hand.id, state=State.ARCHIVED, superseded_by=top.id)
    store.interrupted.before_write = lambda: merge(store, one, top)
    remove(store, FixedClock(NOW), [top], alone=alone)
    kept = "active" if alone else "gone"
    assert states(store, top, own, one, by_hand) == ["gone", kept, "active", "archived"]
    assert store.archive.get("t", [one.id])[0].superseded_by is None


def test_what_was_changed_meanwhile_is_not_brought_back_twice(store: Interrupted) -> None:
    top, one, two = said(store, "top", "one", "two")
    merge(store, one, top)
    merge(store, two, top)
    store.interrupted.before_write = lambda: [
        revise(store, one.id, state=State.ACTIVE, superseded_by=None),
        store.quietly.write(_removal(two)),
    ]
    remove(store, FixedClock(NOW), [top], alone=True)
    assert states(store, top, one, two) == ["gone", "active", "gone"]
    assert [r.verb for r in store.archive.history("t", one.id)].count("unmerged") == 0


def test_what_is_cut_off_hides_nothing(store: Interrupted, writer: Writer) -> None:
    top, one = said(store, "top", "one")
    merge(store, one, top)
    top, one = store.archive.get("t", [top.id, one.id])

    def cut_off() -> None:
        def again() -> None:
            raise KeyboardInterrupt

        store.interrupted.before_write = again

    store.interrupted.before_write = cut_off
    with pytest.raises(KeyboardInterrupt):
        writer.put_away([top], alone=True)
    assert states(store, top, one) == ["active", "active"]


def test_what_is_merged_again_while_its_survivor_is_put_away(
    store: Interrupted, writer: Writer
) -> None:
    top, one = said(store, "top", "one")
    store.interrupted.before_write = lambda: merge(store, one, top)
    back = writer.put_away([top], alone=True)
    assert [record.id for record in back] == [one.id]
    assert states(store, top, one) == ["archived", "active"]
    assert writer.put_away([], alone=True) == []


@pytest.mark.parametrize(
    ("asked", "holds"),
    [
        ("active", True),
        ("archived", False),
        ({"ne": "archived"}, True),
        ({"in": ["active", "superseded"]}, True),
        ({"not_in": ["active"]}, False),
        ({"exists": True}, True),
        ({"exists": False}, False),
        ({"gt": "active"}, False),
        ({"lte": "archived"}, True),
    ],
)
def test_a_filter_asks_as_if_it_were_active(asked: Any, holds: bool) -> None:
    always, never = Both(()), Either(())
    state, team = {"field.state": asked}, {"team": "sales"}
    own = parse_filter(team)
    assert own is not None
    assert as_active(parse_filter(state)) == (always if holds else never)
    assert as_active(parse_filter({"not": state})) == Not(always if holds else never)
    assert as_active(parse_filter({"or": [state, team]})) == Either(
        (always if holds else never, own)
    )
    assert as_active(parse_filter({**state, **team})) == Both((always if holds else never, own))
    assert as_active(own) == own
    assert as_active(None) == always


def _removal(record: MemoryRecord) -> Batch:
    return Batch(tenant="t", at=NOW, actions=(Remove(id=record.id),))

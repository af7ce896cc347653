"""Lineage: what was derived from a memory goes with it, on every path and at every level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from remanence.clock import FixedClock
from remanence.errors import EmbedderUnavailable, NotFound
from remanence.model.embedding import Fingerprint
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.write import Batch, Remove, Written
from remanence.remember.lineage import SOURCES, derived, sources_of, torn, whole
from remanence.remember.writer import Writer
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import FINGERPRINT, NOW, add, memory

ALL = Reach(tenant="t", all_users=True)


class NoEmbedder:
    """An embedder that is down: lineage must not depend on vectors."""

    max_tokens = 128
    fingerprint: Fingerprint = FINGERPRINT

    def embed(self, texts: object) -> list[object]:
        raise EmbedderUnavailable("down")

    embed_query = spans = embed

    def close(self) -> None: ...


class Interrupted(SqliteStore):
    """A store where something happens just before a batch is written."""

    before_write: Callable[[], object] | None = None

    def write(self, batch: Batch) -> Written:
        act, self.before_write = self.before_write, None
        if act is not None:
            act()
        return super().write(batch)


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
        f"Summary {key}", kind=Kind.SUMMARY, session_id="s", metadata={SOURCES: len(sources)}
    )
    return writer.derive(record, sources, key).records[0]


def states(store: SqliteStore, *records: MemoryRecord) -> list[str]:
    found = {record.id: record.state.value for record in store.get("t", [r.id for r in records])}
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
    writer.revise(one, replace(one, **changes), changes, verb="u", actor=None, reason=None)  # type: ignore[arg-type]
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
    writer.remove(store.get("t", [one.id]))
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
    store.before_write = lambda: made.append(summed(writer, "late", one, two))
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
    assert store.count(ALL) == 1


def test_a_summary_removed_by_another_meanwhile(store: Interrupted, writer: Writer) -> None:
    (one,) = said(store, "one")
    segment = summed(writer, "segment", one)
    other = Writer(store, NoEmbedder(), FixedClock(NOW))  # type: ignore[arg-type]
    store.before_write = lambda: other.remove([segment])
    writer.remove([one])
    assert states(store, one, segment) == ["gone", "gone"]


def test_whole_or_torn(store: Interrupted, writer: Writer) -> None:
    one, two = said(store, "one", "two")
    segment = summed(writer, "segment", one, two)
    by_hand = add(store, memory("Mine", kind=Kind.SUMMARY, session_id="s"))
    assert whole(store, segment)
    assert torn(store, [one], NOW) == []
    SqliteStore.write(store, _removal(one))
    assert [record.id for record in torn(store, [one], NOW)] == [segment.id]
    assert whole(store, by_hand[0])


def _removal(record: MemoryRecord) -> Batch:
    return Batch(tenant="t", at=NOW, actions=(Remove(id=record.id),))

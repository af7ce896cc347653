"""Copies of stores that are written meanwhile, and of large ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from remanence.errors import StoreBusy
from remanence.model.embedding import Fingerprint
from remanence.model.ports.pieces import StoredPieces
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.write import Remove
from remanence.store.sqlite import SqliteStore
from remanence.store.sqlite.vectors import SqliteVectors
from remanence.testing.store_suites.making import NOW, add, memory, pieces, revise, write
from remanence.tools.transfer import entries, pairs
from remanence.tools.transfer.store_copy import copy_store
from remanence.tools.transfer.verification import copy_and_verify, verify
from support.copies import everything, fill
from support.places import Place, opened, places

WAYS = ["sqlite to sqlite", "sqlite to postgres", "postgres to sqlite", "postgres to postgres"]

Pair = tuple[Store, Store]


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with places(tmp_path, request) as made:
        yield made


@pytest.fixture(params=WAYS)
def pair(place: Place, request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Two empty stores, one to copy from and one to copy into."""
    one, _, other = request.param.partition(" to ")
    with closing(opened(place(one))) as source, closing(opened(place(other))) as target:
        yield source, target


@pytest.fixture
def files(place: Place) -> Iterator[Pair]:
    """The same, both in files."""
    with closing(opened(place("sqlite"))) as source, closing(opened(place("sqlite"))) as target:
        yield source, target


def test_what_comes_into_the_source_meanwhile_is_copied_too(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "BATCH", 20)
    source, target = pair
    fill(source)
    first = everything(source).order["Ünï © tenant"][0]
    late: list[str] = []

    @contextmanager
    def stages(stage: str) -> Iterator[Progress]:
        def report(done: int, total: int) -> None:
            if stage == "copy" and done == total and not late:
                (new,) = add(source, memory("came late", tenant="acme"))
                late.append(new.id)
                source.archive.note_feedback("acme", new.id, useful=True, query=None, at=NOW)
                write(source, Remove(id=first), tenant="Ünï © tenant")

        yield report

    copied, found = copy_and_verify(source, target, stages=stages)
    assert (copied.memories, copied.tenants, found.differences.count) == (61, 3, 0)
    assert target.archive.get("acme", late)


class RestlessVectors(SqliteVectors):
    """A memory changes between the reads of its record and its pieces, so many times."""

    restless = 0
    id = ""
    store: SqliteStore

    def pieces(self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]) -> StoredPieces:
        if self.restless > 0:
            self.restless -= 1
            made = pieces(2, fill=self.restless % 60)
            revise(self.store, self.id, text=f"change {self.restless}", pieces=made)
        return super().pieces(fingerprint, partition, keys)


def test_a_memory_that_changes_while_it_is_read_is_not_torn(tmp_path: Path, files: Pair) -> None:
    _, target = files
    with closing(SqliteStore(tmp_path / "restless.db")) as source:
        source.vectors = vectors = RestlessVectors(source._database)
        (record,) = add(source, memory("tea"), made=pieces(1))
        vectors.store, vectors.id, vectors.restless = source, record.id, 4
        copy_store(source, target)
        assert vectors.restless == 0
        assert everything(target) == everything(source)
        assert len(target.archive.history("t", record.id)) == 5
        vectors.restless = 10**6
        with pytest.raises(StoreBusy, match=record.id):
            copy_store(source, target)


def test_writers_in_the_source_do_no_harm(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "BATCH", 10)
    source, target = pair
    fill(source, 90)
    ids = everything(source).order["t"]
    stop = threading.Event()

    def disturb() -> None:
        n = 0
        while not stop.is_set() and n < 400:
            n += 1
            revise(source, ids[n % 15], text=f"disturbed {n}", pieces=pieces(2, fill=n % 60))
            add(source, memory(f"new {n}"), made=pieces(1))

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        copy_store(source, target)
    finally:
        stop.set()
        thread.join()
    for id, record in everything(target).records.items():
        assert len(target.archive.history(record.tenant, id)) == record.version
    _, found = copy_and_verify(source, target)
    assert found.differences.count == 0
    assert replace(everything(target), order={}) == replace(everything(source), order={})


def test_ten_thousand_in_several_tenants(pair: Pair) -> None:
    source, target = pair
    fill(source, 10_000)
    done: list[tuple[int, int]] = []
    copied = copy_store(source, target, progress=lambda *told: done.append(told))
    assert (copied.memories, done[-1]) == (10_000, (10_000, 10_000))
    assert len(done) == 3 * 7
    found = verify(source, target)
    assert found.differences.count == 0
    assert len({one.source for one in found.tenants}) == 3


def test_long_texts_make_small_batches(files: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "BATCH_CHARACTERS", 2_500)
    source, target = files
    add(source, *[memory("x" * 1000) for _ in range(10)])
    done: list[int] = []
    copy_store(source, target, progress=lambda now, _: done.append(now))
    assert done == [3, 6, 9, 10]


def test_feedback_and_links_in_several_batches(
    files: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "LINKS", 3)
    source, target = files
    fill(source)
    for _ in range(2):
        _, found = copy_and_verify(source, target)
        assert found.differences.count == 0
        assert everything(target) == everything(source)

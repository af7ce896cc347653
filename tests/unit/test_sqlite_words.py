"""The text index follows the version of its terms."""

from __future__ import annotations

from pathlib import Path

import pytest

from remanence.errors import StoreVersion
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore, Words
from remanence.testing.store_suites.making import add, healthy, memory, partition_of, revise

BACKWARDS = Words(terms=lambda text: [word[::-1] for word in text.split()], version="backwards-1")


def test_another_version_of_the_terms_rebuilds_the_index(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    (record,) = add(store, memory("the teas"))
    assert [keys.size for keys in store.recall.postings(1, ["tea", "saet"], 9)] == [1, 0]
    store.close()
    store = SqliteStore(path, words=BACKWARDS)
    assert [keys.size for keys in store.recall.postings(1, ["tea", "saet"], 9)] == [0, 1]
    assert next(store.recall.traits(1)).terms == 2
    assert store.archive.get("t", [record.id]) == [record]
    assert healthy(store)
    store.close()


def test_a_process_with_the_older_terms_may_read_but_not_write(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    old = SqliteStore(path)
    (record,) = add(old, memory("tea"))
    new = SqliteStore(path, words=BACKWARDS)
    with pytest.raises(StoreVersion, match="restart"):
        revise(old, record.id, text="coffee")
    assert old.archive.count(Reach(tenant="t")) == 1
    revise(new, record.id, text="coffee")
    assert healthy(new)
    old.close()
    new.close()


def test_no_partition_sees_anothers_terms() -> None:
    store = SqliteStore(":memory:")
    for number in range(12):
        add(store, memory("2xtea tea", user_id=f"u{number}"))
    for number in range(12):
        partition = partition_of(store, user_id=f"u{number}")
        found = store.recall.postings(partition, ["tea", "2xtea", "xtea", "1x2xtea"], 99)
        assert [keys.size for keys in found] == [1, 1, 0, 0]
    store.close()

"""Care of the whole store."""

from __future__ import annotations

from pathlib import Path

import pytest

from remanence.errors import Closed
from remanence.model.memory import Kind, State
from remanence.model.scope import Reach
from remanence.model.write import Remove
from remanence.ports.store import Store
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    LONG,
    Reopen,
    add,
    healthy,
    link,
    memory,
    partition_of,
    pieces,
    revise,
    write,
)


class UpkeepSuite:
    """Care of the whole store."""

    def test_a_store_keeps_its_identity(self, store: Store, reopen: Reopen) -> None:
        identity = store.identity
        assert identity
        schema = store.schema
        again = reopen(store)
        assert (again.identity, again.schema) == (identity, schema)
        assert schema > 0

    def test_tenants_are_listed(self, store: Store) -> None:
        assert store.tenants() == []
        add(store, memory("a"), memory("b", user_id="u"))
        add(store, memory("c", tenant="u"))
        assert sorted(store.tenants()) == ["t", "u"]

    def test_one_caller_is_alone_at_a_time(self, store: Store) -> None:
        with store.alone("a") as first, store.alone("a") as second, store.alone("b") as other:
            assert (first, second, other) == (True, False, True)
        with store.alone("a") as again:
            assert again

    def test_writes_in_bulk_are_there_at_once(self, store: Store) -> None:
        with store.bulk():
            add(store, memory("a"), made=pieces())
            assert store.count(Reach(tenant="t")) == 1
        assert len(list(store.scan_vectors(FINGERPRINT, partition_of(store)))) == 1
        assert healthy(store)

    def test_doctor_finds_a_store_in_use_healthy(self, store: Store) -> None:
        a, b = add(store, memory("a", metadata={"x": [1, "two"]}), memory("b"), made=pieces())
        revise(store, a.id, text="c", metadata={"y": {"z": LONG}})
        store.associate("t", link(a, b))
        write(store, Remove(id=b.id))
        assert healthy(store)
        assert not any(one.repaired for one in store.doctor(repair=True, fingerprint=FINGERPRINT))

    def test_compact_keeps_all_that_is_there(self, store: Store) -> None:
        records = add(
            store, *[memory(f"m{i}", metadata={"i": i}) for i in range(60)], made=pieces()
        )
        write(store, *[Remove(id=record.id) for record in records[::2]])
        keys = [key for key, _ in store.scan("t")]
        store.compact()
        assert [key for key, _ in store.scan("t")] == keys
        assert len(store.pieces(FINGERPRINT, partition_of(store), keys)) == 30
        assert healthy(store)

    def test_stats_count_one_tenant(self, store: Store) -> None:
        a, b = add(store, memory("a", kind=Kind.SEMANTIC), memory("b", user_id="u"), made=pieces())
        add(store, memory("c", state=State.ARCHIVED))
        add(store, memory("foreign", tenant="u"))
        store.associate("t", link(a, b))
        stats = store.stats("t")
        assert stats.memories == 3
        assert stats.by_kind == {"semantic": 1, "episodic": 2}
        assert stats.by_state == {"active": 2, "archived": 1}
        assert stats.by_day == {"2026-03-01": 3}
        assert (stats.associations, stats.pending) == (1, 1)
        assert store.stats("nobody").memories == 0

    def test_a_backup_appears_whole(self, store: Store, tmp_path: Path) -> None:
        add(store, *[memory(f"m{i}") for i in range(50)], made=pieces())
        told: list[tuple[int, int]] = []
        store.backup(tmp_path / "copies" / "one", lambda done, of: told.append((done, of)))
        assert told[-1][0] == told[-1][1] > 0
        assert [path.name for path in (tmp_path / "copies").iterdir()] == ["one"]

    def test_a_closed_store_says_so(self, store: Store) -> None:
        store.close()
        store.close()
        with pytest.raises(Closed):
            store.count(Reach(tenant="t"))
        with pytest.raises(Closed):
            add(store, memory("x"))

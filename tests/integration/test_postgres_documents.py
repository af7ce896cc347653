"""Documents in PostgreSQL: walls, races, damage, copies, migration and the indexes that serve."""

from __future__ import annotations

import random
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from remanence.errors import Conflict, RemanenceError, StoreCorrupt
from remanence.model.document import Address, Discard, Put, Shelf
from remanence.model.filter import parse_filter
from remanence.model.memory import Kind
from remanence.model.scope import Reach
from remanence.store import documents
from remanence.store.conditions import Condition
from remanence.store.postgres import PostgresStore, restore, schema
from remanence.store.postgres import upkeep as maintenance
from remanence.store.postgres.database import reached
from remanence.store.postgres.session import Session, migrations, sql, statement
from remanence.testing.store_suites.making import FINGERPRINT, NOW, add, block, healthy, memory, put
from support.older import lent
from support.services.postgres import Databases


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_url)
    yield store
    store.close()


@pytest.fixture
def admin(postgres: Databases, postgres_url: str) -> Iterator[psycopg.Connection]:
    """The administrator, in the test's own database."""
    with psycopg.connect(postgres.admin_at(postgres_url), autocommit=True) as connection:
        yield connection


@pytest.fixture
def spare(postgres: Databases) -> Iterator[str]:
    url = postgres.database()
    yield url
    postgres.drop(url)


def kept(store: PostgresStore) -> None:
    """Two blocks, one of which keeps every version."""
    put(store, block("kept"), {"n": 1}, keep=True)
    put(store, block("kept"), {"n": 2}, keep=True)
    put(store, block("bare"), {"n": 3})


def examined(store: PostgresStore, repair: bool) -> dict[str, tuple[int, int, str]]:
    found = store.upkeep.doctor(repair=repair, fingerprint=FINGERPRINT)
    return {one.check: (one.problems, one.repaired, one.detail) for one in found if one.problems}


class TestWalls:
    def test_without_a_tenant_no_document_is_seen(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        kept(store)
        with psycopg.connect(postgres_url) as outside:
            for name in ("documents", "editions"):
                assert outside.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,)

    def test_a_document_of_another_tenant_cannot_be_written(self, store: PostgresStore) -> None:
        kept(store)
        foreign = (
            "INSERT INTO editions (tenant, document, version, at, verb, digest, value)"
            " VALUES (999, 1, 9, 0, '', '', '')"
        )
        with pytest.raises(RemanenceError):
            store._database.write("t", lambda session: session.execute(foreign, ()))

    def test_mixed_calls_see_nothing_foreign(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, pool_size=3, overflow=1)
        tenants = [f"tenant{number}" for number in range(6)]
        for name in tenants:
            put(store, block("same"), {"of": name}, tenant=name, keep=True)

        def call(number: int) -> set[str]:
            tenant = random.Random(number).choice(tenants)
            reach = Reach(tenant=tenant, all_users=True)
            match number % 4:
                case 0:
                    found = [one.value for one in store.documents.get(tenant, [block("same")])]
                case 1:
                    found = [one.value for one in store.documents.shelved(reach, Shelf.BLOCK)]
                case 2:
                    found = [one.value for one in store.documents.editions(tenant, block("same"))]
                case _:
                    found = [one.value for one, _ in store.documents.scan(tenant)]
            return {value["of"] for value in found} ^ {tenant}

        with ThreadPoolExecutor(8) as pool:
            assert set().union(*pool.map(call, range(2000))) == set()
        store.close()


def test_of_two_stores_that_expect_the_same_one_succeeds(
    store: PostgresStore, postgres_url: str
) -> None:
    other = PostgresStore(postgres_url)

    def attempt(of: PostgresStore, version: int) -> int:
        try:
            put(of, block("b"), {"n": version}, expected=version, keep=True)
        except Conflict:
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        for version in range(40):
            each = [store, other, store, other]
            assert sum(pool.map(attempt, each, [version] * 4)) == 1
    assert len(store.documents.editions("t", block("b"))) == 40
    other.close()


def test_a_put_and_an_expiry_do_not_lose_each_other(
    store: PostgresStore, postgres_url: str
) -> None:
    """Whoever goes first, a document that was refreshed in time is there."""
    other = PostgresStore(postgres_url)
    address = Address(shelf=Shelf.SESSION, name="s")
    with ThreadPoolExecutor(2) as pool:
        for _ in range(40):
            store.documents.put("t", [Discard(address=address)])
            put(store, address, {"n": 1}, expires_at=NOW)
            later = NOW + timedelta(hours=1)
            fresh = pool.submit(put, other, address, {"n": 2}, expires_at=later)
            gone = pool.submit(store.documents.expire, "t", Shelf.SESSION, NOW)
            made, erased = fresh.result(), gone.result()
            (found,) = store.documents.get("t", [address])
            assert found == made
            assert made.version == (1 if erased else 2)
    other.close()


class TestDoctor:
    @pytest.mark.parametrize("damage", ["value = '{}'", "updated_at = 5", "digest = ''"])
    def test_a_damaged_document_is_mended_from_its_edition(
        self, store: PostgresStore, admin: psycopg.Connection, damage: str
    ) -> None:
        kept(store)
        admin.execute(f"UPDATE documents SET {damage} WHERE name = 'kept'")
        with pytest.raises(StoreCorrupt, match="block 'kept'"):
            store.documents.get("t", [block("kept")])
        assert examined(store, repair=False) == {"documents": (1, 0, "block 'kept'")}
        assert examined(store, repair=True) == {"documents": (1, 1, "block 'kept'")}
        assert healthy(store)
        (found,) = store.documents.get("t", [block("kept")])
        assert (found.value, found.version, found.updated_at) == ({"n": 2}, 2, NOW)

    def test_what_no_edition_can_mend_is_told_until_it_is_put_anew(
        self, store: PostgresStore, admin: psycopg.Connection
    ) -> None:
        kept(store)
        admin.execute("UPDATE documents SET value = '{'")
        assert examined(store, repair=True)["documents"][:2] == (2, 1)
        assert examined(store, repair=True) == {"documents": (1, 0, "block 'bare'")}
        assert put(store, block("bare"), {"n": 4}, expected=1).version == 2
        assert healthy(store)

    def test_damaged_and_stray_editions_are_given_up(
        self, store: PostgresStore, admin: psycopg.Connection
    ) -> None:
        kept(store)
        admin.execute("UPDATE editions SET reason = 'forged' WHERE version = 1")
        with pytest.raises(StoreCorrupt):
            store.documents.editions("t", block("kept"))
        assert examined(store, repair=True) == {"editions": (1, 1, "block 'kept'")}
        assert [one.version for one in store.documents.editions("t", block("kept"))] == [2]
        admin.execute("DELETE FROM documents WHERE name = 'kept'")
        assert examined(store, repair=True) == {"stray editions": (1, 1, "")}
        assert healthy(store)


class TestCopies:
    def test_documents_come_back_whole(
        self, store: PostgresStore, spare: str, tmp_path: Path
    ) -> None:
        kept(store)
        put(store, block("theirs"), {"x": "é" * 5000}, tenant="u", keep=True)
        before = {tenant: list(store.documents.scan(tenant)) for tenant in ("t", "u")}
        store.upkeep.backup(tmp_path / "copy")
        restore(tmp_path / "copy", spare)
        back = PostgresStore(spare)
        assert {tenant: list(back.documents.scan(tenant)) for tenant in ("t", "u")} == before
        put(back, block("after"), keep=True)
        assert healthy(back)
        back.close()

    def test_a_forged_document_is_not_restored(
        self, store: PostgresStore, admin: psycopg.Connection, spare: str, tmp_path: Path
    ) -> None:
        kept(store)
        admin.execute("UPDATE documents SET name = 'forged' WHERE name = 'bare'")
        store.upkeep.backup(tmp_path / "copy")
        with pytest.raises(StoreCorrupt, match="1 damaged documents"):
            restore(tmp_path / "copy", spare)

    def test_a_store_and_a_copy_from_before_documents_are_brought_up_to_date(
        self, bare_postgres_url: str, spare: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as older:
            older.setattr(schema, "migrations", lambda: migrations()[:1])
            store = PostgresStore(bare_postgres_url)
            with psycopg.connect(bare_postgres_url, autocommit=True) as own, lent(own.execute):
                (record,) = add(store, memory("x", session_id="s"))
            store.upkeep.backup(tmp_path / "copy")
            store.close()
        with zipfile.ZipFile(tmp_path / "copy") as file:
            assert b"editions" not in file.read("manifest.json")
        restore(tmp_path / "copy", spare)
        for url in (bare_postgres_url, spare):
            store = PostgresStore(url)
            assert store.upkeep.schema == len(migrations())
            assert store.archive.find(Reach(tenant="t", session_id="s")) == [record]
            put(store, block("b"), keep=True)
            assert healthy(store)
            store.close()


def test_a_strangers_table_of_documents_is_left_alone(bare_postgres_url: str) -> None:
    with psycopg.connect(bare_postgres_url) as connection:
        connection.execute("CREATE TABLE documents (x text)")
    with pytest.raises(StoreCorrupt, match="documents"):
        PostgresStore(bare_postgres_url)


def test_discarded_bytes_are_gone_from_the_tables_after_compact(
    store: PostgresStore,
    admin: psycopg.Connection,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise = random.Random(7).randbytes(20_000).hex()
    put(store, block("canary-7f3a"), {"x": f"canary-7f3a {noise}"}, keep=True, author="canary-7f3a")
    put(store, block("stays"), {"x": f"stays-7f3a {noise}"}, keep=True)
    with psycopg.connect(postgres_url) as older:
        older.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        older.execute("SELECT count(*) FROM tenants")
        store.documents.put("t", [Discard(address=block("canary-7f3a"))])
        found_in_pauses: list[bool] = []

        def pause(_: float) -> None:
            found_in_pauses.append(b"canary-7f3a" in raw(admin))
            older.rollback()

        own_time = SimpleNamespace(monotonic=time.monotonic, sleep=pause)
        monkeypatch.setattr(maintenance, "time", own_time)
        store.upkeep.compact()
    assert found_in_pauses[0]
    files = raw(admin)
    assert b"stays-7f3a" in files
    assert b"canary-7f3a" not in files


def raw(admin: psycopg.Connection) -> bytes:
    """The files of every table and index."""
    admin.execute("CHECKPOINT")
    rows = admin.execute(
        "SELECT pg_read_binary_file(pg_relation_filepath(c.oid), 0, 1 << 24, true)"
        " FROM pg_class AS c LEFT JOIN pg_class AS o ON o.reltoastrelid = c.oid"
        " WHERE c.relkind IN ('r', 'i', 't')"
        " AND coalesce(o.relnamespace, c.relnamespace) = 'public'::regnamespace"
    ).fetchall()
    return b"".join(data for (data,) in rows if data is not None)


class TestPlans:
    @pytest.fixture
    def filled(self, store: PostgresStore, admin: psycopg.Connection) -> PostgresStore:
        """Enough rows that reading all of them would not pay."""
        for batch in range(10):
            records = [
                memory(
                    f"m{n} " * 50,
                    user_id=f"u{n % 10}",
                    kind=Kind.MESSAGE,
                    session_id=f"s{n // 100}",
                    happened_at=NOW + timedelta(seconds=n),
                )
                for n in range(batch * 500, batch * 500 + 500)
            ]
            add(store, *records)
        puts = [
            Put(
                address=Address(
                    shelf=Shelf.WORKING, name=f"n{n}", user_id=f"u{n % 5}", session_id=f"s{n // 20}"
                ),
                value={"n": n},
                at=NOW + timedelta(seconds=n),
                expires_at=NOW + timedelta(seconds=n),
            )
            for n in range(5000)
        ]
        store.documents.put("t", puts)
        admin.execute("VACUUM ANALYZE")
        return store

    def plan(self, store: PostgresStore, text: str, values: Any) -> str:
        def work(session: Session) -> str:
            asked = {"tenant": session.tenant, **values} if isinstance(values, dict) else values
            rows = session.execute(f"EXPLAIN {text}", asked).fetchall()
            return "\n".join(str(row[0]) for row in rows)

        found = store._database.read("t", work)
        assert found is not None
        return found

    def condition(self, store: PostgresStore, reach: Reach, where: Any = None) -> Condition:
        found = store._database.read(
            "t",
            lambda session: reached(
                session, store._database.partitions(session, reach), reach, where
            ),
        )
        assert found is not None
        return found

    def test_the_newest_messages_of_a_session_are_an_index_walk(
        self, filled: PostgresStore
    ) -> None:
        where = parse_filter({"field.kind": "message"})
        condition = self.condition(filled, Reach(tenant="t", user_id="u3", session_id="s7"), where)
        steps = self.plan(filled, statement("find_newest", condition), (*condition.values, 40, 0))
        assert "Index Scan Backward using memories_" in steps
        assert "session_id_happened_at_key" in steps
        assert "Sort" not in steps

    def test_sessions_are_read_from_the_index_alone(self, filled: PostgresStore) -> None:
        condition = self.condition(filled, Reach(tenant="t", user_id="u3"))
        steps = self.plan(filled, statement("spans", condition), (*condition.values, 40, 0))
        assert "Index Only Scan using memories_" in steps

    def test_documents_are_found_through_their_indexes(self, filled: PostgresStore) -> None:
        reaches = {
            "documents_by_time": Reach(tenant="t", user_id="u1"),
            "documents_by_address": Reach(tenant="t", user_id="u1", session_id="s7"),
        }
        for index, reach in reaches.items():
            condition = documents.within(reach)
            asked = (1, "working", *condition.values, 10, 0)
            steps = self.plan(filled, statement("shelved", condition), asked)
            assert f"using {index}" in steps, steps
        after = dict(zip(("shelf", "user", "session", "agent", "name"), [""] * 5, strict=True))
        steps = self.plan(filled, sql("documents_after"), {**after, "most": 50})
        assert "using documents_by_address" in steps, steps
        over = {"shelf": "working", "now": 0, "most": 9}
        assert "documents_by_expiry" in self.plan(filled, sql("expired"), over)

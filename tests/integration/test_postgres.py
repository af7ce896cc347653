"""The PostgreSQL store on a real server: fitness, walls, migrations, bells, copies."""

from __future__ import annotations

import os
import random
import select
import signal
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import psycopg
import pytest

from remanence.errors import (
    Closed,
    ConfigError,
    InvalidInput,
    RemanenceError,
    StoreBusy,
    StoreCorrupt,
    StoreUnavailable,
    StoreVersion,
)
from remanence.model.embedding import Fingerprint, quantised
from remanence.model.filter import parse_filter
from remanence.model.memory import State
from remanence.model.scope import Reach
from remanence.model.write import Insert, Piece, Pieces, Receipt, Remove, Written
from remanence.store.postgres import PgVectorIndex, PostgresStore, restore, schema
from remanence.store.postgres.opening import PatientConnection
from remanence.store.words import Words
from remanence.testing.patience import HANG_S
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    NOW,
    add,
    healthy,
    link,
    memory,
    partition_of,
    pieces,
    postings,
    revise,
    texts,
    write,
)
from support.services.postgres import PASSWORD, ROLE, Databases

BACKWARDS = Words(terms=lambda text: [word[::-1] for word in text.split()], version="backwards-1")
WALLED = """
SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant'
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
"""


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(postgres_url)
    yield opened
    opened.close()


@pytest.fixture
def admin(postgres: Databases, postgres_url: str) -> Iterator[psycopg.Connection]:
    """The administrator, in the test's own database."""
    with psycopg.connect(postgres.admin_at(postgres_url), autocommit=True) as connection:
        yield connection


def refusal(url: str, **options: object) -> RemanenceError:
    with pytest.raises(RemanenceError) as caught:
        PostgresStore(url, **options)  # type: ignore[arg-type]
    assert PASSWORD not in str(caught.value).replace(ROLE, "")
    return caught.value


class TestFitness:
    @pytest.fixture
    def postgres_url(self, bare_postgres_url: str) -> str:
        return bare_postgres_url

    def test_a_superuser_is_refused(self, admin: psycopg.Connection, postgres: Databases) -> None:
        refused = refusal(postgres.admin_url)
        assert isinstance(refused, ConfigError)
        assert "CREATE ROLE remanence LOGIN" in str(refused)

    def test_a_role_beyond_the_walls_is_refused_until_the_command_is_run(
        self, admin: psycopg.Connection, postgres_url: str
    ) -> None:
        admin.execute("CREATE ROLE beyond LOGIN BYPASSRLS PASSWORD 'x'")
        try:
            url = urlsplit(postgres_url)._replace(
                netloc=f"beyond:x@{urlsplit(postgres_url).netloc.rpartition('@')[2]}"
            )
            command = str(refusal(url.geturl())).splitlines()[-1].strip()
            assert command == 'ALTER ROLE "beyond" NOBYPASSRLS;'
            admin.execute(command)
            admin.execute("GRANT ALL ON SCHEMA public TO beyond")
            PostgresStore(url.geturl()).close()
        finally:
            admin.execute("DROP OWNED BY beyond")
            admin.execute("DROP ROLE beyond")

    def test_a_database_without_pgvector_is_refused_until_the_command_is_run(
        self, admin: psycopg.Connection, postgres_url: str
    ) -> None:
        admin.execute("DROP EXTENSION vector")
        refused = refusal(postgres_url)
        assert isinstance(refused, StoreVersion)
        (command,) = [line for line in str(refused).splitlines() if line.startswith("  ")]
        assert command.strip() == "CREATE EXTENSION vector;"
        admin.execute(command)
        PostgresStore(postgres_url).close()

    def test_an_old_pgvector_is_refused(self, admin: psycopg.Connection, postgres_url: str) -> None:
        admin.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
        assert "ALTER EXTENSION vector UPDATE;" in str(refusal(postgres_url))

    def test_an_old_server_is_refused(
        self, postgres_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(schema, "OLDEST_SERVER", 990000)
        refused = refusal(postgres_url)
        assert isinstance(refused, StoreVersion)
        assert "upgrade the server" in str(refused)

    def test_a_schema_of_a_newer_remanence_is_refused(self, postgres_url: str) -> None:
        PostgresStore(postgres_url).close()
        with psycopg.connect(postgres_url) as connection:
            connection.execute("UPDATE meta SET value = '999' WHERE name = 'schema'")
        refused = refusal(postgres_url)
        assert isinstance(refused, StoreVersion)
        assert "upgrade Remanence" in str(refused)

    def test_tables_of_another_program_are_left_alone(self, postgres_url: str) -> None:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("CREATE TABLE memories (id integer)")
        refused = refusal(postgres_url)
        assert isinstance(refused, StoreCorrupt)
        assert "memories" in str(refused)

    def test_without_leave_to_migrate_an_empty_database_is_refused(self, postgres_url: str) -> None:
        assert "rem migrate" in str(refusal(postgres_url, migrate=False))
        PostgresStore(postgres_url).close()
        PostgresStore(postgres_url, migrate=False).close()

    def test_where_nobody_answers_the_error_names_the_place_and_no_password(self) -> None:
        refused = refusal("postgresql://somebody:hunter2@127.0.0.1:1/nothing")
        assert isinstance(refused, StoreUnavailable)
        assert "127.0.0.1:1/nothing" in str(refused)
        assert "hunter2" not in str(refused)

    def test_a_database_that_is_not_there_is_named(self, postgres_url: str) -> None:
        refused = refusal(postgres_url + "_not")
        assert isinstance(refused, StoreUnavailable)
        assert "does not exist" in str(refused)

    def test_a_url_that_cannot_be_read_is_not_repeated(self) -> None:
        refused = refusal("postgresql://u:hunter2@host:port/x y=z")
        assert isinstance(refused, ConfigError)
        assert "hunter2" not in str(refused)

    @pytest.mark.parametrize(
        "wrong", [{"pool_size": 0}, {"timeout_s": 0}, {"tls": "maybe"}, {"overflow": -1}]
    )
    def test_settings_that_make_no_sense_are_refused(self, wrong: dict[str, object]) -> None:
        assert isinstance(refusal("postgresql://127.0.0.1:1/x", **wrong), ConfigError)


class TestMigrations:
    @pytest.fixture
    def postgres_url(self, bare_postgres_url: str) -> str:
        return bare_postgres_url

    def test_many_open_an_empty_database_at_once(self, postgres_url: str) -> None:
        with ThreadPoolExecutor(6) as pool:
            stores = list(pool.map(lambda _: PostgresStore(postgres_url), range(6)))
        assert len({store.upkeep.identity for store in stores}) == 1
        for number, store in enumerate(stores):
            add(store, memory("x", tenant=f"t{number}"))
        assert stores[0].upkeep.tenants() == [f"t{number}" for number in range(6)]
        for store in stores:
            store.close()

    def test_other_terms_rebuild_the_text_index_of_every_tenant(self, postgres_url: str) -> None:
        old = PostgresStore(postgres_url)
        records = [add(old, memory("the teas", tenant=tenant))[0] for tenant in ("t", "u")]
        new = PostgresStore(postgres_url, words=BACKWARDS)
        for record in records:
            partition = partition_of(new, tenant=record.tenant)
            sizes = [keys.size for keys in postings(new, ["tea", "saet"], partition)]
            assert sizes == [0, 1]
        assert healthy(new)
        with pytest.raises(StoreVersion, match="restart"):
            revise(old, records[0].id, text="coffee")
        old.close()
        new.close()

    def test_the_index_of_newer_terms_is_left_alone(self, postgres_url: str) -> None:
        newer, older = (Words(version=f"words-1/stems-{one}") for one in ("3.10.0", "3.9"))
        PostgresStore(postgres_url, words=older).close()
        refused = refusal(postgres_url, words=newer, migrate=False)
        assert isinstance(refused, StoreVersion)
        assert "rem migrate" in str(refused)
        PostgresStore(postgres_url, words=newer).close()
        for migrate in (True, False):
            refused = refusal(postgres_url, words=older, migrate=migrate)
            assert isinstance(refused, StoreVersion)
            assert "upgrade Remanence here" in str(refused)
        PostgresStore(postgres_url, words=newer, migrate=False).close()

    def test_the_first_migration_of_another_process_is_not_taken_for_a_stranger(
        self, postgres_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        foreign = schema._foreign

        def meanwhile(connection: PatientConnection) -> list[str]:
            monkeypatch.setattr(schema, "_foreign", foreign)
            PostgresStore(postgres_url).close()
            return foreign(connection)

        monkeypatch.setattr(schema, "_foreign", meanwhile)
        PostgresStore(postgres_url).close()


class TestWalls:
    def test_every_table_with_a_tenant_has_its_wall(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        with psycopg.connect(postgres_url) as connection:
            tables = connection.execute(WALLED).fetchall()
        assert len(tables) > 60
        assert all(enabled and forced for _, enabled, forced in tables)

    def test_without_a_tenant_nothing_is_seen(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        add(store, memory("secret", metadata={"a": 1}), made=pieces())
        with psycopg.connect(postgres_url) as outside:
            tables = [name for name, _, _ in outside.execute(WALLED).fetchall()]
            for name in tables:
                assert outside.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,)
        with store._database.connections.taken() as pooled:
            for name in tables:
                assert pooled.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,)

    def test_a_row_of_another_tenant_cannot_be_written(self, store: PostgresStore) -> None:
        add(store, memory("x"))
        foreign = "INSERT INTO uses (tenant, memory, count) VALUES (999, 1, 1)"
        with pytest.raises(RemanenceError):
            store._database.write("t", lambda session: session.execute(foreign, ()))

    def test_ten_thousand_mixed_calls_see_nothing_foreign(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, pool_size=3, overflow=1)
        tenants = [f"tenant{number}" for number in range(6)]
        own = {name: add(store, memory(f"canary {name}", tenant=name))[0] for name in tenants}
        seen: list[str] = []

        def call(number: int) -> None:
            tenant, other = random.Random(number).sample(tenants, 2)
            reach = Reach(tenant=tenant, all_users=True)
            match number % 5:
                case 0:
                    seen.extend(texts(store.archive.get(tenant, [own[other].id])))
                case 1:
                    found = texts(store.archive.find(reach))
                    seen.extend(text for text in found if text != f"canary {tenant}")
                case 2:
                    assert store.archive.count(reach) == 1
                case 3:
                    place = store.recall.key_of(tenant, own[other].id)
                    seen.extend([] if place is None else [str(place)])
                case 4:
                    mine = partition_of(store, tenant=tenant)
                    theirs = partition_of(store, tenant=other)
                    key = store.recall.key_of(other, own[other].id)
                    assert key is not None
                    seen.extend(one.text for one in store.recall.records(mine, [key[1]]).values())
                    assert [*store.recall.records(theirs, [key[1]])] == [key[1]]

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(call, range(10_000)))
        assert seen == []
        store.close()


class TestTogether:
    def test_two_stores_wake_each_other(self, store: PostgresStore, postgres_url: str) -> None:
        other = PostgresStore(postgres_url)
        add(store, memory("a"))
        while other.recall.watch(0):
            pass
        (record,) = add(store, memory("b", user_id="u"))
        (partition,) = other.recall.watch(10)
        assert partition == partition_of(store, user_id="u")
        place = store.recall.key_of("t", record.id)
        assert place is not None
        assert texts([*other.recall.records(partition, [place[1]]).values()]) == ["b"]
        other.close()

    def test_what_others_say_on_the_channel_is_passed_over(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        add(store, memory("a"))
        while store.recall.watch(0):
            pass
        with psycopg.connect(postgres_url, autocommit=True) as other:
            for junk in ("", "junk", "1:", "1:x", "9" * 5000 + ":1"):
                other.execute("SELECT pg_notify('remanence', %s)", (junk,))
        for _ in range(5):
            assert store.recall.watch(0.2) == []
        add(store, memory("b"))
        assert store.recall.watch(10) == [partition_of(store)]

    def test_the_feed_is_whole_at_every_position(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, overflow=8)
        add(store, memory("first"))
        partition, done, gaps = partition_of(store), threading.Event(), []

        def follow() -> None:
            seen = 0
            while True:
                last = done.is_set()
                position = store.recall.position(partition)
                found = [one.seq for one in store.recall.changes(partition, seen, 10**6)]
                expected = [*range(seen + 1, position + 1)]
                gaps.extend(set(expected) - set(found))
                seen = position
                if last:
                    return

        follower = threading.Thread(target=follow)
        follower.start()
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda n: add(store, memory(f"m{n}"), memory("x")), range(300)))
        done.set()
        follower.join()
        assert gaps == []
        assert store.recall.position(partition) == 601
        assert healthy(store)
        store.close()

    def test_writers_of_the_same_memory_take_turns(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, overflow=8)
        (record,) = add(store, memory("x", importance=0.0))
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: revise(store, record.id, metadata={"n": n}), range(80)))
        (found,) = store.archive.get("t", [record.id])
        assert found.version == 81
        assert len(store.archive.history("t", record.id)) == 81
        assert healthy(store)
        store.close()

    def test_one_receipt_is_done_once_by_many(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, overflow=8)
        receipt = Receipt(key="k", digest=b"d")

        def once(_: int) -> Written:
            return write(store, Insert(record=memory("once")), receipt=receipt)

        with ThreadPoolExecutor(8) as pool:
            every = list(pool.map(once, range(16)))
        assert sum(not written.repeated for written in every) == 1
        assert len({written.records[0].id for written in every}) == 1
        assert store.archive.count(Reach(tenant="t")) == 1
        store.close()

    def test_marks_of_commits_are_kept_for_an_hour(
        self, store: PostgresStore, postgres_url: str, admin: psycopg.Connection
    ) -> None:
        add(store, memory("a"))
        ages = (7, "2 hours"), (8, "30 minutes")
        for writer, age in ages:
            admin.execute(
                "INSERT INTO commits (tenant, writer, token, at)"
                " SELECT id, %s, 1, now() - %s::interval FROM tenants",
                (writer, age),
            )
        other = PostgresStore(postgres_url)
        add(other, memory("b"))
        other.close()
        kept = admin.execute("SELECT writer FROM commits WHERE writer < 10").fetchall()
        assert kept == [(8,)]

    def test_only_one_is_alone(self, store: PostgresStore, postgres_url: str) -> None:
        other = PostgresStore(postgres_url)
        with store.upkeep.alone("sweeping") as mine, other.upkeep.alone("sweeping") as theirs:
            assert (mine, theirs) == (True, False)
            with other.upkeep.alone("mopping") as apart:
                assert apart
        with other.upkeep.alone("sweeping") as theirs:
            assert theirs
        other.close()

    def test_more_callers_than_connections_wait_and_then_are_told(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, pool_size=1, overflow=0, timeout_s=0.3)
        with store._database.connections.taken(), pytest.raises(StoreBusy, match="pool_size"):
            store.archive.count(Reach(tenant="t"))
        assert store.archive.count(Reach(tenant="t")) == 0
        store.close()


class TestValues:
    def test_nul_is_refused_by_name(self, store: PostgresStore) -> None:
        for made in (memory("a\0b"), memory("x", source="a\0b")):
            with pytest.raises(InvalidInput, match="NUL"):
                add(store, made)
        assert store.archive.count(Reach(tenant="t")) == 0

    @pytest.mark.parametrize(
        "where",
        [
            {"a": 2**70},
            {"a": {"$gt": -(2**70)}},
            {"a": "\ud800"},
            {"text": {"$contains": "\ud800"}},
            {"a": {"$lt": "\ud800"}},
        ],
    )
    def test_a_filter_that_cannot_be_is_refused_with_or_without_memories(
        self, store: PostgresStore, where: dict[str, object]
    ) -> None:
        parsed = parse_filter(where)
        assert parsed is not None
        acts: list[Callable[[], object]] = [
            lambda: store.archive.find(Reach(tenant="t"), parsed),
            lambda: store.archive.count(Reach(tenant="t"), parsed),
            lambda: store.recall.keys(1, parsed),
        ]
        for made in ((), (memory("x"),)):
            if made:
                add(store, *made)
                assert partition_of(store) == 1
            for act in acts:
                with pytest.raises(InvalidInput):
                    act()

    def test_a_removed_embedder_leaves_no_index(self, store: PostgresStore) -> None:
        add(store, memory("a"), made=pieces(2))
        assert PgVectorIndex(store, FINGERPRINT).built()
        other = Fingerprint("other", "1" * 64, 4, "mean")
        assert store.vectors.forget_embedders("t", other) == 2
        with store.upkeep.bulk():
            pass
        assert store.vectors.embedders() == []
        assert [one.problems for one in store.upkeep.doctor(repair=False, fingerprint=None)].count(
            0
        ) > 9


class TestBulk:
    def test_the_index_is_there_afterwards(self, store: PostgresStore, postgres_url: str) -> None:
        index = PgVectorIndex(store, FINGERPRINT)
        assert index.built()
        assert len(graphs(postgres_url)) == 8
        with store.upkeep.bulk():
            assert len(graphs(postgres_url)) == 0
            add(store, *[memory(f"m{n}") for n in range(50)], made=real_pieces())
            found = index.nearest(partition_of(store), np.ones(8, np.float32), 10)
            assert len(found.keys) == 10
        assert len(graphs(postgres_url)) == 8
        assert healthy(store)

    def test_doctor_makes_a_half_made_index_again(
        self, store: PostgresStore, postgres_url: str, admin: psycopg.Connection
    ) -> None:
        assert PgVectorIndex(store, FINGERPRINT).built()
        admin.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'vectors_3_hnsw_1'::regclass"
        )
        by_name = {one.check: one for one in store.upkeep.doctor(repair=True, fingerprint=None)}
        assert (by_name["vector indexes"].problems, by_name["vector indexes"].repaired) == (1, 1)
        assert healthy(store)

    def test_indexes_are_made_though_the_server_goes_away_meanwhile(
        self, store: PostgresStore, postgres_url: str, admin: psycopg.Connection
    ) -> None:
        with psycopg.connect(postgres_url) as backup:
            backup.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            backup.execute("SELECT count(*) FROM meta")
            index = PgVectorIndex(store, FINGERPRINT)
            while not admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONC%hnsw%'"
            ).fetchall():
                pass
        assert index.built(HANG_S)
        assert len(graphs(postgres_url)) == 8
        assert healthy(store)
        index.close()

    def test_a_transaction_elsewhere_holds_up_neither_search_nor_close(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        add(store, *[memory(f"m{n}") for n in range(50)], made=real_pieces())
        with psycopg.connect(postgres_url) as backup:
            backup.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            backup.execute("SELECT count(*) FROM meta")
            index = PgVectorIndex(store, FINGERPRINT)
            found = index.nearest(partition_of(store), np.ones(8, np.float32), 10)
            assert len(found.keys) == 10
            assert not index.built(0.5)
            index.close()
            assert index.built(0)
        again = PgVectorIndex(store, FINGERPRINT)
        assert again.built(HANG_S)
        assert len(graphs(postgres_url)) == 8
        assert again.stats().detail == ""
        again.close()

    def test_without_room_for_parallel_work_the_index_is_made_by_one(
        self, store: PostgresStore, postgres_url: str, admin: psycopg.Connection
    ) -> None:
        """Refused as a server whose /dev/shm is too small refuses it."""
        admin.execute(
            "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF current_setting('max_parallel_maintenance_workers') <> '0' THEN"
            " RAISE 'could not resize shared memory segment' USING ERRCODE = '53100';"
            " END IF; END $$"
        )
        admin.execute(
            "CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE INDEX')"
            " EXECUTE FUNCTION refuse()"
        )
        assert PgVectorIndex(store, FINGERPRINT).built()
        assert len(graphs(postgres_url)) == 8


class TestDoctor:
    def test_a_damaged_row_is_set_aside(
        self, store: PostgresStore, admin: psycopg.Connection
    ) -> None:
        good, bad = add(store, memory("good"), memory("bad"))
        admin.execute("UPDATE memories SET text = 'worse' WHERE text = 'bad'")
        with pytest.raises(StoreCorrupt, match=bad.id):
            store.archive.get("t", [bad.id])
        found = {
            one.check: one for one in store.upkeep.doctor(repair=True, fingerprint=FINGERPRINT)
        }
        assert (found["digests"].problems, found["digests"].repaired) == (1, 1)
        assert bad.id in found["digests"].detail
        assert store.archive.get("t", [bad.id])[0].state == State.QUARANTINED
        assert store.archive.get("t", [good.id]) == [good]
        assert store.archive.history("t", bad.id)[-1].verb == "quarantine"
        assert healthy(store)

    @pytest.mark.parametrize(
        ("damage", "check"),
        [
            ("DELETE FROM words", "text index"),
            ("INSERT INTO words SELECT term + 1, place, tenant FROM words", "text index"),
            ("DELETE FROM labels WHERE name = 'a'", "labels"),
            ("DELETE FROM vectors", "vectors"),
            ("UPDATE pieces SET memory = memory + 1000", "stray pieces"),
            ("UPDATE pieces SET vector = 'shorter'", "size of pieces"),
            ("DELETE FROM pieces", "memories outside the embedding queue"),
            (
                "INSERT INTO pending SELECT tenant, embedder, memory FROM pieces WHERE part = 0",
                "embedding queue",
            ),
            ("DELETE FROM changes", "change feed"),
            ("UPDATE partitions SET position = 0", "change feed"),
            ("UPDATE partitions SET memories = 7", "memories counted"),
            (
                "INSERT INTO uses (tenant, memory, count) SELECT tenant, 999, 1 FROM partitions",
                "stray history, uses, feedback and links",
            ),
        ],
    )
    def test_damage_is_found_and_mended(
        self, store: PostgresStore, admin: psycopg.Connection, damage: str, check: str
    ) -> None:
        a, b = add(store, memory("a tea", metadata={"a": [1, "x"]}), memory("b"), made=pieces(2))
        store.links.associate("t", link(a, b))
        admin.execute(damage)
        found = {
            one.check: one for one in store.upkeep.doctor(repair=False, fingerprint=FINGERPRINT)
        }
        assert found[check].problems > 0
        store.upkeep.doctor(repair=True, fingerprint=FINGERPRINT)
        store.upkeep.doctor(repair=True, fingerprint=FINGERPRINT)
        assert healthy(store)
        assert texts(store.archive.get("t", [a.id, b.id])) == ["a tea", "b"]
        assert postings(store, ["tea"])[0].size == 1

    def test_a_wall_that_is_down_is_told(
        self, store: PostgresStore, admin: psycopg.Connection
    ) -> None:
        admin.execute("ALTER TABLE memories_3 NO FORCE ROW LEVEL SECURITY")
        (found,) = [
            one for one in store.upkeep.doctor(repair=False, fingerprint=None) if one.problems
        ]
        assert (found.check, found.detail) == ("walls between tenants", "memories_3")


class TestCopies:
    @pytest.fixture
    def spare(self, postgres: Databases) -> Iterator[str]:
        url = postgres.database()
        yield url
        postgres.drop(url)

    def test_a_copy_comes_back_whole(
        self, store: PostgresStore, spare: str, tmp_path: Path
    ) -> None:
        kept = fill(store)
        identity = store.upkeep.identity
        store.upkeep.backup(tmp_path / "copy")
        assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
        older = PostgresStore(spare)
        add(older, memory("overwritten", tenant="v"))
        older.close()
        restore(tmp_path / "copy", spare)
        back = PostgresStore(spare)
        assert back.upkeep.identity not in (identity, older.upkeep.identity)
        assert back.upkeep.tenants() == ["t", "u"]
        for tenant, records in kept.items():
            assert back.archive.get(tenant, [one.id for one in records]) == records
            assert list(back.links.scan(tenant)) == list(store.links.scan(tenant))
            keys = [key for key, _ in back.archive.scan(tenant)]
            assert keys == [key for key, _ in store.archive.scan(tenant)]
            mine = partition_of(back, tenant=tenant)
            assert mine == partition_of(store, tenant=tenant)
            assert back.vectors.pieces(FINGERPRINT, mine, keys) == store.vectors.pieces(
                FINGERPRINT, mine, keys
            )
            assert back.recall.position(mine) == store.recall.position(mine)
        assert healthy(back)
        (new,) = add(back, memory("after"))
        place = back.recall.key_of("t", new.id)
        assert place is not None
        assert place[1] > max(key for key, _ in store.archive.scan("u"))
        back.close()

    def test_a_copy_under_load_is_one_moment(
        self, postgres_url: str, spare: str, tmp_path: Path
    ) -> None:
        store, stop = PostgresStore(postgres_url), threading.Event()

        def both(number: int) -> None:
            """The second tenant never has more than the first."""
            add(store, memory(f"m{number}", tenant="a"), made=pieces())
            add(store, memory(f"m{number}", tenant="b"), made=pieces())

        def load() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                both(number)

        both(0)
        writer = threading.Thread(target=load)
        writer.start()
        for turn in range(3):
            store.upkeep.backup(tmp_path / f"copy{turn}")
        stop.set()
        writer.join()
        store.close()
        restore(tmp_path / "copy2", spare)
        back = PostgresStore(spare)
        counts = [back.archive.count(Reach(tenant=tenant)) for tenant in ("a", "b")]
        assert counts[0] - 1 <= counts[1] <= counts[0]
        assert healthy(back)
        back.close()

    def test_a_damaged_copy_changes_nothing(
        self, store: PostgresStore, spare: str, tmp_path: Path
    ) -> None:
        fill(store)
        store.upkeep.backup(tmp_path / "copy")
        other = PostgresStore(spare)
        (record,) = add(other, memory("still there"))
        other.close()
        for number, spoil in enumerate((cut, flip, swap)):
            broken = tmp_path / f"broken{number}"
            broken.write_bytes((tmp_path / "copy").read_bytes())
            spoil(broken)
            with pytest.raises(StoreCorrupt):
                restore(broken, spare)
        again = PostgresStore(spare)
        assert again.archive.get("t", [record.id]) == [record]
        again.close()

    def test_an_older_copy_comes_back_under_the_schema_of_the_tables(
        self, store: PostgresStore, postgres_url: str, spare: str, tmp_path: Path
    ) -> None:
        newest = store.upkeep.schema
        with psycopg.connect(postgres_url) as connection:
            connection.execute("UPDATE meta SET value = '0' WHERE name = 'schema'")
        store.upkeep.backup(tmp_path / "copy")
        restore(tmp_path / "copy", spare)
        back = PostgresStore(spare, migrate=False)
        assert back.upkeep.schema == newest
        back.close()

    def test_it_connects_as_it_is_told(
        self, store: PostgresStore, spare: str, tmp_path: Path
    ) -> None:
        store.upkeep.backup(tmp_path / "copy")
        restore(tmp_path / "copy", spare, tls="disable", timeout_s=5, statement_timeout_s=5)
        for wrong in ({"tls": "maybe"}, {"timeout_s": 0}, {"statement_timeout_s": 0}):
            with pytest.raises(ConfigError):
                restore(tmp_path / "copy", spare, **wrong)

    def test_an_open_store_is_not_replaced(
        self, store: PostgresStore, postgres_url: str, tmp_path: Path
    ) -> None:
        fill(store)
        store.upkeep.backup(tmp_path / "copy")
        with pytest.raises(StoreBusy, match="close it"):
            restore(tmp_path / "copy", postgres_url)
        assert healthy(store)


def test_a_forked_child_uses_connections_of_its_own(store: PostgresStore) -> None:
    (record,) = add(store, memory("parent"))
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            add(store, memory("child"))
            os.write(
                writes, b"done" if store.archive.get("t", [record.id]) == [record] else b"lost"
            )
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as told:
        assert told.read() == b"done"
    os.waitpid(child, 0)
    add(store, memory("parent again"))
    assert sorted(texts(store.archive.find(Reach(tenant="t")))) == [
        "child",
        "parent",
        "parent again",
    ]


def test_a_child_forked_in_a_watch_has_its_own(store: PostgresStore) -> None:
    add(store, memory("parent"))
    partition, stop = partition_of(store), threading.Event()
    while store.recall.watch(0):
        pass

    def follow() -> None:
        while not stop.is_set():
            store.recall.watch(1)

    follower = threading.Thread(target=follow)
    follower.start()
    while not store._watcher._lock.locked():
        pass
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.write(writes, b"heard " if store.recall.watch(0) == [partition] else b"deaf ")
            store.close()
            os.write(writes, b"closed")
        os._exit(0)
    os.close(writes)
    try:
        assert told_within(reads, 10) == b"heard closed"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        stop.set()
        follower.join()
    add(store, memory("parent again"))
    assert store.recall.watch(10) == [partition]


def told_within(pipe: int, timeout_s: float) -> bytes:
    """All that comes through a pipe until it ends or the time is up."""
    said, deadline = b"", time.monotonic() + timeout_s
    with os.fdopen(pipe, "rb", buffering=0) as told:
        while select.select([told], [], [], max(deadline - time.monotonic(), 0))[0]:
            part = told.read(100)
            if not part:
                break
            said += part
    return said


def test_removed_bytes_are_gone_from_the_tables_after_compact(
    store: PostgresStore, admin: psycopg.Connection
) -> None:
    (gone,) = add(store, memory("canary-7f3a sings", metadata={"note": "canary-7f3a"}))
    write(store, Remove(id=gone.id))
    store.upkeep.compact()
    admin.execute("CHECKPOINT")
    rows = admin.execute(
        "SELECT c.relname, pg_read_binary_file(pg_relation_filepath(c.oid)) FROM pg_class AS c"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i')"
    ).fetchall()
    assert len(rows) > 100
    assert [name for name, data in rows if b"canary-7f3a" in data] == []


def test_a_closed_store_says_so(store: PostgresStore) -> None:
    store.close()
    for act in (
        lambda: store.recall.watch(0),
        store.upkeep.tenants,
        lambda: store.recall.position(1),
    ):
        with pytest.raises(Closed):
            act()


def fill(store: PostgresStore) -> dict[str, list[object]]:
    kept: dict[str, list[object]] = {}
    for tenant in ("t", "u"):
        records = [
            memory(f"m{n} of {tenant}", tenant, metadata={"n": n, "s": "é"}, uses=n % 2)
            for n in range(40)
        ]
        add(store, *records, made=pieces(2))
        store.links.associate(tenant, link(records[0], records[1]))
        store.archive.note_feedback(tenant, records[0].id, useful=True, query="q", at=NOW)
        kept[tenant] = [*store.archive.get(tenant, [one.id for one in records])]
    return kept


def real_pieces() -> Pieces:
    vector = np.arange(1, 9, dtype=np.float32)
    piece = Piece(part=0, passage=0, start=0, stop=1, vector=quantised(vector / 15), codes=b"")
    return Pieces(fingerprint=FINGERPRINT, pieces=(piece,))


def graphs(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE '%hnsw%' AND relkind = 'i'"
        ).fetchall()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0x40
    path.write_bytes(data)


def swap(path: Path) -> None:
    """Well-formed, with an entry that is not what the manifest says."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    names = sorted(name for name in parts if name.endswith("/memories"))
    parts[names[0]], parts[names[1]] = parts[names[1]], parts[names[0]]
    with zipfile.ZipFile(path, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)

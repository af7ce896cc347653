"""Knowledge in PostgreSQL: walls, races, damage, copies, migration and the indexes that serve."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from remanence.errors import NotFound, RemanenceError, StoreCorrupt
from remanence.model.knowledge import Entity
from remanence.model.memory import MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.write import Insert, Remove, Revise
from remanence.store.conditions import Condition, joined
from remanence.store.core.knowledge import within
from remanence.store.postgres import PostgresStore, restore, schema
from remanence.store.postgres.session import Session, migrations, sql, statement
from remanence.testing.store_suites.making import (
    EVERY,
    FINGERPRINT,
    NOW,
    add,
    claim,
    entity,
    found,
    healthy,
    memory,
    mention,
    named,
    partition_of,
    write,
)
from support.older import lent
from support.services.postgres import Databases

ANA, BOB, OSLO = entity("Ana", type="person"), entity("Bob"), entity("Oslo", type="place")
TABLES = ("entities", "claims", "mentions")


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


def told(store: PostgresStore, tenant: str = "t") -> MemoryRecord:
    """A memory that speaks of three, and what a caller stated beside it."""
    record = memory("Ana lives in Oslo", tenant)
    said = claim(ANA, "lives in", OSLO, memory=record.id)
    learnt = found(record, said, names=(ANA, BOB, OSLO))
    write(store, Insert(record=record), tenant=tenant, learnt=(learnt,))
    store.knowledge.know(tenant, [], [claim(ANA, "is", "tall")])
    return record


def examined(store: PostgresStore, repair: bool) -> dict[str, tuple[int, int, str]]:
    found = store.upkeep.doctor(repair=repair, fingerprint=FINGERPRINT)
    return {one.check: (one.problems, one.repaired, one.detail) for one in found if one.problems}


class TestWalls:
    def test_without_a_tenant_nothing_known_is_seen(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        told(store)
        with psycopg.connect(postgres_url) as outside:
            for name in TABLES:
                for part in (name, *(f"{name}_{number}" for number in range(8))):
                    assert outside.execute(f"SELECT count(*) FROM {part}").fetchone() == (0,)

    def test_knowledge_of_another_tenant_cannot_be_written(self, store: PostgresStore) -> None:
        told(store)
        foreign = "INSERT INTO mentions (tenant, partition, memory, entity) VALUES (999, 1, 1, 1)"
        with pytest.raises(RemanenceError):
            store._database.write("t", lambda session: session.execute(foreign, ()))

    def test_mixed_calls_see_nothing_foreign(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url, pool_size=3, overflow=1)
        tenants = [f"tenant{number}" for number in range(6)]
        for name in tenants:
            record = add(store, memory("x", name))[0]
            store.knowledge.know(name, [ANA], [claim(ANA, "is", name)], [mention(record, ANA)])

        def call(number: int) -> set[str]:
            tenant = random.Random(number).choice(tenants)
            reach = Reach(tenant=tenant)
            scanned = [one for one in store.knowledge.scan(tenant) if hasattr(one, "value")]
            said = {one.value for one in (*store.knowledge.claims(reach, about=[ANA.id]), *scanned)}
            spoken = [
                store.archive.get(tenant, [one.memory])
                for one in store.knowledge.mentions(reach, [ANA.id])
            ]
            return (said ^ {tenant}) | {"" for one in spoken if len(one) != 1}

        with ThreadPoolExecutor(8) as pool:
            assert set().union(*pool.map(call, range(400))) == set()
        store.close()


class TestRaces:
    """Everybody speaks of the same few, in any order; nobody waits for another for ever."""

    def test_writers_of_the_same_names_neither_deadlock_nor_lose(
        self, store: PostgresStore, postgres_url: str, admin: psycopg.Connection
    ) -> None:
        stores = [store, PostgresStore(postgres_url), PostgresStore(postgres_url)]
        people = {user: [entity(f"p{n}", user_id=user) for n in range(8)] for user in ("u", "v")}

        def work(number: int) -> None:
            chance, own = random.Random(number), stores[number % 3]
            mine: list[MemoryRecord] = []
            for _ in range(25):
                if mine and chance.random() < 0.5:
                    gone = [mine.pop() for _ in range(min(len(mine), chance.randint(1, 2)))]
                    write(own, *(Remove(id=one.id) for one in gone))
                    continue
                new = [memory("x", user_id=user) for user in chance.sample(["u", "v"], 2)]
                learnt = [self.spoken(one, people[one.user_id or ""], chance) for one in new]
                write(own, *(Insert(record=one) for one in new), learnt=tuple(learnt))
                mine += new
                stated = chance.sample(people["u"], 2)
                own.knowledge.know("t", stated, [claim(stated[0], "knows", stated[1])])
                own.knowledge.unknow("t", [one.id for one in own.knowledge.claims(EVERY, limit=1)])

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))
        admin.execute("SELECT pg_stat_clear_snapshot()")
        deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert admin.execute(deadlocks).fetchone() == (0,)
        self.check_whole(store)
        for other in stores[1:]:
            other.close()

    def spoken(self, record: MemoryRecord, people: list[Entity], chance: random.Random) -> Any:
        some = chance.sample(people, 3)
        said = [claim(some[0], "knows", some[1], memory=record.id)]
        return found(record, *said, names=tuple(some))

    def check_whole(self, store: PostgresStore) -> None:
        assert healthy(store)
        claims = store.knowledge.claims(EVERY, limit=100_000)
        spoken = {one for said in claims for one in (said.subject, said.object)}
        spoken |= store.knowledge.mention_counts(EVERY).keys()
        assert {one.id for one in store.knowledge.entities(EVERY)} == spoken

    def test_the_last_two_to_speak_of_somebody_leave_together(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        other = PostgresStore(postgres_url)
        with ThreadPoolExecutor(2) as pool:
            for _ in range(30):
                both = [memory("x"), memory("y")]
                learnt = tuple(found(one, names=(ANA, BOB)) for one in both)
                write(store, *(Insert(record=one) for one in both), learnt=learnt)
                each = zip((store, other), both, strict=True)
                gone = [pool.submit(write, of, Remove(id=one.id)) for of, one in each]
                assert all(one.result() for one in gone)
                assert named(store) == []
        other.close()

    def test_what_goes_and_what_comes_back_meet(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        """A claim never names an entity that another writer has just swept away."""
        other = PostgresStore(postgres_url)
        with ThreadPoolExecutor(2) as pool:
            for _ in range(40):
                old, new = memory("x"), memory("y")
                write(store, Insert(record=old), learnt=(found(old, names=(ANA,)),))
                said = claim(ANA, "is", "here", memory=new.id)
                came = pool.submit(
                    write, other, Insert(record=new), learnt=(found(new, said, names=(ANA,)),)
                )
                went = pool.submit(write, store, Remove(id=old.id))
                assert came.result()
                assert went.result()
                assert named(store) == ["Ana"]
                assert store.knowledge.claims(EVERY) == [said]
                write(store, Remove(id=new.id))
        other.close()

    def test_a_statement_about_a_memory_that_goes(
        self, store: PostgresStore, postgres_url: str
    ) -> None:
        other = PostgresStore(postgres_url)
        store.knowledge.know("t", [entity("Ana", given=True)])
        with ThreadPoolExecutor(2) as pool:
            for _ in range(40):
                record = add(store, memory("x"))[0]
                said = claim(ANA, "is", "x", memory=record.id)
                known = pool.submit(other.knowledge.know, "t", [], [said], [mention(record, ANA)])
                gone = pool.submit(write, store, Remove(id=record.id))
                assert gone.result()
                assert isinstance(known.exception(), NotFound | None)
                assert store.knowledge.claims(EVERY) == []
                assert store.knowledge.mention_counts(EVERY) == {}
        assert healthy(store)
        other.close()


def test_others_hear_of_what_is_known(store: PostgresStore, postgres_url: str) -> None:
    told(store)
    other = PostgresStore(postgres_url)
    partition = partition_of(other)
    other.recall.watch(0)
    store.knowledge.know("t", [], [claim(ANA, "is", "x")])
    assert other.recall.watch(5) == [partition]
    other.close()


class TestDoctor:
    @pytest.mark.parametrize(
        "damage", ["type = 'forged'", "name = 'ANA'", "created_at = 5", "digest = ''", "given = 7"]
    )
    def test_a_damaged_entity_is_signed_anew_under_its_name(
        self, store: PostgresStore, admin: psycopg.Connection, damage: str
    ) -> None:
        told(store)
        admin.execute(f"UPDATE entities SET {damage} WHERE folded = 'ana'")
        with pytest.raises(StoreCorrupt, match=ANA.id):
            store.knowledge.entities(EVERY)
        assert examined(store, repair=False)["entities"][:2] == (1, 0)
        assert examined(store, repair=True)["entities"][:2] == (1, 1)
        assert healthy(store)
        assert [one.casefold() for one in named(store)] == ["ana", "bob", "oslo"]

    def test_what_no_name_can_mend_is_told(
        self, store: PostgresStore, admin: psycopg.Connection
    ) -> None:
        told(store)
        admin.execute("UPDATE entities SET name = 'x', folded = 'x' WHERE folded = 'ana'")
        assert examined(store, repair=True) == {"entities": (1, 0, "x")}
        assert store.knowledge.unknow("t", [], [ANA.id]) == 4
        assert healthy(store)

    @pytest.mark.parametrize(
        "damage", ["value = 'forged'", "trust = 0.5", "recorded_at = 5", "session_id = 's'"]
    )
    def test_a_damaged_claim_is_given_up(
        self, store: PostgresStore, admin: psycopg.Connection, damage: str
    ) -> None:
        told(store)
        admin.execute(f"UPDATE claims SET {damage} WHERE value = 'Oslo'")
        with pytest.raises(StoreCorrupt):
            store.knowledge.claims(EVERY)
        position = store.recall.position(partition_of(store))
        assert examined(store, repair=True) == {"claims": (1, 1, "Ana lives in Oslo.")}
        assert [one.value for one in store.knowledge.claims(EVERY)] == ["tall"]
        assert store.recall.position(partition_of(store)) > position
        assert healthy(store)

    def test_what_belongs_to_nobody_goes(
        self, store: PostgresStore, admin: psycopg.Connection
    ) -> None:
        record = told(store)
        admin.execute("DELETE FROM memories")
        strays = examined(store, repair=True)
        assert strays["claims"][:2] == (1, 1)
        assert strays["stray mentions"][:2] == (3, 3)
        assert healthy(store)
        assert store.archive.get("t", [record.id]) == []
        store.knowledge.know("t", [OSLO], [claim(ANA, "loves", OSLO)])
        admin.execute("UPDATE claims SET partition = 99 WHERE value = 'tall'")
        admin.execute("DELETE FROM entities WHERE folded = 'oslo'")
        assert examined(store, repair=True)
        assert healthy(store)

    def test_rest_follows_the_memory(self, store: PostgresStore, admin: psycopg.Connection) -> None:
        record = told(store)
        admin.execute("UPDATE claims SET rested_at = 7")
        assert examined(store, repair=True) == {"resting claims": (1, 1, "")}
        assert [one.rested_at is None for one in store.knowledge.claims(EVERY)] == [True, False]
        later = NOW + timedelta(hours=1)
        change = {"state": State.ARCHIVED}
        write(store, Revise(id=record.id, changes=change, verb="x", at=later))
        admin.execute("UPDATE claims SET rested_at = NULL")
        assert examined(store, repair=True) == {"resting claims": (1, 1, "")}
        assert store.knowledge.claims(EVERY)[0].rested_at == later

    def test_what_a_damaged_memory_says_rests(
        self, store: PostgresStore, admin: psycopg.Connection
    ) -> None:
        told(store)
        admin.execute("UPDATE memories SET text = 'forged'")
        assert examined(store, repair=True)["digests"][:2] == (1, 1)
        assert [one.rested_at is None for one in store.knowledge.claims(EVERY)] == [False, True]
        assert healthy(store)


class TestCopies:
    def test_knowledge_comes_back_whole(
        self, store: PostgresStore, spare: str, tmp_path: Path
    ) -> None:
        told(store)
        told(store, "u")
        before = {tenant: list(store.knowledge.scan(tenant)) for tenant in ("t", "u")}
        store.upkeep.backup(tmp_path / "copy")
        restore(tmp_path / "copy", spare)
        back = PostgresStore(spare)
        assert {tenant: list(back.knowledge.scan(tenant)) for tenant in ("t", "u")} == before
        told(back)
        back.knowledge.know("t", [entity("New")], [claim(ANA, "is", "new")])
        assert len(back.knowledge.claims(EVERY)) == 5
        assert healthy(back)
        back.close()

    @pytest.mark.parametrize("forged", ["entities SET name = 'x'", "claims SET trust = 0.3"])
    def test_forged_knowledge_is_not_restored(
        self,
        store: PostgresStore,
        admin: psycopg.Connection,
        spare: str,
        tmp_path: Path,
        forged: str,
    ) -> None:
        told(store)
        admin.execute(f"UPDATE {forged}")
        store.upkeep.backup(tmp_path / "copy")
        with pytest.raises(StoreCorrupt, match=r"\d damaged entities and claims"):
            restore(tmp_path / "copy", spare)

    def test_a_store_and_a_copy_from_before_knowledge_are_brought_up_to_date(
        self, bare_postgres_url: str, spare: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as older:
            older.setattr(schema, "migrations", lambda: migrations()[:2])
            store = PostgresStore(bare_postgres_url)
            with psycopg.connect(bare_postgres_url, autocommit=True) as own, lent(own.execute):
                (record,) = add(store, memory("x"))
            store.upkeep.backup(tmp_path / "copy")
            store.close()
        with zipfile.ZipFile(tmp_path / "copy") as file:
            assert b"entities" not in file.read("manifest.json")
        restore(tmp_path / "copy", spare)
        for url in (bare_postgres_url, spare):
            store = PostgresStore(url)
            assert store.upkeep.schema == len(migrations())
            store.knowledge.know("t", [ANA], [claim(ANA, "is", "x")], [mention(record, ANA)])
            assert healthy(store)
            store.close()


class TestPlans:
    """Enough rows that reading all of them would not pay."""

    @pytest.fixture
    def filled(self, store: PostgresStore, admin: psycopg.Connection) -> PostgresStore:
        for user in ("u0", "u1"):
            people = [entity(f"person {n}", user_id=user) for n in range(1500)]
            records = [memory(f"m{n}", user_id=user, session_id=f"s{n % 50}") for n in range(1500)]
            add(store, *records)
            said = [
                claim(people[n], "knows", people[n - 1], memory=records[n].id, session_id="s1",
                      recorded_at=NOW + timedelta(seconds=n))
                for n in range(1500)
            ]  # fmt: skip
            spoken = [mention(records[n], people[n]) for n in range(1500)]
            store.knowledge.know("t", people, said, spoken)
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

    def within(self, store: PostgresStore, table: str, *more: Condition) -> Condition:
        reach = Reach(tenant="t", user_id="u1")

        def work(session: Session) -> Condition:
            partitions = store._database.partitions(session, reach)
            own = within(store._database, session, table, partitions, reach)
            return joined("AND", [own, *more])

        found = store._database.read("t", work)
        assert found is not None
        return found

    def test_claims_are_found_through_their_indexes(self, filled: PostgresStore) -> None:
        newest = self.within(filled, "c")
        steps = self.plan(filled, statement("find_claims", newest), (*newest.values, 10, 0))
        assert "recorded_at_key_idx" in steps, steps
        one = filled.knowledge.claims(Reach(tenant="t", user_id="u1"), limit=1)[0]
        about = Condition("c.subject = ANY(?) OR c.object = ANY(?)", ([5], [5]))
        condition = self.within(filled, "c", about)
        text = statement("find_claims", condition)
        steps = self.plan(filled, text, (*condition.values, 10, 0))
        assert "subject_idx" in steps, steps
        assert "object_idx" in steps, steps
        (same,) = filled.knowledge.claims(Reach(tenant="t", user_id="u1"), ids=[one.id])
        assert same == one

    def test_names_are_walked_in_order(self, filled: PostgresStore) -> None:
        prefix = Condition("e.head >= ? AND e.head < ?", ("person 7", "person 8"))
        condition = self.within(filled, "e", prefix)
        text = statement("find_entities", condition)
        steps = self.plan(filled, text, (*condition.values, 10, 0))
        assert "partition_head_idx" in steps, steps

    def test_recall_walks_its_partition(self, filled: PostgresStore) -> None:
        partition = partition_of(filled, user_id="u1")
        asked = {"partition": partition, "after": 0, "most": 100}
        steps = self.plan(filled, sql("ties_after"), asked)
        assert "partition_key_idx" in steps, steps
        asked = {"partition": partition, "memory": 0, "entity": 0, "most": 100}
        steps = self.plan(filled, sql("mentioned_after"), asked)
        assert "mentions_" in steps, steps
        assert "Seq Scan on mentions" not in steps, steps

    def test_what_nothing_is_said_of_is_found_by_number(self, filled: PostgresStore) -> None:
        text = sql("erase_silent_entities").replace("%(numbers)s", "ARRAY[3, 4]::bigint[]")
        steps = self.plan(filled, text, {})
        assert "Seq Scan" not in steps, steps

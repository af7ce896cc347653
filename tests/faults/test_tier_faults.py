"""Packed memories under damage, erasure and SIGKILL."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from pathlib import Path

import apsw
import psycopg
import pytest

from remanence.errors import StoreCorrupt
from remanence.model.memory import MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.tier import Tier
from remanence.model.write import Insert, Remove
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import NOW, add, memory, write
from remanence.testing.store_suites.tiers import MADE_BY, made, told, use
from support.kills import Kills

ALL = Reach(tenant="t", all_users=True)
LATER = NOW + timedelta(days=1)
Store = SqliteStore | PostgresStore
Problems = dict[str, tuple[int, int]]


def examined(store: Store, *, repair: bool) -> Problems:
    found = store.upkeep.doctor(repair=repair, fingerprint=MADE_BY)
    return {one.check: (one.problems, one.repaired) for one in found if one.problems}


def packed(store: Store, count: int = 60) -> list[MemoryRecord]:
    records = told(count)
    write(store, *[Insert(record=one, pieces=made(n)) for n, one in enumerate(records)])
    store.tiers.pack(ALL, Tier.COLD, before=LATER)
    return records


def flipped(raw: bytes, at: int = -1) -> bytes:
    changed = bytearray(raw)
    changed[at] ^= 0x10
    return bytes(changed)


class Damaging:
    """A store of packed memories whose tables are changed behind its back."""

    def __init__(self, store: Store, url: str | None = None, path: Path | None = None) -> None:
        self.store = store
        self._url, self._path = url, path
        self.records = packed(store)

    def text(self, key: int) -> None:
        if self._path is not None:
            with apsw.Connection(str(self._path)) as own:
                old = own.execute("SELECT text FROM memories WHERE key = ?", (key,)).get
                changed = (flipped(old, len(old) // 2), key)
                own.execute("UPDATE memories SET text = ? WHERE key = ?", changed)
        else:
            self._postgres(
                "UPDATE memories SET packed = set_byte(packed, length(packed) / 2,"
                " get_byte(packed, length(packed) / 2) # 16) WHERE key = %s",
                key,
            )

    def dictionary(self, *copies: str) -> None:
        for copy in copies:
            if self._path is not None:
                with apsw.Connection(str(self._path)) as own:
                    body = own.execute(f"SELECT {copy} FROM dictionaries").get
                    own.execute(f"UPDATE dictionaries SET {copy} = ?", (flipped(body),))
            else:
                changed = f"set_byte({copy}, 900, get_byte({copy}, 900) # 16)"
                self._postgres(f"UPDATE dictionaries SET {copy} = {changed}")

    def _postgres(self, statement: str, *values: object) -> None:
        assert self._url is not None
        with psycopg.connect(self._url) as own:
            own.execute("SELECT set_config('remanence.tenant', id::text, true) FROM tenants")
            own.execute(statement.encode(), values)


@pytest.fixture(params=["sqlite", "postgres"])
def damaging(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Damaging]:
    if request.param == "sqlite":
        path = tmp_path / "memory.db"
        found = Damaging(SqliteStore(path), path=path)
    else:
        url = request.getfixturevalue("postgres_url")
        found = Damaging(PostgresStore(url), url=url)
    yield found
    found.store.close()


def test_a_damaged_text_is_told_and_set_aside(damaging: Damaging) -> None:
    store, records = damaging.store, damaging.records
    keys = [key for key, _ in store.archive.scan("t")]
    for n in (3, 17):
        damaging.text(keys[n])
    for n in (3, 17):
        with pytest.raises(StoreCorrupt):
            store.archive.get("t", [records[n].id])
    others = [one for one in records if one not in (records[3], records[17])]
    assert store.archive.get("t", [one.id for one in others]) == others
    assert examined(store, repair=False)["digests"] == (2, 0)
    assert examined(store, repair=True)["digests"] == (2, 2)
    assert examined(store, repair=False) == {}
    states = [one.state for one in store.archive.get("t", [records[n].id for n in (3, 17)])]
    assert states == [State.QUARANTINED] * 2
    assert store.archive.get("t", [one.id for one in others]) == others


def test_one_damaged_copy_of_a_dictionary_harms_nothing(damaging: Damaging) -> None:
    store, records = damaging.store, damaging.records
    damaging.dictionary("body")
    assert store.archive.get("t", [one.id for one in records]) == records
    assert examined(store, repair=False) == {"dictionaries": (1, 0)}
    assert examined(store, repair=True) == {"dictionaries": (1, 1)}
    assert examined(store, repair=False) == {}


def test_a_lost_dictionary_is_told_and_no_text_is_given_up(damaging: Damaging) -> None:
    (young,) = add(damaging.store, memory("Not packed, so not harmed."))
    damaging.dictionary("body", "spare")
    store = damaging.store
    found = examined(store, repair=True)
    assert found["dictionaries"] == (1, 0)
    damaged, repaired = found["digests"]
    assert (damaged >= 50, repaired) == (True, 0)
    assert store.archive.get("t", [young.id]) == [young]
    damaging.dictionary("body")  # as it was: the same bit back
    assert store.archive.get("t", [one.id for one in damaging.records]) == damaging.records
    assert "dictionaries" in examined(store, repair=True)
    assert examined(store, repair=True).keys() <= {"text index"}
    assert examined(store, repair=False) == {}


def test_a_dictionary_that_a_row_needs_cannot_be_deleted(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    packed(store)
    with store._database.writing() as connection, pytest.raises(apsw.ConstraintError):
        connection.execute("DELETE FROM dictionaries")
    store.close()


def words(chance: random.Random) -> list[str]:
    return ["q" + "".join(chance.choices("abcdefghijklmnoprstuvwz", k=11)) for _ in range(3)]


def test_erased_memories_leave_no_bytes_in_dictionaries(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    path = tmp_path / "memory.db"
    store = SqliteStore(path, durability="normal")
    secrets = [words(chance) for _ in range(200)]
    said = [f"Ana told me {a}, then {b}; at the end of the day {c}." for a, b, c in secrets]
    records = add(store, *[memory(text) for text in said])
    store.tiers.pack(ALL, Tier.COOL, before=LATER)

    def left(some: list[list[str]]) -> set[str]:
        files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        return {word for three in some for word in three if word[:9].encode() in files}

    assert left(secrets)  # in the dictionary, and in the text index
    for n in range(25):
        write(store, Remove(id=records[n].id))
        assert not left([secrets[n]])
    write(store, *[Remove(id=record.id) for record in records[25:120]])
    store.upkeep.compact()
    assert left(secrets[:120]) == set()
    rest = records[120:]
    assert store.archive.get("t", [one.id for one in rest]) == rest
    assert use(store, Tier.COOL).memories == 80
    write(store, *[Remove(id=record.id) for record in rest])
    store.upkeep.compact()
    assert left(secrets) == set()
    with store._database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM dictionaries").get == 0
    store.close()


PACKING = """
import sys
from datetime import timedelta
from remanence.model.scope import Reach
from remanence.model.tier import Tier
from remanence.model.write import Remove
from remanence.store.core import tiers as dictionaries
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import NOW, write
dictionaries.BATCH = 20
store, reach = SqliteStore(sys.argv[1], durability="normal"), Reach(tenant="t", all_users=True)
print("go", flush=True)
for tier in (Tier.COOL, Tier.COLD):
    store.tiers.pack(reach, tier, before=NOW + timedelta(days=1))
write(store, Remove(id=sys.argv[2]))
store.tiers.unpack(reach)
print("done", flush=True)
"""


def test_packing_that_is_killed_is_done_or_not_begun_for_each(tmp_path: Path) -> None:
    kills = Kills(PACKING)
    for n in chain([0], kills.rounds(5)):
        path = tmp_path / f"{n}.db"
        store = SqliteStore(path, durability="normal")
        records = told(300)
        write(store, *[Insert(record=one, pieces=made(at)) for at, one in enumerate(records)])
        store.close()
        (kills.kill if n else kills.whole)(path, records[150].id)
        store = SqliteStore(path)
        rest = [one for one in records if one.id != records[150].id]
        assert store.archive.get("t", [one.id for one in rest]) == rest
        assert examined(store, repair=False) == {}
        store.tiers.renew_dictionaries("t")
        store.tiers.pack(ALL, Tier.COLD, before=LATER)
        assert [one.tier for one in store.tiers.uses("t")] == [Tier.COLD]
        assert store.archive.get("t", [one.id for one in rest]) == rest
        assert examined(store, repair=False) == {}
        store.close()

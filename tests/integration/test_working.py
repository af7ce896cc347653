"""Working memory over both stores, with the memory that promotes what matters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from remanence import Memory
from remanence.errors import Conflict, EmbedderUnavailable, InvalidInput, NotFound
from remanence.layers.working import MAX_KEYS, Working
from remanence.model.clock import FixedClock
from remanence.model.document import Address, Shelf
from remanence.model.ports.store import Store
from remanence.model.session import MAX_VALUE
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from support.reaching import Afar, afar

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SERVED = {"working"}
DECADE = timedelta(days=3653)
VALUES = [
    None,
    True,
    0,
    -1.5,
    "",
    "text",
    "naïve 鍵 🔑\r\n",
    [],
    {},
    [1, [2, {"a": None}]],
    {"step": 3, "done": [True, False]},
    2**63 - 1,
]


def unused(*_: object, **__: object) -> Any:
    raise AssertionError("nothing was to be promoted")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Afar]:
    clock, path = FixedClock(NOW), tmp_path_factory.mktemp("server") / "memory.db"
    with Memory(path, clock=clock, session_ttl_s=86_400) as memory, afar(memory, clock) as served:
        yield served


@pytest.fixture
def store(kept_in: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if kept_in == "server":
        yield request.getfixturevalue("server").store
        return
    if kept_in == "sqlite":
        opened: Store = SqliteStore(tmp_path / "working.db", durability="normal")
    else:
        opened = PostgresStore(request.getfixturevalue("postgres_database"))
    with closing(opened):
        yield opened


@pytest.fixture
def clock(kept_in: str, request: pytest.FixtureRequest) -> FixedClock:
    if kept_in == "server":
        return request.getfixturevalue("server").clock_at(NOW)
    return FixedClock(NOW)


@pytest.fixture
def tenant() -> str:
    return f"t{uuid4().hex}"


@pytest.fixture
def working(
    kept_in: str, store: Store, tenant: str, clock: FixedClock, request: pytest.FixtureRequest
) -> Working:
    if kept_in == "server":
        return request.getfixturevalue("server").of(tenant).working
    return Working(store, tenant, clock, 86_400, unused)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back(working: Working, value: Any) -> None:
    item = working.set("k", value, session_id="s", importance=0.4)
    assert (item.key, item.value, item.importance) == ("k", value, 0.4)
    assert (item.updated_at, item.expires_at) == (NOW, NOW + DAY)
    found = working.get("k", session_id="s")
    assert found == value
    assert type(found) is type(value)
    assert working.items(session_id="s") == [item]


def test_what_is_not_there_is_not_found_or_the_default(working: Working) -> None:
    with pytest.raises(NotFound, match="set it first"):
        working.get("k", session_id="s")
    assert working.get("k", session_id="s", default=None) is None
    assert working.items(session_id="s") == []
    assert not working.remove("k", session_id="s")
    assert working.clear(session_id="s") == 0
    with pytest.raises(NotFound):
        working.promote("k", session_id="s")


def test_items_come_by_key_and_go_one_by_one_or_all(working: Working) -> None:
    for key in ("b", "a", "ä", "B"):
        working.set(key, key, session_id="s")
    assert [item.key for item in working.items(session_id="s")] == ["B", "a", "b", "ä"]
    assert working.remove("a", session_id="s")
    assert not working.remove("a", session_id="s")
    assert working.clear(session_id="s") == 3
    assert working.items(session_id="s") == []


def test_users_sessions_and_tenants_are_apart(
    working: Working, store: Store, tenant: str, clock: FixedClock
) -> None:
    places = [(u, s) for u in (None, "u", "v", "u:s") for s in ("s", "t", "u:s", "None")]
    for user, session in places:
        working.set("k", [user, session], session_id=session, user_id=user)
    other = Working(store, f"{tenant}-other", clock, 86_400, unused)
    for user, session in places:
        assert working.get("k", session_id=session, user_id=user) == [user, session]
        assert len(working.items(session_id=session, user_id=user)) == 1
        assert other.items(session_id=session, user_id=user) == []
        assert not other.remove("k", session_id=session, user_id=user)
        assert other.clear(session_id=session, user_id=user) == 0
    assert working.clear(session_id="s", user_id="u") == 1
    left = [working.get("k", session_id=s, user_id=u, default=0) for u, s in places]
    assert left.count(0) == 1


def test_an_item_runs_out(working: Working, clock: FixedClock) -> None:
    working.set("short", 1, session_id="s", ttl_s=60)
    working.set("long", 1, session_id="s")
    clock.at += timedelta(seconds=60)
    assert working.get("short", session_id="s", default="gone") == "gone"
    assert [item.key for item in working.items(session_id="s")] == ["long"]
    assert not working.remove("short", session_id="s")
    clock.at += DAY
    with pytest.raises(NotFound):
        working.promote("long", session_id="s")


def test_a_use_starts_the_time_anew(working: Working, clock: FixedClock) -> None:
    working.set("read", 1, session_id="s")
    working.set("listed", 1, session_id="t")
    for _ in range(4):
        clock.at += DAY * 0.9
        assert working.get("read", session_id="s") == 1
        assert len(working.items(session_id="t")) == 1
    [item] = working.items(session_id="s")
    assert (item.updated_at, item.expires_at) == (NOW, clock.at + DAY)


def test_a_use_is_written_when_it_is_worth_it(
    working: Working, store: Store, tenant: str, clock: FixedClock
) -> None:
    working.set("k", 1, session_id="s", ttl_s=1_000)
    address = Address(shelf=Shelf.WORKING, name="k", session_id="s")
    for _ in range(10):
        clock.at += timedelta(seconds=1)
        working.get("k", session_id="s")
    assert store.documents.get(tenant, [address])[0].version == 1
    clock.at += timedelta(seconds=1)
    working.get("k", session_id="s")
    assert store.documents.get(tenant, [address])[0].version == 2


def test_too_large_a_value_is_refused_with_the_amount(working: Working) -> None:
    most = MAX_VALUE - 2
    working.set("k", "x" * most, session_id="s")
    with pytest.raises(InvalidInput, match=r"'k' takes 16,389 bytes .* 16,384 fit: 5 too many"):
        working.set("k", "y" * (most + 5), session_id="s")
    assert working.get("k", session_id="s") == "x" * most


def test_too_many_keys_are_refused_with_the_amount(working: Working, clock: FixedClock) -> None:
    for n in range(MAX_KEYS):
        working.set(f"k{n}", n, session_id="s", ttl_s=60 if n < 10 else None)
    with pytest.raises(InvalidInput, match=r"has 100 keys .* 100 fit: 1 too many"):
        working.set("more", 1, session_id="s")
    working.set("k5", "changed", session_id="s", ttl_s=60)
    working.set("more", 1, session_id="another")
    clock.at += timedelta(seconds=61)
    for n in range(10):
        working.set(f"new {n}", n, session_id="s")
    with pytest.raises(InvalidInput, match="too many"):
        working.set("k5", 1, session_id="s")
    assert working.clear(session_id="s") == MAX_KEYS


@pytest.mark.parametrize("name", ["", "\0", "a\nb", "\ud800", "x" * 257, 7, None, b"k"])
def test_names_that_cannot_be_are_refused(working: Working, name: Any) -> None:
    for call in (working.get, working.remove, working.promote):
        with pytest.raises(InvalidInput):
            call(name, session_id="s")
        with pytest.raises(InvalidInput):
            call("k", session_id=name)
    for scope in ({"session_id": name}, {"session_id": "s", "agent_id": name or 7}):
        with pytest.raises(InvalidInput):
            working.set("k", 1, **scope)
    for listing in (working.items, working.clear):
        with pytest.raises(InvalidInput):
            listing(session_id=name)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1, 2}, b"x", 2**64, {"a": "\0"}, {1: 2}, "\ud800", print]
)
def test_values_that_are_no_json_are_refused(working: Working, value: Any) -> None:
    with pytest.raises(InvalidInput):
        working.set("k", value, session_id="s")
    assert working.items(session_id="s") == []


@pytest.mark.parametrize(
    "wrong", [{"ttl_s": 0}, {"ttl_s": "1"}, {"importance": 1.1}, {"importance": "high"}]
)
def test_wrong_figures_are_refused(working: Working, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        working.set("k", 1, session_id="s", **wrong)


def test_cleanup_removes_what_ran_out(
    working: Working, store: Store, tenant: str, clock: FixedClock
) -> None:
    for n in range(10):
        working.set(f"k{n}", n, session_id=f"s{n}", user_id=f"u{n}", ttl_s=60 * (1 + n % 2))
    clock.at += timedelta(seconds=60)
    assert working.cleanup() == 5
    assert working.cleanup() == 0
    assert working.get("k1", session_id="s1", user_id="u1") == 1


@pytest.mark.parametrize("jump", [DECADE, -DECADE])
@pytest.mark.parametrize("writes", [0, 1])
def test_a_clock_that_jumps_removes_nothing(
    working: Working, clock: FixedClock, jump: timedelta, writes: int
) -> None:
    for n in range(5):
        working.set(f"k{n}", n, session_id="s")
    clock.at += jump
    for n in range(writes):
        working.set(f"wrong decade {n}", n, session_id="s")
    working.items(session_id="s")
    if jump > timedelta(0):
        with pytest.raises(InvalidInput, match="give it as now"):
            working.cleanup()
    else:
        assert working.cleanup() == 0
    clock.at -= jump
    assert {f"k{n}" for n in range(5)} <= {item.key for item in working.items(session_id="s")}


def test_an_end_that_a_wrong_clock_gave_is_not_kept(working: Working, clock: FixedClock) -> None:
    for n in range(10):
        working.set(f"k{n}", n, session_id="s")
    clock.at += DECADE
    working.set("wrong decade", 1, session_id="s")
    clock.at -= DECADE
    assert working.get("wrong decade", session_id="s") == 1
    [item] = [one for one in working.items(session_id="s") if one.key == "wrong decade"]
    assert item.expires_at == NOW + DAY


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", clock=clock) as opened:
        yield opened


@pytest.fixture
def promoting(memory: Memory, clock: FixedClock) -> Working:
    return Working(memory.parts.store, memory.tenant, clock, 86_400, memory.add)


def test_an_item_is_promoted_on_request(memory: Memory, promoting: Working) -> None:
    promoting.set("city", "Lisbon", session_id="s", user_id="u", agent_id="a", importance=0.5)
    record = promoting.promote("city", session_id="s", user_id="u")
    assert memory.get(record.id).text == "city: Lisbon"
    assert (record.user_id, record.agent_id, record.session_id) == ("u", "a", "s")
    assert (record.kind, record.source, record.importance) == ("semantic", "working", 0.5)
    assert memory.search("Lisbon", user_id="u")[0].memory.id == record.id
    assert promoting.get("city", session_id="s", user_id="u") == "Lisbon"


def test_promoting_again_gives_the_same_memory(memory: Memory, promoting: Working) -> None:
    promoting.set("plan", {"steps": ["ü", 2]}, session_id="s")
    record = promoting.promote("plan", session_id="s")
    assert record.text == 'plan: {"steps": ["ü", 2]}'
    promoting.set("plan", {"steps": ["ü", 2]}, session_id="s")
    assert promoting.promote("plan", session_id="s").id == record.id
    assert memory.count() == 1
    with pytest.raises(Conflict, match="promoted before"):
        promoting.promote("plan", session_id="s", kind="procedural")
    promoting.set("plan", {"steps": ["ü", 3]}, session_id="s")
    assert promoting.promote("plan", session_id="s", kind="procedural").id != record.id
    promoting.remove("plan", session_id="s")
    promoting.set("plan", "another", session_id="s")
    assert promoting.promote("plan", session_id="s").text == "plan: another"
    assert memory.count() == 3


@pytest.mark.parametrize("erase", [True, False])
@pytest.mark.parametrize("kind", ["semantic", "procedural"])
def test_what_was_promoted_and_is_gone_is_remembered_anew(
    memory: Memory, promoting: Working, erase: bool, kind: str
) -> None:
    promoting.set("city", "Lisbon", session_id="s", user_id="u")
    gone = set()
    for _ in range(3):
        record = promoting.promote("city", session_id="s", user_id="u")
        assert record.id not in gone
        memory.forget(record.id, erase=erase)
        gone.add(record.id)
    record = promoting.promote("city", session_id="s", user_id="u", kind=kind)
    assert memory.find(user_id="u") == [record]
    assert (record.kind, record.text) == (kind, "city: Lisbon")
    assert promoting.promote("city", session_id="s", user_id="u", kind=kind).id == record.id
    with pytest.raises(Conflict, match="promoted before"):
        promoting.promote("city", session_id="s", user_id="u", kind="episodic")


def test_what_is_too_long_for_a_memory_is_set_and_not_promoted(
    tmp_path: Path, clock: FixedClock
) -> None:
    with Memory(tmp_path / "short.db", clock=clock, max_text=1_000) as memory:
        item = memory.working.set("k", "x" * 3_000, session_id="s", importance=0.9)
        assert item.value == memory.working.get("k", session_id="s") == "x" * 3_000
        assert memory.count() == 0
        with pytest.raises(InvalidInput, match="at most 1,000"):
            memory.working.promote("k", session_id="s")


def test_what_matters_is_promoted_at_once_and_once(memory: Memory, promoting: Working) -> None:
    promoting.set("allergy", "nuts", session_id="s", user_id="u", importance=0.79)
    assert memory.count(user_id="u") == 0
    for importance in (0.8, 0.8, 0.9):
        promoting.set("allergy", "nuts", session_id="s", user_id="u", importance=importance)
    [record] = memory.find(user_id="u")
    assert (record.text, record.importance) == ("allergy: nuts", 0.8)
    promoting.set("allergy", "nuts and milk", session_id="s", user_id="u", importance=1)
    assert memory.count(user_id="u") == 2


def test_an_item_whose_promotion_fails_is_set_and_can_be_promoted_later(
    memory: Memory, clock: FixedClock, promoting: Working
) -> None:
    def fails(*_: object, **__: object) -> Any:
        raise EmbedderUnavailable("down")

    broken = Working(memory.parts.store, memory.tenant, clock, 86_400, fails)
    with pytest.raises(EmbedderUnavailable):
        broken.set("k", "v", session_id="s", importance=0.9)
    assert promoting.get("k", session_id="s") == "v"
    assert promoting.promote("k", session_id="s").text == "k: v"

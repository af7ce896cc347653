"""Sessions over every store, with and without a cache: one behaviour for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from remanence.backends.cache.redis_sessions import RedisSessionCache
from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.layers.sessions import Sessions
from remanence.model.clock import FixedClock
from remanence.model.document import Address, Shelf
from remanence.model.memory import Kind, MemoryRecord
from remanence.model.ports.session_cache import SessionCache
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.session import MAX_DATA
from remanence.model.write import Batch, Remove
from remanence.recall.query import where_of
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import add, memory
from support.program import Program
from support.services.shared import Running

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
DECADE = timedelta(days=3653)
TTL_S = 86_400.0
PATIENT: dict[str, Any] = {"timeout_s": 5.0, "connect_timeout_s": 5.0}
STORES = ("sqlite", "postgres")
CACHES = ("none", "valkey", "cluster")


@dataclass
class Place:
    """A store, a cache and a clock that the test moves."""

    store: Store
    database: str
    cache_url: str
    cache: SessionCache | None
    clock: FixedClock
    tenant: str = field(default_factory=lambda: f"t{uuid4().hex}")
    reads: int = 0

    def sessions(self, tenant: str | None = None, *, cached: bool = True) -> Sessions:
        """Sessions as a process of their own would have them; without the cache if asked."""
        cache = self.cache if cached else None
        tenant = tenant or self.tenant

        def recent(session_id: str, *, user_id: str | None, limit: int) -> list[MemoryRecord]:
            self.reads += 1
            reach = Reach(tenant=tenant, user_id=user_id, session_id=session_id)
            where = where_of(None, "message", None, None, None)
            return self.store.archive.find(reach, where, limit=limit)[::-1]

        return Sessions(self.store, tenant, self.clock, TTL_S, cache, recent)

    def say(self, sessions: Sessions, text: str, session_id: str = "s", **scope: Any) -> None:
        """Store a message, then push it, as conversations do."""
        self.clock.at += timedelta(seconds=1)
        at = self.clock.at
        fields = {"happened_at": at, "created_at": at, "updated_at": at, "kind": Kind.MESSAGE}
        record = memory(text, self.tenant, session_id=session_id, **fields, **scope)
        sessions.push(session_id, add(self.store, record), **scope)


@pytest.fixture(params=[f"{store}-{cache}" for store in STORES for cache in CACHES])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    kind, cached = request.param.split("-")
    with ExitStack() as ends:
        if kind == "sqlite":
            where = str(tmp_path / "memory.db")
            store: Store = SqliteStore(where, durability="normal")
        else:
            where = request.getfixturevalue("postgres_database")
            store = PostgresStore(where)
        ends.enter_context(closing(store))
        url = _cache_url(request, cached)
        cache = ends.enter_context(closing(RedisSessionCache(url, **PATIENT))) if url else None
        yield Place(store, where, url, cache, FixedClock(NOW))


def _cache_url(request: pytest.FixtureRequest, kind: str) -> str:
    if kind == "cluster":
        running: Running = request.getfixturevalue("valkey_cluster")
        return "redis+cluster://" + ",".join(urlsplit(url).netloc for url in running.urls)
    return request.getfixturevalue("valkey_url") if kind == "valkey" else ""


@pytest.fixture
def sessions(place: Place) -> Sessions:
    return place.sessions()


def test_a_session_comes_back(sessions: Sessions) -> None:
    made = sessions.create("s", user_id="u", agent_id="a", data={"topic": "tea", "n": [1, None]})
    assert (made.id, made.user_id, made.agent_id, made.version) == ("s", "u", "a", 1)
    assert made.expires_at == NOW + DAY
    assert sessions.get("s", user_id="u") == made
    assert sessions.get("s", user_id="u") == made


def test_an_id_is_made_when_none_is_given(sessions: Sessions) -> None:
    ids = {sessions.create().id for _ in range(5)}
    assert len(ids) == 5
    for id in ids:
        assert sessions.get(id).id == id


def test_one_that_lives_is_not_created_again(sessions: Sessions) -> None:
    sessions.create("s", data={"a": 1})
    with pytest.raises(Conflict, match="alive"):
        sessions.create("s", data={"a": 2})
    assert sessions.get("s").data == {"a": 1}


@pytest.mark.parametrize("how", ["ended", "ran out"])
def test_one_that_is_over_is_begun_anew(place: Place, sessions: Sessions, how: str) -> None:
    before = sessions.create("s", data={"old": 1}, agent_id="a")
    if how == "ended":
        sessions.end("s")
    else:
        place.clock.at += 2 * DAY
    after = sessions.create("s", data={"new": 1})
    assert (after.data, after.agent_id, after.ended_at) == ({"new": 1}, None, None)
    assert after.version > before.version
    assert after.created_at == place.clock.at
    for _ in range(2):
        assert sessions.get("s") == after


def test_what_is_not_there_is_not_found(sessions: Sessions) -> None:
    with pytest.raises(NotFound, match="create"):
        sessions.get("none")
    with pytest.raises(NotFound, match="create"):
        sessions.update("none", {"a": 1})
    with pytest.raises(NotFound, match="create"):
        sessions.end("none")
    assert sessions.recent("none") == []
    assert not sessions.erase("none")


def test_changes_are_merged_key_by_key(sessions: Sessions) -> None:
    sessions.create("s", data={"a": 1, "b": {"x": 1, "y": 2}, "c": 3})
    after = sessions.update("s", {"a": None, "b": {"x": 9}, "d": [4], "never": None})
    assert after.data == {"b": {"x": 9}, "c": 3, "d": [4]}
    assert after.version == 2
    assert sessions.get("s") == after


def test_a_version_that_has_passed_is_refused(sessions: Sessions) -> None:
    first = sessions.create("s")
    second = sessions.update("s", {"a": 1}, version=first.version)
    with pytest.raises(Conflict, match="version 2, not 1"):
        sessions.update("s", {"a": 2}, version=first.version)
    assert sessions.update("s", {"a": 3}, version=second.version).data == {"a": 3}


def test_uses_are_no_changes(place: Place, sessions: Sessions) -> None:
    first = sessions.create("s")
    for _ in range(5):
        place.clock.at += DAY / 2
        assert sessions.get("s").version == first.version
    assert sessions.update("s", {"a": 1}, version=first.version).version == 2


def test_a_session_runs_out(place: Place, sessions: Sessions) -> None:
    sessions.create("s", data={"a": 1})
    place.clock.at += DAY - timedelta(seconds=1)
    assert sessions.get("s").expires_at == place.clock.at + DAY
    place.clock.at += DAY
    with pytest.raises(NotFound):
        sessions.get("s")
    with pytest.raises(NotFound):
        sessions.update("s", {"a": 2})
    with pytest.raises(NotFound):
        sessions.end("s")
    assert sessions.active() == []


def test_every_use_starts_the_time_anew(place: Place, sessions: Sessions) -> None:
    sessions.create("short", ttl_s=3_600)
    for _ in range(50):
        place.clock.at += timedelta(minutes=50)
        found = sessions.get("short")
        assert found.active_at == place.clock.at
        assert found.expires_at == place.clock.at + timedelta(hours=1)
    sessions.update("short", {"a": 1})
    place.clock.at += timedelta(minutes=61)
    with pytest.raises(NotFound):
        sessions.get("short")


def test_a_refresh_is_written_when_it_is_worth_it(place: Place, sessions: Sessions) -> None:
    sessions.create("s", ttl_s=1_000)
    address = Address(shelf=Shelf.SESSION, name="s")

    def version() -> int:
        return place.store.documents.get(place.tenant, [address])[0].version

    for _ in range(10):
        place.clock.at += timedelta(seconds=1)
        sessions.get("s")
    assert version() == 1
    place.clock.at += timedelta(seconds=1)
    sessions.get("s")
    assert version() == 2


def test_an_ended_session_can_be_read_and_not_changed(place: Place, sessions: Sessions) -> None:
    sessions.create("s", data={"a": 1})
    place.clock.at += timedelta(hours=1)
    ended = sessions.end("s")
    assert ended.ended_at == place.clock.at
    place.clock.at += timedelta(hours=1)
    assert sessions.end("s") == ended
    for _ in range(2):
        assert sessions.get("s") == ended
    with pytest.raises(Conflict, match="ended on 2026-03-01 13:00"):
        sessions.update("s", {"a": 2})
    assert sessions.active() == []
    place.clock.at = ended.expires_at
    with pytest.raises(NotFound):
        sessions.get("s")


def test_an_erased_session_leaves_nothing(sessions: Sessions) -> None:
    sessions.create("s", data={"a": 1})
    assert sessions.erase("s")
    with pytest.raises(NotFound):
        sessions.get("s")
    assert sessions.create("s").version == 1
    assert sessions.get("s").data == {}


def test_active_ones_come_last_used_first(place: Place, sessions: Sessions) -> None:
    for n in range(5):
        place.clock.at += timedelta(hours=1)
        sessions.create(f"s{n}", user_id="u")
    sessions.create("other", user_id="v")
    sessions.create("nobody's")
    place.clock.at += timedelta(hours=1)
    since = place.clock.at
    sessions.get("s1", user_id="u")
    sessions.end("s3", user_id="u")
    found = sessions.active(user_id="u")
    assert [one.id for one in found] == ["s1", "s4", "s2", "s0"]
    assert [one.id for one in sessions.active(user_id="u", limit=2)] == ["s1", "s4"]
    assert [one.id for one in sessions.active(user_id="u", since=since)] == ["s1"]
    assert [one.id for one in sessions.active()] == ["nobody's"]
    everyone = {(one.user_id, one.id) for one in sessions.active(all_users=True)}
    assert len(everyone) == 6
    with pytest.raises(InvalidInput):
        sessions.active(user_id="u", all_users=True)


def test_with_a_cache_active_knows_the_very_last_use(place: Place, sessions: Sessions) -> None:
    for name in ("first", "second"):
        sessions.create(name)
        place.clock.at += timedelta(seconds=1)
    sessions.get("first")
    expected = ["first", "second"] if place.cache else ["second", "first"]
    assert [one.id for one in sessions.active()] == expected


def test_cleanup_removes_what_ran_out_and_only_that(place: Place, sessions: Sessions) -> None:
    for n in range(20):
        sessions.create(f"s{n}", ttl_s=3_600 if n % 2 else 7_200)
    sessions.create("ended", ttl_s=3_600)
    sessions.end("ended")
    place.clock.at += timedelta(hours=1)
    other = place.sessions(f"{place.tenant}-other")
    other.create("s1", ttl_s=3_600)
    assert sessions.cleanup() == 11
    assert sessions.cleanup() == 0
    assert {one.id for one in sessions.active()} == {f"s{n}" for n in range(0, 20, 2)}
    assert other.get("s1").id == "s1"


@pytest.mark.parametrize("jump", [DECADE, -DECADE])
@pytest.mark.parametrize("writes", [0, 1, 3])
def test_a_clock_that_jumps_removes_nothing(
    place: Place, sessions: Sessions, jump: timedelta, writes: int
) -> None:
    for n in range(10):
        place.clock.at += timedelta(minutes=1)
        sessions.create(f"s{n}", data={"n": n})
    place.clock.at += jump
    for n in range(writes):
        sessions.create(f"wrong decade {n}")
    if jump > timedelta(0):
        with pytest.raises(InvalidInput, match="give it as now"):
            sessions.cleanup()
    else:
        assert sessions.cleanup() == 0
    place.clock.at -= jump
    for n in range(10):
        assert sessions.get(f"s{n}").data == {"n": n}
    place.clock.at += jump
    if jump > timedelta(0):
        assert sessions.cleanup(now=place.clock.at) == 10


@pytest.mark.parametrize("jump", [DECADE, -DECADE])
def test_a_use_in_the_wrong_decade_ends_nothing(
    place: Place, sessions: Sessions, jump: timedelta
) -> None:
    sessions.create("s", data={"a": 1})
    place.clock.at += jump
    if jump < timedelta(0):
        sessions.get("s")
        sessions.update("s", {"b": 2})
        place.say(sessions, "hello")
    else:
        with pytest.raises(NotFound):
            sessions.get("s")
    place.clock.at -= jump
    assert sessions.get("s").data["a"] == 1
    assert sessions.cleanup() == 0


def test_a_clock_that_jumped_writes_over_nothing(place: Place, sessions: Sessions) -> None:
    sessions.create("s", data={"cart": "precious"})
    sessions.create("ended", data={"cart": "left"})
    sessions.end("ended")
    place.clock.at += DECADE
    for _ in range(2):
        with pytest.raises(InvalidInput, match=r"clock may be wrong.* erase 's' and try again"):
            sessions.create("s", data={"new": 1})
    assert sessions.create("ended").data == {}
    place.clock.at -= DECADE
    assert sessions.get("s").data == {"cart": "precious"}
    place.clock.at += 30 * DAY
    with pytest.raises(NotFound):
        sessions.get("s")
    place.clock.at += DECADE
    assert sessions.erase("s")
    assert sessions.create("s").data == {}


def test_who_comes_back_after_two_years_begins_anew(place: Place, sessions: Sessions) -> None:
    sessions.create("s", data={"old": 1})
    for n in range(8):
        place.clock.at += 100 * DAY
        sessions.create(f"another {n}")
    assert sessions.create("s").data == {}


def test_an_end_that_a_wrong_clock_gave_is_not_kept(place: Place, sessions: Sessions) -> None:
    for n in range(10):
        sessions.create(f"s{n}")
    place.clock.at += DECADE
    sessions.create("wrong decade", data={"a": 1})
    place.clock.at -= DECADE
    assert sessions.get("wrong decade").expires_at == NOW + DAY
    assert sessions.update("wrong decade", {"b": 2}).expires_at == NOW + DAY
    place.clock.at += 2 * DAY
    with pytest.raises(NotFound):
        sessions.get("wrong decade")


@pytest.mark.parametrize("year", [1, 9999])
def test_a_clock_at_the_end_of_time_still_answers(
    place: Place, sessions: Sessions, year: int
) -> None:
    place.clock.at = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
    sessions.create("s", data={"a": 1})
    assert sessions.get("s").data == {"a": 1}
    assert sessions.update("s", {"b": 2}).data == {"a": 1, "b": 2}
    assert len(sessions.active()) == 1
    assert sessions.cleanup() == 0


def test_recent_messages(place: Place, sessions: Sessions) -> None:
    sessions.create("s")
    for n in range(130):
        place.say(sessions, f"turn {n}")
    turns = [f"turn {n}" for n in range(130)]
    for _ in range(2):
        assert [one.text for one in sessions.recent("s")] == turns[-100:]
        assert [one.text for one in sessions.recent("s", limit=3)] == turns[-3:]
    assert [one.text for one in sessions.recent("s", limit=120)] == turns[-120:]
    place.say(sessions, "turn 130")
    assert [one.text for one in sessions.recent("s", limit=2)] == ["turn 129", "turn 130"]


def test_recent_messages_are_the_stores_own(place: Place, sessions: Sessions) -> None:
    for n in range(5):
        place.say(sessions, f"turn {n}", user_id="u")
    stored = place.sessions(cached=False).recent("s", user_id="u")
    for _ in range(3):
        assert sessions.recent("s", user_id="u") == stored
    assert place.reads == (4 if place.cache is None else 2)
    assert sessions.recent("s") == []


def test_a_message_is_a_use_of_its_session(place: Place, sessions: Sessions) -> None:
    sessions.create("s")
    place.clock.at += timedelta(hours=23)
    place.say(sessions, "hello")
    place.clock.at += timedelta(hours=23)
    assert sessions.get("s").id == "s"


def test_a_message_from_before_comes_where_it_belongs(place: Place, sessions: Sessions) -> None:
    for n in range(3):
        place.say(sessions, f"turn {n}")
    assert len(sessions.recent("s")) == 3
    at = place.clock.at - timedelta(seconds=1, microseconds=1)
    late = memory("late", place.tenant, session_id="s", kind=Kind.MESSAGE, happened_at=at)
    sessions.push("s", add(place.store, late))
    texts = [one.text for one in sessions.recent("s")]
    assert texts == ["turn 0", "late", "turn 1", "turn 2"]


def test_dropped_messages_are_read_anew(place: Place, sessions: Sessions) -> None:
    for n in range(3):
        place.say(sessions, f"turn {n}")
    before = sessions.recent("s")
    place.store.archive.write(
        Batch(tenant=place.tenant, at=place.clock.at, actions=(Remove(id=before[1].id),))
    )
    sessions.drop([before[1]])
    assert [one.text for one in sessions.recent("s")] == ["turn 0", "turn 2"]


@pytest.mark.parametrize("late", ["before it looks", "after it looked"])
def test_a_message_that_was_erased_before_it_was_pushed_is_not_at_hand(
    place: Place, late: str
) -> None:
    """The writer is held up at the worst moment: it has stored, another erases, a reader fills."""
    writer, other = place.sessions(), place.sessions()
    for n in range(2):
        place.say(writer, f"turn {n}")
    assert len(other.recent("s")) == 2

    def erase(message: MemoryRecord) -> None:
        removed = Batch(tenant=place.tenant, at=place.clock.at, actions=(Remove(id=message.id),))
        place.store.archive.write(removed)
        other.drop([message])
        assert len(other.recent("s")) == 2

    at = place.clock.at + timedelta(seconds=1)
    times = {"happened_at": at, "created_at": at, "updated_at": at, "kind": Kind.MESSAGE}
    [message] = add(place.store, memory("secret", place.tenant, session_id="s", **times))
    if late == "before it looks" or place.cache is None:
        erase(message)
        writer.push("s", [message])
    else:
        with _held_up(place.cache, lambda: erase(message)):
            writer.push("s", [message])
    assert [one.text for one in other.recent("s")] == ["turn 0", "turn 1"]


@contextmanager
def _held_up(cache: SessionCache, meanwhile: Callable[[], None]) -> Iterator[None]:
    push = cache.push

    def late(*args: Any, **named: Any) -> None:
        meanwhile()
        push(*args, **named)

    cache.push = late  # type: ignore[method-assign]
    yield
    del cache.push  # type: ignore[method-assign]


def test_what_is_said_stays_at_hand(place: Place, sessions: Sessions) -> None:
    place.say(sessions, "turn 0")
    sessions.recent("s")
    reads = place.reads
    for n in range(1, 4):
        place.say(sessions, f"turn {n}")
        assert len(sessions.recent("s")) == n + 1
    assert place.reads == (reads if place.cache else reads + 3)


HOSTILE = (
    "s:s",
    "u:s",
    "}:session",
    "{t:u:s}",
    "%7D",
    "*",
    "../../etc",
    "'; DROP TABLE documents; --",
    "naïve 鍵 🔑",
    "x" * 256,
)


def test_forged_names_reach_nobody_else(place: Place, sessions: Sessions) -> None:
    owners = [(user, name) for user in (None, "u", *HOSTILE[:4]) for name in HOSTILE[:5]]
    for user, name in owners:
        sessions.create(name, user_id=user, data={"of": [user, name]})
    neighbour = place.sessions(f"{place.tenant}:u")
    for user, name in owners:
        for _ in range(2):
            assert sessions.get(name, user_id=user).data == {"of": [user, name]}
        with pytest.raises(NotFound):
            neighbour.get(name, user_id=user)
    assert neighbour.active(all_users=True) == []
    assert len(sessions.active(all_users=True)) == len(owners)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_names(place: Place, sessions: Sessions, name: str) -> None:
    sessions.create(name, user_id=name, agent_id=name, data={name[:100]: name})
    place.say(sessions, name, session_id=name, user_id=name)
    for _ in range(2):
        assert sessions.get(name, user_id=name).data == {name[:100]: name}
        assert [one.text for one in sessions.recent(name, user_id=name)] == [name]


@pytest.mark.parametrize("name", ["", "\0", "a\nb", "\ud800", "x" * 257, 7, b"s", ["s"]])
def test_names_that_cannot_be_are_refused(sessions: Sessions, name: Any) -> None:
    for call in (
        lambda: sessions.create(name),
        lambda: sessions.create("s", user_id=name),
        lambda: sessions.create("s", agent_id=name),
        lambda: sessions.get(name),
        lambda: sessions.update(name, {}),
        lambda: sessions.end(name),
        lambda: sessions.erase(name),
        lambda: sessions.recent(name),
        lambda: sessions.active(user_id=name),
    ):
        with pytest.raises(InvalidInput):
            call()
    with pytest.raises(InvalidInput):
        sessions.get(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        "text",
        [1],
        7,
        {1: 2},
        {"": 1},
        {"a": {1, 2}},
        {"a": float("nan")},
        {"a": 2**64},
        {"a": "\0"},
        {"a": "\ud800"},
        {"a": b"bytes"},
        {"a": print},
    ],
    ids=repr,
)
def test_data_that_is_no_json_is_refused(sessions: Sessions, data: Any) -> None:
    sessions.create("s", data={"kept": 1})
    with pytest.raises(InvalidInput):
        sessions.create("t", data=data)
    with pytest.raises(InvalidInput):
        sessions.update("s", data)
    assert sessions.get("s").data == {"kept": 1}
    with pytest.raises(NotFound):
        sessions.get("t")


def test_data_that_holds_itself_is_refused(sessions: Sessions) -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    wide: list[Any] = ["x"]
    for _ in range(7):
        wide = [wide] * 50
    for data in (endless, {"a": wide}):
        with pytest.raises(InvalidInput):
            sessions.create("s", data=data)


def test_too_much_data_is_refused_with_the_amount(sessions: Sessions) -> None:
    most = MAX_DATA - len('{"a":""}')
    sessions.create("s", data={"a": "x" * most})
    with pytest.raises(InvalidInput, match=r"65,543 bytes as JSON and 65,536 fit: 7 too many"):
        sessions.update("s", {"b": 12})
    assert len(sessions.get("s").data["a"]) == most
    assert sessions.update("s", {"a": None, "b": "é" * 32_000}).data == {"b": "é" * 32_000}


@pytest.mark.parametrize("ttl_s", [0, -1, 0.5, float("nan"), float("inf"), 1e9, "60", True])
def test_a_time_to_live_that_cannot_be_is_refused(sessions: Sessions, ttl_s: Any) -> None:
    with pytest.raises(InvalidInput, match="ttl_s"):
        sessions.create("s", ttl_s=ttl_s)


def test_what_a_caller_changes_later_is_not_ours(sessions: Sessions) -> None:
    data = {"list": [1]}
    made = sessions.create("s", data=data)
    data["list"].append(2)
    made.data["list"].append(3)
    assert sessions.get("s").data == {"list": [1]}


def test_a_store_has_its_own_sessions_in_a_shared_cache(place: Place, tmp_path: Path) -> None:
    place.sessions().create("s", data={"of": "one"})
    place.say(place.sessions(), "hello")
    place.sessions().recent("s")
    with closing(SqliteStore(tmp_path / "another.db", durability="normal")) as store:
        other = Place(store, "", place.cache_url, place.cache, place.clock, place.tenant)
        with pytest.raises(NotFound):
            other.sessions().get("s")
        assert other.sessions().recent("s") == []


WRITER = """
import sys
from datetime import UTC, datetime
from remanence.backends.cache.redis_sessions import RedisSessionCache
from remanence.model.clock import SystemClock
from remanence.layers.sessions import Sessions
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
database, url, tenant, name, writes = sys.argv[1:]
server = database.startswith("postgresql")
store = PostgresStore(database) if server else SqliteStore(database, busy_timeout_s=600)
cache = RedisSessionCache(url, timeout_s=5, connect_timeout_s=5) if url else None
sessions = Sessions(store, tenant, SystemClock(), 86400, cache, lambda *_, **__: [])
for n in range(int(writes)):
    after = sessions.update("s", {name: n, f"{name} {n}": 1})
    assert after.data[name] == n
    found = sessions.get("s")
    assert found.data[name] == n and found.version >= after.version, (found, after)
store.close()
"""


def test_processes_that_change_different_keys_all_win(place: Place, sessions: Sessions) -> None:
    place.clock.at = datetime.now(UTC)
    sessions.create("s")
    names, writes = ("a", "b", "c"), 25
    arguments = [place.database, place.cache_url, place.tenant]
    running = [Program(WRITER, *arguments, name, writes) for name in names]
    assert [program.ended() for program in running] == [0, 0, 0]
    place.clock.at = datetime.now(UTC)
    found = sessions.get("s")
    assert found.version == 1 + len(names) * writes
    expected = {f"{name} {n}" for name in names for n in range(writes)} | set(names)
    assert set(found.data) == expected


def test_of_many_creators_one_wins(sessions: Sessions) -> None:
    def create(n: int) -> bool:
        try:
            sessions.create("s", data={"n": n})
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(16)))
    assert won.count(True) == 1
    assert sessions.get("s").data == {"n": won.index(True)}

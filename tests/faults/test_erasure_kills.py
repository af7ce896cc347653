"""Erasures and restores killed at every step: done whole at the next opening, or not begun."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory, State
from remanence.config.assembly import Parts, restore_store
from remanence.layers.erasure.receipts import Erasures, Tombstones
from remanence.model.erasure import Stage
from remanence.store.sqlite import restoring
from remanence.store.sqlite.upkeep import SqliteUpkeep

MOST = 30


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "memory.db")


def killed(at: int, places: list[tuple[Any, str]], act: Callable[[], object]) -> bool:
    """Act in a process that dies before or after the calls of these functions; whether it did."""
    child = os.fork()
    if child == 0:
        left, code = [at], 1
        try:
            for owner, name in places:
                setattr(owner, name, _deadly(getattr(owner, name), left))
            act()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL)
    return status == signal.SIGKILL


def _deadly(real: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    def tick() -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    @wraps(real)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        tick()
        result = real(*arguments, **named)
        tick()
        return result

    return wrapped


def steps(memory: Memory) -> list[tuple[Any, str]]:
    store = memory.parts.store
    own = (
        (type(store.archive), "write"),
        (type(store.documents), "put"),
        (type(store.knowledge), "forget"),
        (type(store.tiers), "renew_dictionaries"),
    )
    return [*own, (Parts, "clean"), (Tombstones, "add")]


def filled(database: str, users: list[str]) -> list[tuple[Any, str]]:
    with Memory(database) as memory:
        for user in users:
            memory.add("the zorblax is there", user_id=user)
            memory.sessions.create(f"s {user}", user_id=user, data={"a": 1})
            memory.facts.add("Ana", "lives_in", "Lisbon", user_id=user)
        return steps(memory)


def left_of(memory: Memory, user: str) -> list[int]:
    return [
        memory.count(user_id=user, states="any"),
        len(memory.sessions.active(user_id=user)),
        len(memory.facts.about("Ana", user_id=user)),
    ]


@pytest.mark.parametrize("how", ["scope", "ids"])
def test_an_erasure_is_whole_or_not_begun(database: str, how: str) -> None:
    moments = moments_of(database)
    users = [f"u{at}" for at in moments]
    places = filled(database, users)

    def erase(user: str) -> None:
        memory = Memory(database)
        given = {"user_id": user} if how == "scope" else {"id": memory.find(user_id=user)[0].id}
        memory.forget(**given, erase=True)  # type: ignore[arg-type]

    gone = [0, 0, 0] if how == "scope" else [0, 1, 1]
    erased = 0
    for at, user in zip(moments, users, strict=True):
        dead = killed(at, places, lambda user=user: erase(user))  # type: ignore[misc]
        with Memory(database) as memory:
            left = left_of(memory, user)
            assert left in ([1, 1, 1], gone)
            erased += left == gone
            check_receipts(memory, erased)
        if not dead:
            assert left == gone
            break
    assert not dead
    assert erased > 1


@pytest.mark.parametrize("erase", [True, False])
def test_what_was_merged_from_elsewhere_is_never_hidden(database: str, erase: bool) -> None:
    moments = moments_of(database)
    with Memory(database) as memory:
        pairs = [
            [
                memory.add(text, user_id=f"u{at}", session_id=where, importance=importance).id
                for text, where, importance in (
                    ("Ana likes tea.", "A", 0.6),
                    ("Ana likes tea", "B", 0.5),
                )
            ]
            for at in moments
        ]
        memory.sleep.run("merge")
        assert memory.count(all_users=True) == len(pairs)
        places = steps(memory)

    def forget(user: str) -> None:
        Memory(database).forget(user_id=user, session_id="A", erase=erase)

    done = 0
    for at, (survivor, other) in zip(moments, pairs, strict=True):
        dead = killed(at, places, lambda user=f"u{at}": forget(user))  # type: ignore[misc]
        with Memory(database) as memory:
            found = {
                r.id: r.state
                for r in memory.parts.store.archive.get(memory.tenant, [survivor, other])
            }
        stands = found.get(survivor) == State.ACTIVE
        assert found[other] == State.ACTIVE or stands
        done += not stands
        if not dead:
            assert not stands
            break
    assert not dead
    assert done >= 1


def moments_of(database: str, few: Sequence[int] = (0, 1, 2, 5, 8, MOST)) -> Sequence[int]:
    """When to kill: at every step of a file, at few of a server's, and then not at all."""
    return few if database.startswith("postgresql") else range(MOST)


def check_receipts(memory: Memory, erased: int) -> None:
    """There is one for each erasure, completed and signed, also in the file beside a file."""
    erasures = Erasures(memory.parts.store, memory.tenant)
    found = erasures.list()
    assert [one.status for one in found] == [Stage.COMPLETED] * erased
    assert all(erasures.verify(one) for one in found)
    if memory.parts.store.upkeep.kind == "sqlite":
        beside = Tombstones(Path(f"{memory.settings.database_url}.erasures"))
        assert {one.id for one in beside.read()} == {one.id for one in found}


def test_a_restore_that_is_killed_brings_nothing_back(database: str, tmp_path: Path) -> None:
    users = ["ana", "bob", "eve"]
    filled(database, users)
    with Memory(database) as memory:
        memory.backup(tmp_path / "copy")
        memory.forget(memory.find(user_id="ana")[0].id, erase=True)
        memory.forget(user_id="bob", erase=True)
        after = memory.add("after the backup", user_id="eve").id
        places, settings = steps(memory), memory.settings
    places += [(restoring, "put_in_place"), (SqliteUpkeep, "compact")]
    for at in moments_of(database, few=[0, 3, MOST]):
        dead = killed(at, places, lambda: restore_store(tmp_path / "copy", settings))
        with Memory(database) as memory:
            assert left_of(memory, "ana") == [0, 1, 1]
            assert left_of(memory, "bob") == [0, 0, 0]
            restored = after not in {record.id for record in memory.find(user_id="eve")}
            assert memory.count(user_id="eve") == 2 - restored
            assert len(Erasures(memory.parts.store, memory.tenant).list()) == 2
        if not dead:
            assert restored
            break
    assert not dead

"""Search results in a shared cache: nothing crosses tenants, nothing erased comes back."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest
import redis

from remanence import Memory
from remanence.testing.patience import until
from support.services.valkey import Valkey

# Twice the cache's time-out, and far more than a search takes on a busy machine.
LONGEST_S = 2 * 0.25 + 10
SECRET = "what is the code of the safe?"


@pytest.fixture
def tenants(tmp_path: Path, valkey_url: str) -> Iterator[tuple[Memory, Memory]]:
    """Two tenants in one store and one cache, who keep a secret each."""
    file = tmp_path / "shared.db"
    with (
        Memory(file, tenant="acme", cache_url=valkey_url) as acme,
        Memory(file, tenant="bolt", cache_url=valkey_url) as bolt,
    ):
        acme.add("The code of the safe is 1111", user_id="u")
        bolt.add("The code of the safe is 2222", user_id="u")
        yield acme, bolt


def found(memory: Memory) -> list[str]:
    return [hit.memory.text for hit in memory.search(SECRET, user_id="u")]


def hits_of(memory: Memory) -> int:
    assert memory.parts.cache is not None
    return memory.parts.cache.stats().hits


def test_tenants_who_share_a_server_never_see_each_other(tenants: tuple[Memory, Memory]) -> None:
    acme, bolt = tenants
    for _ in range(2):
        assert found(acme) == ["The code of the safe is 1111"]
        assert found(bolt) == ["The code of the safe is 2222"]
    assert hits_of(acme) == hits_of(bolt) == 1


@pytest.mark.parametrize("forged", ["everything", "key", "partition"])
def test_a_value_planted_under_the_right_key_leaks_nothing(
    tenants: tuple[Memory, Memory], valkey_url: str, forged: str
) -> None:
    acme, bolt = tenants
    found(acme), found(bolt)
    with redis.Redis.from_url(valkey_url) as mallory:
        [own] = mallory.keys("*{acme}*")
        [other] = mallory.keys("*{bolt}*")
        value, theirs = orjson.loads(mallory.get(own)), orjson.loads(mallory.get(other))
        if forged in ("everything", "key"):
            value["hits"][0][1] = theirs["hits"][0][1]
        if forged in ("everything", "partition"):
            value["hits"][0][0] = theirs["hits"][0][0]
        mallory.set(own, orjson.dumps(value))
    assert found(acme) == ["The code of the safe is 1111"]
    assert hits_of(acme) == 1, "the planted value was read"


def test_what_is_erased_does_not_come_back_from_the_cache(
    tenants: tuple[Memory, Memory], valkey_url: str
) -> None:
    acme, _ = tenants
    acme.add("The cat is called Moss", user_id="u")
    [secret, _] = acme.search(SECRET, user_id="u")
    with redis.Redis.from_url(valkey_url) as mallory:
        [key] = mallory.keys("*")
        value = mallory.get(key)
        assert b"The code of the safe" not in value  # four digits may stand in any figure
        acme.forget(secret.memory.id, erase=True)
        assert found(acme) == ["The cat is called Moss"]
        for newer in mallory.keys("*"):  # as if the cache had not noticed
            old = orjson.loads(value) | {"key": newer.decode()}
            mallory.set(newer, orjson.dumps(old))
    assert found(acme) == ["The cat is called Moss"]


def test_searches_go_on_whatever_becomes_of_the_server(
    tmp_path: Path, private_valkey: Callable[..., Valkey]
) -> None:
    server = private_valkey(durable=False)
    with Memory(tmp_path / "memory.db", cache_url=server.url) as memory:
        memory.add("The code of the safe is 1111", user_id="u")
        right = found(memory)
        assert found(memory) == right
        os.kill(server.processes[0].pid, signal.SIGSTOP)
        try:
            start = time.monotonic()
            assert found(memory) == right
            assert time.monotonic() - start < LONGEST_S
            assert found(memory) == right
        finally:
            os.kill(server.processes[0].pid, signal.SIGCONT)
        server.kill()
        memory.add("The cat is called Moss", user_id="u")
        assert sorted(found(memory)) == ["The cat is called Moss", *right]
        server.restart()
        before = hits_of(memory)
        until(lambda: bool(found(memory)) and hits_of(memory) > before)
        assert sorted(found(memory)) == ["The cat is called Moss", *right]

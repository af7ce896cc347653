"""A memory that nobody closed gives everything back when it is dropped, and says so."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import ref

import psutil
import pytest

from remanence import AsyncMemory, Memory
from remanence.api.remote import AsyncRemoteMemory, RemoteMemory
from support.server_process import server_process

Open = Callable[..., Memory]


@pytest.fixture(params=["file", "server"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "server":
        url = request.getfixturevalue("postgres_url")
        return lambda **settings: Memory(url, **settings)
    return lambda **settings: Memory(tmp_path / "memory.db", **settings)


@pytest.fixture
def held() -> Iterator[Callable[[], tuple[int, set[str]]]]:
    """What the process holds: descriptors, and threads by name."""
    gc.collect()

    def now() -> tuple[int, set[str]]:
        return psutil.Process().num_fds(), {one.name for one in threading.enumerate()}

    return now


def use(memory: Memory) -> None:
    memory.add("Ana moved to Lisbon", user_id="u")
    assert memory.search("where does Ana live?", user_id="u")


def drop(memories: list[Any]) -> None:
    memories.clear()
    gc.collect()


@pytest.mark.parametrize("settings", [{}, {"background": True}, {"cache_url": "local"}])
def test_a_dropped_memory_is_closed(
    opened: Open, held: Callable[[], Any], settings: dict[str, Any]
) -> None:
    with opened() as first:  # what stays for the process, it has from here on
        use(first)
    del first
    before = held()
    memories = [opened(**settings)]
    use(memories[0])
    known = ref(memories[0].service)
    memories[0] = memories[0].for_tenant("other")
    gc.collect()
    assert known() is not None  # the other tenant's needs it
    with pytest.warns(ResourceWarning, match="dropped while open"):
        drop(memories)
    assert known() is None
    assert held() == before


def test_a_memory_that_was_closed_warns_of_nothing(opened: Open) -> None:
    memory = opened(background=True)
    use(memory)
    memory.close()
    del memory
    gc.collect()


def test_what_was_noted_is_written(tmp_path: Path) -> None:
    memories = [Memory(tmp_path / "memory.db")]
    id = memories[0].add("Ana moved to Lisbon").id
    memories[0].search("Lisbon")
    with pytest.warns(ResourceWarning):
        drop(memories)
    with Memory(tmp_path / "memory.db") as again:
        assert again.get(id).uses == 1


def test_an_async_memory_too(tmp_path: Path, held: Callable[[], Any]) -> None:
    use_once = Memory(tmp_path / "memory.db")
    use(use_once)
    use_once.close()
    del use_once
    before = held()

    async def use_and_drop() -> None:
        memory = AsyncMemory(tmp_path / "memory.db", background=True)
        await memory.add("Ana moved to Lisbon")
        await memory.search("Lisbon")

    with pytest.warns(ResourceWarning, match="dropped while open"):
        drop([asyncio.run(use_and_drop())])
    assert held() == before


def test_a_memory_on_a_server_hangs_up(tmp_path: Path, held: Callable[[], Any]) -> None:
    async def use_and_drop(url: str) -> None:
        await AsyncRemoteMemory(url).add("Ana moved to Lisbon")

    with server_process(tmp_path / "memory.db") as server:
        before = held()
        memories = [RemoteMemory(server.url)]
        memories[0].add("Ana moved to Lisbon")
        with pytest.warns(ResourceWarning, match="unclosed"):
            drop(memories)
        with pytest.warns(ResourceWarning, match="unclosed"):
            drop([asyncio.run(use_and_drop(server.url))])
        assert held() == before


def test_a_child_that_drops_it_leaves_it_to_the_parent(opened: Open) -> None:
    with opened() as memory:
        use(memory)
        child = os.fork()
        if child == 0:
            try:
                memory.service.__dict__["_dropped"]()  # as the collector would
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        use(memory)
        assert memory.count(user_id="u") == 2

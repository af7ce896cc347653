"""AsyncMemory is Memory, awaited: the same verbs, signatures and answers, off the event loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from remanence import AsyncMemory, Memory
from remanence.api.verb import AnyVerb, Async, Sync
from remanence.api.verbs.memory import Verbs
from remanence.api.verbs.table import VERBS
from remanence.errors import Closed, InvalidInput, NotFound
from remanence.testing.patience import HANG_S


@pytest.mark.parametrize("verb", VERBS, ids=lambda one: one.name)
def test_every_verb_has_its_signature_and_its_words_everywhere(verb: AnyVerb) -> None:
    async def later(verb: AnyVerb, args: tuple[Any, ...], named: dict[str, Any]) -> Any: ...

    there = Verbs[Async](call=later), Verbs[Sync](call=print), Verbs[Sync]()
    for face, awaited in zip(there, (True, False, False), strict=True):
        bound = verb.of(face)
        assert list(inspect.signature(bound).parameters) == list(verb.signature.parameters)
        assert bound.__doc__ == verb.declared.__doc__
        assert inspect.iscoroutinefunction(bound) == awaited


def test_the_same_calls_give_the_same_answers(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        record = memory.add("Ana moved to Lisbon", user_id="alice")
        expected = memory.search("where does Ana live?", user_id="alice", now=record.created_at)

    async def ask() -> None:
        async with AsyncMemory(tmp_path / "memory.db") as memory:
            assert (await memory.get(record.id)).text == record.text
            found = await memory.search(
                "where does Ana live?", user_id="alice", now=record.created_at
            )
            assert [(hit.memory.id, hit.score) for hit in found] == [
                (hit.memory.id, hit.score) for hit in expected
            ]
            assert found.understood == expected.understood
            with pytest.raises(InvalidInput):
                await memory.add("")
            with pytest.raises(NotFound):
                await memory.get("nonsense")

    asyncio.run(ask())


def test_layers_are_awaited_too(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncMemory(tmp_path / "memory.db") as memory:
            lines = [f"line {n}" for n in range(12)]
            await asyncio.gather(*(memory.blocks.append("human", line) for line in lines))
            block = await memory.blocks.get("human")
            assert sorted(block.value.splitlines()) == sorted(lines)
            session = await memory.sessions.create(data={"topic": "tea"})
            await memory.working.set("step", 2, session_id=session.id)
            assert await memory.working.get("step", session_id=session.id) == 2
        with pytest.raises(Closed):
            await memory.blocks.get("human")

    asyncio.run(work())


def test_many_calls_at_once(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncMemory(tmp_path / "memory.db") as memory:
            records = await asyncio.gather(*(memory.add(f"note {n}") for n in range(40)))
            assert len({record.id for record in records}) == 40
            found = await asyncio.gather(*(memory.search(f"note {n}", limit=1) for n in range(40)))
            assert [hits[0].memory.text for hits in found] == [f"note {n}" for n in range(40)]
            assert await memory.count() == 40

    asyncio.run(work())


def test_the_loop_runs_while_a_verb_waits(tmp_path: Path) -> None:
    """A write that another connection blocks does not block the loop."""

    async def work() -> None:
        async with AsyncMemory(tmp_path / "memory.db") as memory:
            await memory.add("first")
            release = threading.Event()
            held = threading.Event()
            blocker = asyncio.create_task(
                asyncio.to_thread(_hold, tmp_path / "memory.db", held, release)
            )
            while not held.is_set():
                await asyncio.sleep(0)
            waiting = asyncio.create_task(memory.add("second"))
            for _ in range(100):  # the loop turns, and reads are answered, while the write waits
                await asyncio.sleep(0)
            assert len(await memory.search("first")) == 1
            assert not waiting.done()
            release.set()
            assert (await waiting).text == "second"
            await blocker

    asyncio.run(work())


def _hold(path: Path, held: threading.Event, release: threading.Event) -> None:
    import apsw

    connection = apsw.Connection(str(path))
    connection.execute("BEGIN IMMEDIATE")
    held.set()
    release.wait(HANG_S)
    connection.execute("ROLLBACK")
    connection.close()


def test_arguments_of_the_constructor_are_memorys(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncMemory(tmp_path / "memory.db", tenant="b", max_memory_mb=16) as memory:
            assert memory.memory.tenant == "b"
            assert (await memory.stats()).budget_mb == 16

    asyncio.run(work())

"""The same memory for async code: every verb runs in a worker thread, with the same arguments."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from remanence.memory import Memory


def verbs() -> dict[str, Callable[..., Any]]:
    """The public verbs of `Memory`, by name."""
    return {
        name: verb
        for name, verb in inspect.getmembers(Memory, inspect.isfunction)
        if not name.startswith("_")
    }


def _awaitable(verb: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @functools.wraps(verb)
    async def call(self: AsyncMemory, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(verb, self.memory, *args, **kwargs)

    return call


class AsyncMemory:
    """`Memory` whose verbs are awaited; signatures are the same (see `aio.pyi`).

    SQLite, ONNX Runtime and NumPy release the interpreter's lock, so other tasks run meanwhile.
    """

    def __init__(self, database: str | Path | None = None, **settings: Any) -> None:
        self.memory = Memory(database, **settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.memory.close)


for _name, _verb in verbs().items():
    setattr(AsyncMemory, _name, _awaitable(_verb))

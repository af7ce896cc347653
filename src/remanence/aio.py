"""The same memory for async code: every verb runs in a worker thread, with the same arguments."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from remanence.memory import LAYERS, Memory


def verbs() -> dict[str, Callable[..., Any]]:
    """The public verbs of `Memory` by name; those of its layers as in `blocks.append`."""
    found = _verbs_of(Memory)
    for layer, kind in LAYERS.items():
        found |= {f"{layer}.{name}": verb for name, verb in _verbs_of(kind).items()}
    return found


def _verbs_of(kind: type) -> dict[str, Callable[..., Any]]:
    return {
        name: verb
        for name, verb in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def _awaitable(
    verb: Callable[..., Any], layer: str | None = None
) -> Callable[..., Coroutine[Any, Any, Any]]:
    @functools.wraps(verb)
    async def call(self: AsyncMemory | AsyncLayer, *args: Any, **kwargs: Any) -> Any:
        owner = self.memory if layer is None else getattr(self.memory, layer)
        return await asyncio.to_thread(verb, owner, *args, **kwargs)

    return call


class AsyncLayer:
    """A layer of the memory, such as its blocks, whose verbs are awaited."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory


class AsyncMemory:
    """`Memory` whose verbs are awaited; signatures are the same (see `aio.pyi`).

    SQLite, ONNX Runtime and NumPy release the interpreter's lock, so other tasks run meanwhile.
    """

    def __init__(self, database: str | Path | None = None, **settings: Any) -> None:
        self.memory = Memory(database, **settings)
        for layer, kind in SHELLS.items():
            setattr(self, layer, kind(self.memory))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.memory.close)


def _shell(layer: str, kind: type) -> type[AsyncLayer]:
    calls = {name: _awaitable(verb, layer) for name, verb in _verbs_of(kind).items()}
    return type(f"Async{kind.__name__}", (AsyncLayer,), {"__doc__": kind.__doc__, **calls})


for _name, _verb in _verbs_of(Memory).items():
    setattr(AsyncMemory, _name, _awaitable(_verb))
SHELLS = {layer: _shell(layer, kind) for layer, kind in LAYERS.items()}

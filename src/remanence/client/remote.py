"""The memory on a server: every verb of `Memory` that a server has, made from the table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from remanence.aio import verbs
from remanence.client.address import address_of
from remanence.client.call import Verb, call_of
from remanence.client.line import AsyncLine, Line
from remanence.client.patience import patience_of
from remanence.errors import InvalidInput
from remanence.memory import LAYERS
from remanence.operations.operation import Operation
from remanence.operations.routes import LOCAL
from remanence.operations.table import LEFT_OUT, operation

URL = "http://127.0.0.1:8005"
# Verbs that are another's by a shorter name.
SHORT: Mapping[str, str] = {"snapshot": "snapshots.take"}


class RemoteLayer:
    """A layer of a memory on a server, such as its blocks."""

    def __init__(self, line: Line) -> None:
        self._line = line


class AsyncRemoteLayer:
    """A layer of a memory on a server, whose verbs are awaited."""

    def __init__(self, line: AsyncLine) -> None:
        self._line = line


class RemoteMemory:
    """A memory on a server, with the verbs of `Memory` (see `remote.pyi`).

    What passes by itself (no connection, 429, 502, 503) is tried again `retries` times; writes
    carry a key, so that one that is repeated is done once. Threads may share it.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._line = Line(address_of(url, key, timeout_s), patience_of(retries), transport)
        for layer, kind in REMOTE.items():
            setattr(self, layer, kind(self._line))

    def __repr__(self) -> str:
        return f"RemoteMemory({self._line.address.url!r})"

    def close(self) -> None:
        """Hang up. The memory itself stays open where it is."""
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncRemoteMemory:
    """`RemoteMemory` whose verbs are awaited."""

    def __init__(
        self,
        url: str = URL,
        *,
        key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._line = AsyncLine(address_of(url, key, timeout_s), patience_of(retries), transport)
        for layer, kind in ASYNC_REMOTE.items():
            setattr(self, layer, kind(self._line))

    def __repr__(self) -> str:
        return f"AsyncRemoteMemory({self._line.address.url!r})"

    async def close(self) -> None:
        """Hang up. The memory itself stays open where it is."""
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def reachable() -> dict[str, Verb]:
    """The verbs that a memory on a server has, by name, as `Memory` has them."""
    return {name: verb for name, verb in verbs().items() if name not in LEFT_OUT or name in SHORT}


def _asking(operation: Operation, verb: Verb) -> Verb:
    @functools.wraps(verb)
    def ask(self: RemoteMemory | RemoteLayer, *args: Any, **named: Any) -> Any:
        _check_reachable(operation)
        return self._line.ask(call_of(operation, verb, args, named))

    return ask


def _awaiting(operation: Operation, verb: Verb) -> Verb:
    @functools.wraps(verb)
    async def ask(self: AsyncRemoteMemory | AsyncRemoteLayer, *args: Any, **named: Any) -> Any:
        _check_reachable(operation)
        return await self._line.ask(call_of(operation, verb, args, named))

    return ask


def _check_reachable(operation: Operation) -> None:
    if reason := LOCAL.get(operation.name):
        raise InvalidInput(f"{operation.name} works only where the memory is: {reason}.")


def _made(layer: str, make: Callable[[Operation, Verb], Verb]) -> Iterator[tuple[str, Verb]]:
    """The verbs of a layer, or of the memory itself, by their names in it."""
    for name, verb in reachable().items():
        of, _, own = name.rpartition(".")
        if of == layer:
            yield own, make(operation(SHORT.get(name, name)), verb)


def _layer(prefix: str, kind: type, parent: type, calls: Mapping[str, Verb]) -> type:
    return type(f"{prefix}{kind.__name__}", (parent,), {"__doc__": kind.__doc__, **calls})


for _owner, _make in ((RemoteMemory, _asking), (AsyncRemoteMemory, _awaiting)):
    for _name, _call in _made("", _make):
        setattr(_owner, _name, _call)
REMOTE = {
    layer: _layer("Remote", kind, RemoteLayer, dict(_made(layer, _asking)))
    for layer, kind in LAYERS.items()
}
ASYNC_REMOTE = {
    layer: _layer("AsyncRemote", kind, AsyncRemoteLayer, dict(_made(layer, _awaiting)))
    for layer, kind in LAYERS.items()
}

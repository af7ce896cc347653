"""A memory on a server: the verbs of `Memory`, asked for over HTTP."""

from __future__ import annotations

from typing import Any, Self

import httpx

from remanence.api.remote.call import call_of
from remanence.api.remote.line import AsyncLine, Line, address_of, patience_of
from remanence.api.verb import AnyVerb, Async, Sync
from remanence.api.verbs.memory import Verbs

__all__ = ["AsyncRemoteMemory", "RemoteMemory"]

URL = "http://127.0.0.1:8005"


class RemoteMemory(Verbs[Sync]):
    """A memory on a server, with the verbs of `Memory`.

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
        line = Line(address_of(url, key, timeout_s), patience_of(retries), transport)

        def call(verb: AnyVerb, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            return line.ask(call_of(verb, args, named))

        super().__init__(call=call)
        self._line = line

    def __repr__(self) -> str:
        return f"RemoteMemory({self._line.address.url!r})"

    def close(self) -> None:
        """Hang up. The memory itself stays open where it is."""
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class AsyncRemoteMemory(Verbs[Async]):
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
        line = AsyncLine(address_of(url, key, timeout_s), patience_of(retries), transport)

        async def call(verb: AnyVerb, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            return await line.ask(call_of(verb, args, named))

        super().__init__(call=call)
        self._line = line

    def __repr__(self) -> str:
        return f"AsyncRemoteMemory({self._line.address.url!r})"

    async def close(self) -> None:
        """Hang up. The memory itself stays open where it is."""
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

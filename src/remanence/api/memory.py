"""A memory in this process: its verbs, called or awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from remanence.api.verb import AnyVerb, Async, Sync
from remanence.api.verbs.memory import Verbs

if TYPE_CHECKING:
    from remanence.api.service import MemoryService
    from remanence.config.assembly import Parts
    from remanence.config.settings import Settings
    from remanence.model.clock import Clock


class Memory(Verbs[Sync]):
    """A long-term memory in one file (or in a server's database), behind one tenant's wall.

    >>> with Memory(":memory:") as memory:
    ...     _ = memory.add("Ana moved to Lisbon", user_id="alice")
    ...     memory.search("where does Ana live?", user_id="alice")[0].memory.text
    'Ana moved to Lisbon'
    """

    service: MemoryService

    def __init__(
        self,
        database: str | Path | None = None,
        *,
        tenant: str | None = None,
        config: str | Path | None = None,
        clock: Clock | None = None,
        ids: Callable[[], UUID] | None = None,
        **settings: Any,
    ) -> None:
        from remanence.api.service import MemoryService  # NumPy and all: where one is opened

        self._take(
            MemoryService(database, tenant=tenant, config=config, clock=clock, ids=ids, **settings)
        )

    def _take(self, service: MemoryService) -> Self:
        super().__init__(lambda: service)
        return self

    @classmethod
    def restore(
        cls,
        source: str | Path,
        database: str | Path,
        *,
        receipts: str | Path | None = None,
        **settings: Any,
    ) -> Self:
        """Put a backup in the place of a database, after checking that it is whole, and open it.

        What the database held is replaced; nobody else may have it open. What was erased from it
        since is not brought back. Where the database itself was lost, give `receipts`: a file of
        those of its erasures.
        """
        from remanence.api.service import MemoryService

        opened = MemoryService.restore(source, database, receipts=receipts, **settings)
        return cls.__new__(cls)._take(opened)

    def for_tenant(self, tenant: str) -> Self:
        """The same store behind another tenant's wall; index, model and caches are shared.

        It ends with the memory it came from; closing it alone leaves that one open.
        """
        return type(self).__new__(type(self))._take(self.service.for_tenant(tenant))

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self.service.settings

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return self.service.tenant

    @property
    def last_active(self) -> float:
        """When it was last used, by the monotonic clock."""
        return self.service.last_active

    @property
    def parts(self) -> Parts:
        """The working parts, for tools built on the memory; `Closed` after close()."""
        return self.service.parts

    def write_uses(self) -> None:
        """Write what was noted of uses; a store that cannot be written now loses no call by it."""
        self.service.write_uses()

    def close(self) -> None:
        """Finish what is queued and release everything; safe to call twice."""
        self.service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class AsyncMemory(Verbs[Async]):
    """`Memory` whose verbs are awaited: each runs in a thread, with the same arguments.

    SQLite, ONNX Runtime and NumPy release the interpreter's lock, so other tasks run meanwhile.
    """

    def __init__(self, database: str | Path | None = None, **settings: Any) -> None:
        self._take(Memory(database, **settings))

    def _take(self, memory: Memory) -> Self:
        async def call(verb: AnyVerb, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            return await asyncio.to_thread(verb.of(memory), *args, **named)

        super().__init__(call=call)
        self.memory = memory
        return self

    async def for_tenant(self, tenant: str) -> Self:
        """The same store behind another tenant's wall; it ends with the one it came from."""
        other = await asyncio.to_thread(self.memory.for_tenant, tenant)
        return type(self).__new__(type(self))._take(other)

    async def write_uses(self) -> None:
        """Write what was noted of uses; a store that cannot be written now loses no call by it."""
        await asyncio.to_thread(self.memory.write_uses)

    async def close(self) -> None:
        """Finish what is queued and release everything; safe to call twice."""
        await asyncio.to_thread(self.memory.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

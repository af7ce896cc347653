"""Ways to a memory: itself, or a client of a server that has it; both pass the same tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, cast

from remanence.api.memory import Memory
from remanence.api.remote import RemoteMemory
from remanence.model.clock import FixedClock
from remanence.model.ports.store import Store
from remanence.testing.serving import Served, serving

Reached: TypeAlias = Callable[[Memory], AbstractContextManager[Memory]]


@contextmanager
def from_afar(memory: Memory) -> Iterator[Memory]:
    """The memory as a client of a server has it."""
    with serving(memory) as served, RemoteMemory(served.url) as remote:
        yield _as_memory(remote)


@dataclass(frozen=True)
class Afar:
    """One server for many tests: each has a tenant of its own, and the clock from its start."""

    served: Served
    clock: FixedClock
    lines: ExitStack

    @property
    def store(self) -> Store:
        """Where the server keeps it all."""
        return self.served.memory.parts.store

    def clock_at(self, moment: datetime) -> FixedClock:
        """The clock, put to this moment."""
        self.clock.at = moment
        return self.clock

    def of(self, tenant: str) -> Memory:
        """A tenant's memory as a client has it."""
        key = self.served.key(tenant=tenant, name=tenant, operator=True)
        return _as_memory(self.lines.enter_context(RemoteMemory(self.served.url, key=key)))


@contextmanager
def afar(memory: Memory, clock: FixedClock) -> Iterator[Afar]:
    """A server with this memory, for clients of many tenants."""
    with serving(memory) as served, ExitStack() as lines:
        yield Afar(served, clock, lines)


def _as_memory(remote: RemoteMemory) -> Memory:
    """It has the verbs of one, and the tests that it is for use no more than those."""
    return cast("Any", remote)  # type: ignore[no-any-return]

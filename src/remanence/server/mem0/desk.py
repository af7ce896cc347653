"""Where mem0's calls become operations, for one caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remanence.clock import Clock
from remanence.memory import Memory
from remanence.operations.table import operation
from remanence.server.access.caller import Caller, authorise
from remanence.server.door import Door


@dataclass(frozen=True, slots=True)
class Desk:
    """One caller at the door, and the time."""

    door: Door
    caller: Caller
    clock: Clock

    def do(self, name: str, /, **given: Any) -> Any:
        """The answer of an operation."""
        wanted = operation(name)
        return self.door.perform(self.caller, wanted, wanted.request(**given))

    def reading(self) -> Memory:
        """The caller's memory, for reads that are no operation."""
        authorise(self.caller, operation("find"))
        return self.door.memory(self.caller)

    def now(self) -> datetime:
        """The present moment."""
        return self.clock.now()


Body = Mapping[str, Any]

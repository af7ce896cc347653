"""A memory that one write touches: as it was, and as it is by now."""

from __future__ import annotations

from dataclasses import dataclass, field

from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord
from remanence.model.write import Pieces
from remanence.store.rows import Row


@dataclass(slots=True)
class Held:
    """`before` is None if the batch inserts it, `now` is None once it is removed."""

    key: int
    partition: int
    before: MemoryRecord | None
    now: MemoryRecord | None
    pieces: dict[Fingerprint, Pieces] = field(default_factory=dict)
    spoken_anew: bool = False
    history: list[Row] = field(default_factory=list)

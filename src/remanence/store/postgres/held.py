"""A memory that one write touches: as it was, and as it is by now."""

from __future__ import annotations

from dataclasses import dataclass, field

from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord
from remanence.model.write import Pieces
from remanence.store.rows import Row


@dataclass(slots=True)
class Held:
    """`before` is None if the batch inserts it, `now` is None once it is removed.

    `derived` is what the row keeps of the text that it has `before`.
    """

    key: int
    partition: int
    before: MemoryRecord | None
    now: MemoryRecord | None
    pieces: dict[Fingerprint, Pieces] = field(default_factory=dict)
    spoken_anew: bool = False
    history: list[Row] = field(default_factory=list)
    derived: Row = ()

    @property
    def told_anew(self) -> bool:
        """Whether what the row keeps of its text must be found again."""
        was, now = self.before, self.now
        if was is None or now is None:
            return True
        return (was.text, was.happened_at) != (now.text, now.happened_at)

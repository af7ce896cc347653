"""Archiving what its owner forgets, and what that means for what was merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remanence.clock import Clock
from remanence.model.memory import MemoryRecord, State
from remanence.ports.store import Store
from remanence.remember.unmerging import bring_back, part
from remanence.remember.writer import Writer

VERB = "forgot"


def put_away(
    store: Store,
    writer: Writer,
    clock: Clock,
    records: Sequence[MemoryRecord],
    *,
    alone: bool,
    actor: str | None = None,
    reason: str | None = None,
) -> list[MemoryRecord]:
    """Archive records with what was made of them; what came back, which is none unless `alone`.

    With `alone`, what was merged into them comes back unless it is among them: first, so that
    nothing is hidden by what is cut off, and again after, if it was merged meanwhile.
    """
    by: dict[str, Any] = {"verb": VERB, "actor": actor, "reason": reason}
    back = bring_back(store, clock, records) if alone else []
    resting = [record for record in records if record.state == State.ARCHIVED]
    standing = [record for record in records if record.state != State.ARCHIVED]
    writer.change_all(standing, {"state": State.ARCHIVED}, **by)
    part(store, clock, resting, **by)
    writer.outdate(resting)
    return [*back, *(bring_back(store, clock, records) if alone else [])]

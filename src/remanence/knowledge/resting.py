"""Which claims rested at an earlier moment: the histories of their memories tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from remanence.errors import NotFound
from remanence.model.knowledge import Claim
from remanence.model.memory import MemoryRecord, State, as_known
from remanence.ports.store import Archive

PAGE = 1_000


def as_they_rested(
    store: Archive, tenant: str, claims: Sequence[Claim], known_at: datetime
) -> list[Claim]:
    """The claims, resting if their memories took no part in recall then.

    A claim keeps only when it began to rest last; its memory may have come and gone before.
    """
    idle = {
        record.id: not _counted(store, record, known_at)
        for record in _memories(store, tenant, {one.memory for one in claims if one.memory})
        if record.updated_at > known_at
    }
    return [
        replace(one, rested_at=known_at if idle[one.memory] else None)
        if one.memory in idle
        else one
        for one in claims
    ]


def then_of(store: Archive, record: MemoryRecord, moment: datetime) -> MemoryRecord | None:
    """The memory as it was; None if it was not there yet, or is gone by now."""
    if record.updated_at <= moment:
        return record
    with suppress(NotFound):
        return as_known(record, store.history(record.tenant, record.id), moment)
    return None


def _counted(store: Archive, record: MemoryRecord, moment: datetime) -> bool:
    """Whether its claims were evidence; what was merged into another memory stays so."""
    then = then_of(store, record, moment)
    if then is None or then.state == State.ACTIVE:
        return then is not None
    return then.state == State.ARCHIVED and then.superseded_by is not None


def _memories(store: Archive, tenant: str, ids: Iterable[str]) -> Iterable[MemoryRecord]:
    wanted = sorted(ids)
    for at in range(0, len(wanted), PAGE):
        yield from store.get(tenant, wanted[at : at + PAGE])

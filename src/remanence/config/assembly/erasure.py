"""Erasure wired to the parts of a memory: its index, its caches, the file beside its database."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

from remanence.config import Settings
from remanence.config.assembly.indexes import FOLLOWERS
from remanence.config.assembly.parts import Parts
from remanence.config.assembly.stores import MEMORY, database_path, is_server, restore_into
from remanence.errors import StoreError
from remanence.layers.erasure.eraser import Eraser, Unlearn, erase_copies, nothing_unlearnt
from remanence.layers.erasure.heritage import Heritage
from remanence.layers.erasure.receipts import (
    SUFFIX,
    Tombstones,
    is_known,
    is_signed,
    read_receipts,
)
from remanence.layers.sessions import Sessions
from remanence.model.clock import Clock, SystemClock
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Store

_log = logging.getLogger(__name__)


def tombstones_of(settings: Settings) -> Tombstones | None:
    """The file beside a database that is a file."""
    if is_server(settings.database_url):
        return None
    path = database_path(settings.database_url)
    if path == MEMORY:
        return None
    from remanence.config.assembly.encryption import tombstones_at

    return tombstones_at(Path(f"{path}{SUFFIX}"), settings.store_key)


def make_eraser(
    parts: Parts,
    settings: Settings,
    sessions: Sessions,
    tenant: str,
    clock: Clock,
    new_id: Callable[[], UUID],
    unlearn: Unlearn = nothing_unlearnt,
) -> Eraser:
    """What erases memories of a tenant from all parts."""
    return Eraser(
        parts.store,
        sessions,
        tenant,
        clock,
        new_id,
        clean=parts.clean,
        unlearn=unlearn,
        tombstones=tombstones_of(settings),
        remains=list(_remains(parts, settings)),
    )


def _remains(parts: Parts, settings: Settings) -> Iterator[str]:
    """Where a trace may stay outside the store, for a person to read."""
    if parts.sessions is not None:
        yield "The cache: names of erased sessions, for 5 seconds; a server that was down, longer."
    if parts.index_kind in FOLLOWERS:
        yield (
            f"The files of {parts.index_kind}: bytes of removed vectors (no texts), until it "
            "rewrites those files."
        )
    for what, url in (("embedder", settings.embedder_url), ("language model", settings.llm_url)):
        if url:
            yield f"The {what} at {urlsplit(url).hostname}: what it keeps of texts it was sent."
    yield "Logs and traces that were sent elsewhere: names and ids of calls, for as long as kept."


def unlearnt(store: Store, tenant: str, ids: Sequence[str]) -> Mapping[str, int]:
    """Remove adapters that learned from these memories from a store; how many."""
    from remanence.consolidation.learning.trainer import Versions

    gone = Versions(store.documents, tenant).unlearn(ids, SystemClock().now())
    return {"adapters": sum(gone.values())}


def settle_erasures(
    parts: Parts, settings: Settings, tenant: str, clock: Clock, new_id: Callable[[], UUID]
) -> None:
    """Complete what was cut off, and erase anew what an older file brought back.

    A store that cannot be read or written now opens all the same; it is settled another time.
    """
    store = parts.store
    sessions = Sessions(
        store,
        tenant,
        clock,
        settings.session_ttl_s,
        parts.sessions,
        _unread,
        new_id=new_id,
        erased=lambda address: erase_copies(store.documents, tenant, [address]),
    )
    try:
        make_eraser(
            parts, settings, sessions, tenant, clock, new_id, partial(unlearnt, store, tenant)
        ).settle()
        follow_tombstones(store, settings, clock)
    except StoreError as error:
        _log.warning("Erasures that were cut off are still to be completed: %s", error)


def follow_tombstones(store: Store, settings: Settings, clock: Clock) -> int:
    """Erase what came back with an older file that was put in the database's place; how many."""
    tombstones = tombstones_of(settings)
    last = None if tombstones is None else tombstones.last()
    if tombstones is None or last is None or is_known(store, last):
        return 0
    heritage = Heritage(clock, unlearn=unlearnt)
    if heritage.inherit(store, [one for one in tombstones.read() if is_signed(store, one)]):
        store.upkeep.compact()
    return heritage.erased


def restore_store(source: Path, settings: Settings, receipts: Path | None = None) -> int:
    """Put a backup in the place of the database that the settings name.

    What was erased since, as that database and the file beside it know, and as receipts that were
    exported tell, is not brought back; how many memories that were.
    """
    given = [] if receipts is None else read_receipts(Path(receipts))
    heritage = Heritage(SystemClock(), tombstones_of(settings), given, unlearnt)
    restore_into(source, settings, heritage)
    return heritage.erased


def _unread(session_id: str, *, user_id: str | None = None, limit: int = 100) -> list[MemoryRecord]:
    """The messages of a session, where none are read."""
    return []

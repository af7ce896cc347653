"""Counts and sizes of a SQLite store."""

from __future__ import annotations

import os

import apsw

from remanence.model.embedding import Fingerprint
from remanence.model.stats import StoreStats
from remanence.model.tier import TierUse
from remanence.store.rows import KINDS, STATES
from remanence.store.sqlite.counting import use_of
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.placing import embedder_id
from remanence.store.sqlite.statements import fetch_all, fetch_value, run
from remanence.store.tiering import tier_uses

# Sizes of single tables are read from every page; past this, only those of the files are given.
_MOST_BYTES_READ = 256 << 20


def stats(database: Database, tenant: str, fingerprint: Fingerprint | None) -> StoreStats:
    """Counts of one tenant, sizes of the whole store.

    `by_day` has the last 30 days on which something was stored; `pending` are those that the given
    embedder, or else the newest one, has not seen.
    """
    asked = {"tenant": tenant}
    with database.reading() as connection:
        by_kind = {str(KINDS[code]): n for code, n in run(connection, "count_by_kind", asked)}
        by_state = fetch_all(connection, "count_by_state", asked)
        by_day = fetch_all(connection, "count_by_day", asked)
        return StoreStats(
            memories=sum(by_kind.values()),
            by_kind=by_kind,
            by_state={str(STATES[code]): n for code, n in by_state},
            by_day=dict(reversed(by_day)),
            documents=dict(fetch_all(connection, "count_documents", asked)),
            tiers=_tiers(connection, database, tenant),
            associations=fetch_value(connection, "count_links", asked),
            entities=fetch_value(connection, "count_entities", asked),
            claims=fetch_value(connection, "count_claims", asked),
            pending=_pending(connection, tenant, fingerprint, sum(by_kind.values())),
            bytes_used=use_of(connection, tenant).bytes,
            bytes_on_disk=sum(_files(database).values()),
            bytes_by_part=_bytes_by_part(connection, database),
        )


def _pending(
    connection: apsw.Connection, tenant: str, fingerprint: Fingerprint | None, memories: int
) -> int:
    if fingerprint is None:
        embedder = fetch_value(connection, "newest_embedder")
    else:
        embedder = embedder_id(connection, fingerprint)
    if embedder is None:
        return memories
    asked = {"tenant": tenant, "embedder": embedder}
    return int(fetch_value(connection, "count_pending", asked))


def _tiers(connection: apsw.Connection, database: Database, tenant: str) -> tuple[TierUse, ...]:
    large = _files(database).get("database", 0) > _MOST_BYTES_READ
    return () if large else tuple(tiers(connection, tenant))


def tiers(connection: apsw.Connection, tenant: str) -> list[TierUse]:
    """What each tier of a tenant takes."""
    asked = {"tenant": tenant}
    texts = fetch_all(connection, "tier_texts", asked)
    return tier_uses(texts, fetch_all(connection, "tier_pieces", asked))


def _bytes_by_part(connection: apsw.Connection, database: Database) -> dict[str, int]:
    files = _files(database)
    if files.get("database", 0) > _MOST_BYTES_READ:
        return files
    return dict(fetch_all(connection, "bytes_by_part"))


def _files(database: Database) -> dict[str, int]:
    if database.connections.in_memory:
        return {}
    names = {"database": "", "log": "-wal", "shared memory": "-shm"}
    paths = {part: database.path + suffix for part, suffix in names.items()}
    return {part: os.path.getsize(path) for part, path in paths.items() if os.path.exists(path)}

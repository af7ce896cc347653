"""Counts and sizes of a PostgreSQL store."""

from __future__ import annotations

from remanence.model.embedding import Fingerprint
from remanence.model.stats import StoreStats
from remanence.model.tier import TierUse
from remanence.store.postgres.counting import use_of
from remanence.store.postgres.database import Database
from remanence.store.postgres.session import Session
from remanence.store.rows import KINDS, STATES
from remanence.store.tiering import tier_uses

_MOST_BYTES_READ = 256 << 20


def tiers(session: Session) -> list[TierUse]:
    """What each tier of the tenant takes."""
    return tier_uses(session.rows("tier_texts"), session.rows("tier_pieces"))


def stats(database: Database, tenant: str, fingerprint: Fingerprint | None) -> StoreStats:
    """Counts of one tenant, sizes of the whole store; as the SQLite store counts."""
    tables = database.read_names(lambda session: session.rows("bytes_by_table"))
    sizes: dict[str, int] = dict(tables)
    large = sum(sizes.values()) > _MOST_BYTES_READ
    counted = database.read(tenant, lambda session: _counted(session, fingerprint, large))
    found = counted or StoreStats(memories=0)
    return StoreStats(
        memories=found.memories,
        by_kind=found.by_kind,
        by_state=found.by_state,
        by_day=found.by_day,
        documents=found.documents,
        tiers=found.tiers,
        associations=found.associations,
        entities=found.entities,
        claims=found.claims,
        pending=found.pending,
        bytes_used=found.bytes_used,
        bytes_on_disk=sum(sizes.values()),
        bytes_by_part=sizes,
    )


def _counted(session: Session, fingerprint: Fingerprint | None, large: bool) -> StoreStats:
    by_kind = {str(KINDS[code]): count for code, count in session.rows("count_by_kind")}
    by_state = {str(STATES[code]): count for code, count in session.rows("count_by_state")}
    return StoreStats(
        memories=sum(by_kind.values()),
        by_kind=by_kind,
        by_state=by_state,
        by_day=dict(reversed(session.rows("count_by_day"))),
        documents=dict(session.rows("count_documents")),
        tiers=() if large else tuple(tiers(session)),
        associations=session.value("count_links"),
        entities=session.value("count_entities"),
        claims=session.value("count_claims"),
        pending=_pending(session, fingerprint, sum(by_kind.values())),
        bytes_used=use_of(session).bytes,
    )


def _pending(session: Session, fingerprint: Fingerprint | None, memories: int) -> int:
    if fingerprint is None:
        embedder = session.value("newest_employed")
    else:
        embedder = session.value("employed_embedder", fingerprint=str(fingerprint))
    return memories if embedder is None else int(session.value("count_pending", embedder=embedder))

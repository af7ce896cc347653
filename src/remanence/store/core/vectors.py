"""Stored pieces, by the embedder that made them: who has some, and who waits for them."""

from __future__ import annotations

from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord
from remanence.store.core.database import D, StorePart
from remanence.store.core.session import Session


class StoredVectors(StorePart[D]):
    """What the Vectors port asks of embedders; pieces are a dialect's own."""

    def embedders(self) -> list[Fingerprint]:
        """Every embedder that the store has met and not forgotten; oldest first."""
        rows = self._database.read_names(lambda session: session.rows("embedders"))
        return [Fingerprint(*row) for row in rows]

    def unembedded(
        self, tenant: str, fingerprint: Fingerprint, limit: int
    ) -> list[tuple[int, MemoryRecord]]:
        """The tenant's memories that have no pieces from that embedder yet, oldest first."""

        def work(session: Session) -> list[tuple[int, MemoryRecord]]:
            embedder = employed(session, fingerprint)
            if embedder is None:
                rows = session.rows("scan", after=0, most=limit)
            else:
                rows = session.rows("unembedded", embedder=embedder, most=limit)
            return [(row[0], self._database.record(session, row)) for row in rows]

        return self._database.read(tenant, work) or []

    def count_unembedded(self, tenant: str, fingerprint: Fingerprint) -> int:
        """How many those are."""
        return self._database.read(tenant, lambda one: count_unembedded(one, fingerprint)) or 0


def employed(session: Session, fingerprint: Fingerprint) -> int | None:
    """The number of an embedder that the tenant's memories wait for."""
    found: int | None = session.value("employed_embedder", fingerprint=str(fingerprint))
    return found


def count_unembedded(session: Session, fingerprint: Fingerprint) -> int:
    """How many memories of the tenant have no pieces of that embedder."""
    embedder = employed(session, fingerprint)
    if embedder is None:
        return int(session.value("count_of_tenant"))
    return int(session.value("count_pending", embedder=embedder))

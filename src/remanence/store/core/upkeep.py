"""Care of a whole store, as far as it needs no dialect: steps that are told of, counts, names."""

from __future__ import annotations

from remanence.model.clock import Clock
from remanence.model.embedding import Fingerprint
from remanence.model.progress import Progress
from remanence.model.stats import StoreStats
from remanence.store.core.archive import signature
from remanence.store.core.database import D, Session, StorePart, use_of
from remanence.store.core.recall import employed
from remanence.store.core.tiers import StoredDictionaries, uses_of
from remanence.store.rows import KINDS, STATES

MOST_BYTES_READ = 256 << 20  # past this, what is read from every row or page is left out


class Steps:
    """Tells of every transaction; how many there will be is not known."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0

    def one(self) -> None:
        """Another one is done."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, 0)


def counted(session: Session, fingerprint: Fingerprint | None, *, large: bool) -> StoreStats:
    """Counts of the tenant, without sizes of the store; a `large` one's tiers are left out.

    `by_day` has the last 30 days on which something was stored; `pending` are those that the given
    embedder, or else the newest one, has not seen.
    """
    by_kind = {str(KINDS[code]): count for code, count in session.rows("count_by_kind")}
    by_state = {str(STATES[code]): count for code, count in session.rows("count_by_state")}
    memories = sum(by_kind.values())
    return StoreStats(
        memories=memories,
        by_kind=by_kind,
        by_state=by_state,
        by_day=dict(reversed(session.rows("count_by_day"))),
        documents=dict(session.rows("count_documents")),
        tiers=() if large else tuple(uses_of(session)),
        associations=session.value("count_links"),
        entities=session.value("count_entities"),
        claims=session.value("count_claims"),
        pending=_pending(session, fingerprint, memories),
        bytes_used=use_of(session).bytes,
    )


def _pending(session: Session, fingerprint: Fingerprint | None, memories: int) -> int:
    if fingerprint is None:
        embedder = session.value("newest_employed")
    else:
        embedder = employed(session, fingerprint)
    return memories if embedder is None else int(session.value("count_pending", embedder=embedder))


class StoredUpkeep(StorePart[D]):
    """What the Upkeep port asks of a store's facts and names."""

    def __init__(self, database: D, dictionaries: StoredDictionaries[D], clock: Clock) -> None:
        super().__init__(database)
        self._dictionaries = dictionaries
        self._clock = clock

    @property
    def identity(self) -> str:
        """A name that is unique to this store and changes when it is restored."""
        return self._database.identity

    def sign(self, data: bytes) -> bytes:
        """A signature that only this store, and a store restored from its backups, can make."""
        return signature(self._database.digest_key, data)

    def tenants(self) -> list[str]:
        """Every tenant that ever wrote."""
        return [name for (name,) in self._database.read_names(lambda one: one.rows("tenants"))]

    def _renew_dictionaries(self) -> None:
        for tenant in self.tenants():
            self._dictionaries.renew(tenant)

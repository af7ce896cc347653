"""Doctor: every part of the database checked against the rows, and mended where those say how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from remanence.model.embedding import Fingerprint, restored
from remanence.model.stats import Finding
from remanence.store.coarse import opened
from remanence.store.postgres.arrays import halfvecs, int8s
from remanence.store.postgres.database import Database
from remanence.store.postgres.dictionaries import damaged_dictionaries
from remanence.store.postgres.digests import damaged_rows, quarantine
from remanence.store.postgres.document_digests import (
    damaged_documents,
    damaged_editions,
    mend_documents,
    remove_editions,
)
from remanence.store.postgres.feed import announce
from remanence.store.postgres.indexes import build_missing, graphs
from remanence.store.postgres.knowledge_digests import (
    damaged_claims,
    damaged_entities,
    mend_entities,
    remove_claims,
)
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.placing import writers_lock
from remanence.store.postgres.session import NOBODY, Session
from remanence.store.postgres.vectors import count_unembedded
from remanence.store.postgres.wording import (
    label_again,
    word_again,
    words_differ,
    wrong_labels,
)
from remanence.store.rows import Row, spelled_id
from remanence.store.shelves import named

Look = Callable[[Session], int]
Mend = Callable[[Session], None]

_NAMED = 5
_LETTERS = 60
_CHUNK = 1000
_COUNTED = {
    "stray pieces": ("stray_pieces", ("delete_stray_pieces",)),
    "size of pieces": ("misshapen_pieces", ("await_misshapen", "delete_misshapen")),
    "embedding queue": ("wrong_waits", ("delete_wrong_waits",)),
    "memories outside the embedding queue": ("missing_waits", ("insert_missing_waits",)),
    "stray history, uses, feedback and links": (
        "orphan_rows",
        (
            "delete_orphan_history",
            "delete_orphan_uses",
            "delete_orphan_feedback",
            "delete_orphan_links",
        ),
    ),
    "stray editions": ("stray_editions", ("delete_stray_editions",)),
    "stray claims": ("stray_claims", ("delete_stray_claims",)),
    "stray mentions": ("stray_mentions", ("delete_stray_mentions",)),
    "resting claims": ("wrong_rests", ("mend_wrong_rests",)),
    "memories counted": ("miscounted", ("recount_memories",)),
}


class Doctor:
    """One examination; each check of each tenant is a transaction of its own.

    It has a connection that may take its time. A tenant's writers wait while it is mended.
    """

    def __init__(
        self, database: Database, connection: PatientConnection, repair: bool, now: datetime
    ) -> None:
        self._database = database
        self._connection = connection
        self._repair = repair
        self._now = now
        self._tenants = [id for (id,) in Session(connection, NOBODY).rows("tenant_numbers")]
        self._names: list[str] = []

    def examine(self, fingerprint: Fingerprint | None) -> list[Finding]:
        """All that was looked at, problems or not."""
        checks: list[tuple[str, Look, Mend]] = [
            ("text index", self._reworded, self._word_again),
            ("labels", wrong_labels, label_again),
            ("editions", self._damaged_editions, self._remove_editions),
            ("claims", self._damaged_claims, self._remove_claims),
            *[(name, _looker(look), _mender(mend)) for name, (look, mend) in _COUNTED.items()],
            ("vectors", _looker("wrong_vectors"), _mend_vectors),
            ("change feed", _looker("count_unannounced"), _mend_feed),
        ]
        found = [self._walls(), self._indexes(), self._dictionaries(), self._digests()]
        found += [self._documents(), self._entities()]
        found += [self._check(*check) for check in checks]
        return found if fingerprint is None else [*found, self._embeddings(fingerprint)]

    def _check(self, name: str, look: Look, mend: Mend) -> Finding:
        self._names = []
        problems = sum(self._of_tenant(tenant, look, mend) for tenant in self._tenants)
        repaired = problems if self._repair else 0
        return _finding(name, problems, repaired, ", ".join(self._names[:_NAMED]))

    def _of_tenant(self, tenant: int, look: Look, mend: Mend) -> int:
        with self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            problems = int(look(Session(self._connection, tenant)))
        return self._mended(tenant, look, mend) if problems and self._repair else problems

    def _mended(self, tenant: int, look: Look, mend: Mend) -> int:
        self._names = []
        with self._connection.transaction():
            session = Session(self._connection, tenant)
            session.run("lock_writers", own=writers_lock(tenant))
            problems = int(look(session))
            if problems:
                mend(session)
        return problems

    def _walls(self) -> Finding:
        nobody = Session(self._connection, NOBODY)
        names = [name for (name,) in nobody.rows("unwalled")]
        if nobody.value("walls_off"):
            names.insert(0, "the role is not bound by them: ALTER ROLE … NOSUPERUSER NOBYPASSRLS")
        return _finding("walls between tenants", len(names), detail=", ".join(names[:_NAMED]))

    def _indexes(self) -> Finding:
        broken = [graph.name for graph, whole in graphs(self._connection) if not whole]
        repaired = build_missing(self._connection) if broken and self._repair else 0
        return _finding("vector indexes", len(broken), repaired, ", ".join(broken[:_NAMED]))

    def _dictionaries(self) -> Finding:
        found = self._check("dictionaries", self._damaged_dictionaries, _mend_dictionaries)
        return self._as_far_as_mended(found, lambda _, session: damaged_dictionaries(session))

    def _digests(self) -> Finding:
        found = self._check("digests", self._damaged, self._quarantine)
        return self._as_far_as_mended(found, damaged_rows)

    def _documents(self) -> Finding:
        found = self._check("documents", self._damaged_documents, self._mend_documents)
        return self._as_far_as_mended(found, damaged_documents)

    def _entities(self) -> Finding:
        found = self._check("entities", self._damaged_entities, self._mend_entities)
        return self._as_far_as_mended(found, damaged_entities)

    def _as_far_as_mended(
        self, found: Finding, damaged: Callable[[Database, Session], Sequence[Row]]
    ) -> Finding:
        """The finding without those that nothing could mend."""
        if not found.repaired:
            return found
        left = 0
        for tenant in self._tenants:
            with self._connection.transaction():
                left += len(damaged(self._database, Session(self._connection, tenant)))
        return replace(found, repaired=max(found.problems - left, 0))

    def _damaged_dictionaries(self, session: Session) -> int:
        found = damaged_dictionaries(session)
        self._names += [str(number) for number, _ in found]
        return len(found)

    def _damaged_documents(self, session: Session) -> int:
        rows = damaged_documents(self._database, session)
        self._names += [named(row[1:6]) for row in rows]
        return len(rows)

    def _mend_documents(self, session: Session) -> None:
        mend_documents(self._database, session)

    def _damaged_editions(self, session: Session) -> int:
        rows = damaged_editions(self._database, session)
        self._names += [named(document[1:6]) for _, document in rows]
        return len(rows)

    def _remove_editions(self, session: Session) -> None:
        remove_editions(self._database, session)

    def _damaged_entities(self, session: Session) -> int:
        rows = damaged_entities(self._database, session)
        self._names += [str(row[3])[:_LETTERS] for row in rows]
        return len(rows)

    def _mend_entities(self, session: Session) -> None:
        mend_entities(self._database, session)

    def _damaged_claims(self, session: Session) -> int:
        rows = damaged_claims(self._database, session)
        self._names += [str(row[8])[:_LETTERS] for row in rows]
        return len(rows)

    def _remove_claims(self, session: Session) -> None:
        remove_claims(self._database, session)

    def _embeddings(self, fingerprint: Fingerprint) -> Finding:
        pending = 0
        for tenant in self._tenants:
            with self._connection.transaction():
                pending += count_unembedded(Session(self._connection, tenant), fingerprint)
        return _finding("embeddings", 0, detail=f"{pending} pending")

    def _reworded(self, session: Session) -> int:
        return int(words_differ(session, self._database.words))

    def _word_again(self, session: Session) -> None:
        word_again(session, self._database.words)

    def _damaged(self, session: Session) -> int:
        rows = damaged_rows(self._database, session)
        self._names += [spelled_id(row[2]) for row in rows]
        return len(rows)

    def _quarantine(self, session: Session) -> None:
        for row in damaged_rows(self._database, session):
            quarantine(self._database, session, row[0], self._now)


def _mend_dictionaries(session: Session) -> None:
    for number, body in damaged_dictionaries(session):
        if body is not None:
            session.run("mend_dictionary", id=number, body=body)


def _looker(name: str) -> Look:
    return lambda session: int(session.value(name))


def _mender(names: tuple[str, ...]) -> Mend:
    def mend(session: Session) -> None:
        for name in names:
            session.run(name)

    return mend


def _mend_feed(session: Session) -> None:
    session.run("move_lagging")
    missing = [(partition, key) for partition, key in session.rows("unannounced")]
    announce(session, missing)


def _mend_vectors(session: Session) -> None:
    session.run("delete_stray_vectors")
    while rows := session.rows("pieces_without_vector", most=_CHUNK):
        for size in {row[5] for row in rows}:
            alike = [row for row in rows if row[5] == size]
            places = np.array([row[:4] for row in alike], np.int64)
            vectors = opened([row[4] for row in alike], size)
            partitions, embedders, keys, parts = (int8s(column) for column in places.T)
            session.run(
                "insert_vectors",
                partitions=partitions,
                embedders=embedders,
                keys=keys,
                parts=parts,
                embeddings=halfvecs(restored(vectors)),
            )


def _finding(check: str, problems: int, repaired: int = 0, detail: str = "") -> Finding:
    return Finding(check=check, problems=problems, repaired=repaired, detail=detail)

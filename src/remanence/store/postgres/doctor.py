"""Doctor: every part of the database checked against the rows, and mended where those say how."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial

from remanence.model.embedding import Fingerprint, restored
from remanence.model.stats import Finding
from remanence.store.coarse import opened
from remanence.store.core.doctor import COUNTS, NAMED, Check, Count, counting, finding
from remanence.store.core.doctor import Doctor as Examination
from remanence.store.core.vectors import count_unembedded
from remanence.store.postgres.arrays import arrays, halfvecs
from remanence.store.postgres.database import Database
from remanence.store.postgres.digests import PostgresGuard
from remanence.store.postgres.indexes import build_missing, graphs
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.schema import only_one
from remanence.store.postgres.session import NOBODY, Session, announce
from remanence.store.postgres.vectors import PLACES
from remanence.store.postgres.wording import label_again, word_again, words_differ, wrong_labels

_CHUNK = 1000


class Doctor(Examination[int]):
    """One examination; each check of each tenant is a transaction of its own.

    It has a connection that may take its time. A tenant's writers wait while it is mended.
    """

    def __init__(
        self, database: Database, connection: PatientConnection, repair: bool, now: datetime
    ) -> None:
        super().__init__(PostgresGuard(database), repair, now)
        self._words = database.words
        self._connection = connection
        self._places = [id for (id,) in Session(connection, NOBODY).rows("tenant_numbers")]

    def examine(self, fingerprint: Fingerprint | None) -> list[Finding]:
        """All that was looked at, problems or not."""
        found = [self._walls(), self._indexes(), *map(self._run, self._checks())]
        return found if fingerprint is None else [*found, self._embeddings(fingerprint)]

    def _checks(self) -> list[Check | Count]:
        differ = partial(words_differ, words=self._words)
        again = partial(word_again, words=self._words)
        words = Count("text index", differ, again), Count("labels", wrong_labels, label_again)
        return [*self._of_memories(), *words, *self._of_others(), *_COUNTS]

    @contextmanager
    def _looking(self, place: int) -> Iterator[Session]:
        with self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield Session(self._connection, place)

    @contextmanager
    def _mending(self, place: int) -> Iterator[Session]:
        with self._connection.transaction():
            session = Session(self._connection, place)
            session.hold_writers()
            yield session

    def _walls(self) -> Finding:
        nobody = Session(self._connection, NOBODY)
        names = [name for (name,) in nobody.rows("unwalled")]
        if nobody.value("walls_off"):
            names.insert(0, "the role is not bound by them: ALTER ROLE … NOSUPERUSER NOBYPASSRLS")
        return finding("walls between tenants", len(names), detail=", ".join(names[:NAMED]))

    def _indexes(self) -> Finding:
        with only_one(self._connection, "indexes"):  # those that are being made come to their end
            broken = [graph.name for graph, whole in graphs(self._connection) if not whole]
            repaired = build_missing(self._connection) if broken and self._repair else 0
        return finding("vector indexes", len(broken), repaired, ", ".join(broken[:NAMED]))

    def _pending(self, session: Session, fingerprint: Fingerprint) -> int:
        return count_unembedded(session, fingerprint)


def _mend_feed(session: Session) -> None:
    session.run("move_lagging")
    missing = [(partition, key) for partition, key in session.rows("unannounced")]
    announce(session, missing)


def _mend_vectors(session: Session) -> None:
    session.run("delete_stray_vectors")
    while rows := session.rows("pieces_without_vector", most=_CHUNK):
        for size in {row[5] for row in rows}:
            alike = [row for row in rows if row[5] == size]
            places = arrays(PLACES, [row[:4] for row in alike])
            vectors = halfvecs(restored(opened([row[4] for row in alike], size)))
            session.run("insert_vectors", **places, embeddings=vectors)


_COUNTS = (
    counting("stray pieces", "stray_pieces", "delete_stray_pieces"),
    counting("size of pieces", "misshapen_pieces", "await_misshapen", "delete_misshapen"),
    counting("embedding queue", "wrong_waits", "delete_wrong_waits"),
    counting("memories outside the embedding queue", "missing_waits", "insert_missing_waits"),
    counting(
        "stray history, uses, feedback and links",
        "orphan_rows",
        "delete_orphan_history",
        "delete_orphan_uses",
        "delete_orphan_feedback",
        "delete_orphan_links",
    ),
    *COUNTS,
    counting("memories counted", "miscounted", "recount_memories"),
    counting("vectors", "wrong_vectors")._replace(mend=_mend_vectors),
    counting("change feed", "count_unannounced")._replace(mend=_mend_feed),
)

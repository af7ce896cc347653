"""Doctor: every part of the database checked against the rows, and mended where those say how."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial

import orjson

from remanence.errors import StoreCorrupt, StoreVersion
from remanence.model.embedding import Fingerprint, restored
from remanence.model.memory import State
from remanence.model.stats import Finding
from remanence.store.coarse import opened
from remanence.store.conditions import readable_labels
from remanence.store.core.doctor import (
    COUNTS,
    NAMED,
    Check,
    Count,
    Guard,
    counting,
    finding,
    rows_after,
)
from remanence.store.core.doctor import Doctor as Examination
from remanence.store.core.recall import count_unembedded
from remanence.store.packing import dictionary_of
from remanence.store.postgres.archive import HISTORY
from remanence.store.postgres.arrays import Array, arrays, columns, entries, halfvecs, int8s
from remanence.store.postgres.database import Database
from remanence.store.postgres.indexes import build_missing, graphs
from remanence.store.postgres.knowledge import ENTITY_KINDS
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.schema import Facts, only_one, read_facts, set_fact
from remanence.store.postgres.session import NOBODY, WORDS_LOCK, Session, announce
from remanence.store.postgres.texts import Texts, stored_dictionary
from remanence.store.postgres.vectors import PLACES
from remanence.store.rows import (
    RECORD_WIDTH,
    STATE_CODES,
    STATES,
    TEXT,
    Owner,
    Row,
    micros,
    readable,
    row_digest,
)
from remanence.store.words import Derived, Words

_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")


def follow_terms(database: Database) -> None:
    """Make the text index of every tenant again if terms are made otherwise now.

    An index whose terms are of a newer version is refused, lest two hosts undo each other's work.
    """
    if _has_our_terms(database, database.facts):
        return
    if not database.settings.migrate:
        raise StoreVersion(
            f"The text index of {database.settings.where} has terms of version "
            f"{database.facts['terms_version']}, not {database.words.version}: run `rem migrate`."
        )
    with database.connections.fresh() as connection, connection.transaction():
        nobody = Session(connection, NOBODY)
        nobody.run("lock_writers", own=WORDS_LOCK)
        if _has_our_terms(database, read_facts(connection)):
            return
        for (tenant,) in nobody.rows("tenant_numbers"):
            word_again(Session(connection, tenant), database.words)
        set_fact(connection, "terms_version", database.words.version)


def words_differ(session: Session, words: Words) -> bool:
    """Whether the tenant's text index is not what its rows give."""
    expected = there = 0
    for terms, places, _ in _entries(session, words):
        expected += terms.length
        there += session.value("count_these_words", terms=terms, places=places)
    return not expected == there == session.value("count_words")


def word_again(session: Session, words: Words) -> None:
    """Make the tenant's text index again from its rows."""
    session.run("delete_every_word")
    for terms, places, counts in _entries(session, words):
        session.run("insert_words", terms=terms, places=places)
        session.run("recount_words", **counts)


def wrong_labels(session: Session) -> int:
    """How many labels the tenant lacks or has too many."""
    expected = there = 0
    for found in _labels(session):
        expected += found["keys"].length
        there += session.value("count_these_labels", **found)
    return int(expected - there + session.value("count_labels") - there)


def label_again(session: Session) -> None:
    """Make the tenant's labels again from its rows."""
    session.run("delete_every_label")
    for found in _labels(session):
        session.run("insert_labels", **found)


def _has_our_terms(database: Database, facts: Facts) -> bool:
    there, ours = facts["terms_version"], database.words.version
    if _is_newer(there, ours):
        raise StoreVersion(
            f"The text index of {database.settings.where} has terms of version {there}, made by a "
            f"newer Remanence or stemmer than the one here ({ours}): upgrade Remanence here."
        )
    return there == ours


def _is_newer(one: str, other: str) -> bool:
    """By their numbers; of versions that differ in more than numbers none is newer."""
    alike = _NUMBERS.sub("", one) == _NUMBERS.sub("", other)
    return alike and _numbers(one) > _numbers(other)


def _numbers(version: str) -> list[int]:
    return [int(part) for number in _NUMBERS.findall(version) for part in number.split(".")]


def _entries(session: Session, words: Words) -> Iterator[tuple[Array, Array, dict[str, Array]]]:
    opened = Texts()
    for rows in rows_after(session, "texts_after", _CHUNK):
        terms: list[int] = []
        places: list[int] = []
        counts: list[tuple[int, ...]] = []
        for key, partition, stored, happened in rows:
            found, derived = words.analysed(opened.readable(session, stored), happened)
            numbers, where = entries(partition, key, found)
            terms += numbers
            places += where
            counts.append((key, *derived))
        names = ("keys", *Derived._fields)
        arrays = map(int8s, zip(*counts, strict=True))
        yield int8s(terms), int8s(places), dict(zip(names, arrays, strict=True))


def _labels(session: Session) -> Iterator[dict[str, Array]]:
    for rows in rows_after(session, "metadata_after", _CHUNK):
        found = [
            (key, partition, label)
            for key, partition, metadata in rows
            for label in readable_labels(metadata)
        ]
        names, values = columns(label for _, _, label in found)
        keys, partitions = int8s(one[0] for one in found), int8s(one[1] for one in found)
        yield {"partitions": partitions, "names": names, "values": values, "keys": keys}


_REWRITTEN = (
    "kind", "state", "happened_at", "created_at", "updated_at", "importance", "trust", "pinned",
    "version",
)  # fmt: skip


class PostgresGuard(Guard):
    """Looks for rows of the session's tenant that are not what was signed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def memories(self, session: Session, keys: Sequence[int] | None = None) -> list[int]:
        """Keys of memories that are not what was signed."""
        rows = self._every(session, "guarded_rows", _CHUNK, keys)
        return [row[0] for row in rows if not self._matches(session, row)]

    def quarantine(self, session: Session, key: int, now: datetime) -> bool:
        """Sign a damaged row as it is now readable, in the state that keeps it out of recall."""
        found = session.row("guarded_row", key=key)
        if found is None or not _has_dictionary(session, found[TEXT]):
            return False
        row = readable((*found[:TEXT], self._text(session, key, found[TEXT])))
        before = orjson.dumps({"state": STATES[row[4]]}).decode()
        row[4], row[7], row[11] = STATE_CODES[State.QUARANTINED], micros(now), row[11] + 1
        digest = row_digest(row, self._database.owner(session, row[1]), self._key(session))
        values = dict(zip(_REWRITTEN, row[3:12], strict=True))
        heir = None if row[20] is None else row[20].hex()
        session.run(
            "rewrite_row", **values, superseded_by=heir, metadata=row[21], digest=digest, key=key
        )
        why = "The stored row did not match its digest."
        told = (key, row[11], "quarantine", micros(now), None, why, before)
        session.run("insert_history", **arrays(HISTORY, [told]))
        session.run("rest_claims", keys=int8s([key]), ats=int8s([micros(now)]))
        announce(session, [(row[1], key)])
        return True

    def _key(self, session: Session) -> bytes:
        return self._database.digest_key

    def _tenant(self, session: Session, row: Row) -> str:
        return self._database.tenant_name(session)

    def _owners(self, session: Session) -> dict[int, Owner]:
        tenant, rows = self._database.tenant_name(session), session.rows("partitions_of_tenant")
        return {id: (tenant, user or None) for id, user in rows}

    def _rewrite_entity(self, session: Session, row: Row, values: Row) -> None:
        columns = arrays(ENTITY_KINDS, [(row[1], *values)])
        session.run("rewrite_entity", number=row[0], **columns)

    def _matches(self, session: Session, row: Row) -> bool:
        database, owner = self._database, self._database.owner(session, row[1])
        try:
            found = row_digest(database.opened(session, row), owner, database.digest_key)
        except StoreCorrupt:
            return False
        return bool(found == row[RECORD_WIDTH])

    def _text(self, session: Session, key: int, stored: bytes) -> str:
        """The text; if it cannot be read it is emptied."""
        try:
            return self._database.text(session, stored)
        except StoreCorrupt:
            session.run("empty_text", key=key)
            return ""


def _has_dictionary(session: Session, stored: bytes) -> bool:
    try:
        number = dictionary_of(stored) if stored[:1] != b"\x00" else 0
        return not number or bool(stored_dictionary(session, number))
    except StoreCorrupt:
        return False


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

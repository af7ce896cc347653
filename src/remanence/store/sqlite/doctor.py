"""Doctor: every part of the file checked against the rows, and mended where the rows say how."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import apsw
import orjson

from remanence.errors import StoreCorrupt
from remanence.model.embedding import Fingerprint
from remanence.model.memory import State
from remanence.model.stats import Finding
from remanence.store.conditions import readable_labels
from remanence.store.core.doctor import COUNTS, NAMED, Check, Count, Guard, counting, finding
from remanence.store.core.doctor import Doctor as Examination
from remanence.store.rows import (
    RECORD_WIDTH,
    STATE_CODES,
    STATES,
    Owner,
    Row,
    micros,
    readable,
    row_digest,
)
from remanence.store.sqlite.database import Database, meta
from remanence.store.sqlite.session import Session, fetch_all, fetch_value, run
from remanence.store.sqlite.vectors import embedder_id
from remanence.store.sqlite.words import stored_dictionary
from remanence.store.words import Derived, Words, prefixed

# Where rows have texts, if they are whole.
_TEXTS: Mapping[str, frozenset[int]] = {
    "raw_row": frozenset({*range(12, 20), 21, 22}),
    "guarded_documents": frozenset({1, 2, 3, 4, 5, 10, 12}),
    "guarded_editions": frozenset({2, 4, 5, 6}),
    "guarded_entities": frozenset({3, 4, 5}),
    "guarded_claims": frozenset({6, 7, 8, 9, 10, 11, 16, 17, 19, 20, 21}),
}


class SqliteGuard(Guard):
    """Looks for rows that are not what was signed."""

    def memories(self, session: Session, keys: Sequence[int] | None = None) -> list[int]:
        """Keys of memories that are not what was signed."""
        key, whose = self._key(session), self._owners(session)
        rows = _memories(session) if keys is None else _these(session, keys)
        return [at for at, row in rows if row is None or not _matches(row, whose, key)]

    def quarantine(self, session: Session, key: int, now: datetime) -> bool:
        """Sign a damaged row as it is now readable, in the state that keeps it out of recall."""
        if not _has_dictionary(session, key):
            return False
        [raw] = fetch_all(session.connection, "raw_row", (key,))
        row = readable(self._readable("raw_row", raw))
        before = {"state": STATES[row[4]]}
        row[4], row[7], row[11] = STATE_CODES[State.QUARANTINED], micros(now), row[11] + 1
        digest = row_digest(row, self._owners(session)[row[1]], self._key(session))
        run(session.connection, "rewrite_raw_row", (*row[3:23], digest, key))
        told = ("quarantine", micros(now), None, "The stored row did not match its digest.")
        history = (key, row[11], *told, orjson.dumps(before).decode())
        run(session.connection, "insert_history", history)
        run(session.connection, "rest_claims", (micros(now), key))
        run(session.connection, "insert_change", (row[1], key))
        return True

    def _key(self, session: Session) -> bytes:
        key = meta(session.connection, "digest_key")
        return key if isinstance(key, bytes) else b""

    def _tenant(self, session: Session, row: Row) -> str:
        return str(row[12])

    def _owners(self, session: Session) -> dict[int, Owner]:
        rows = run(session.connection, "every_partition")
        return {id: (tenant, user or None) for id, tenant, user in rows}

    def _rewrite_entity(self, session: Session, row: Row, values: Row) -> None:
        session.put("update_entity", (*values, row[0]))

    def _readable(self, name: str, row: Row) -> Row:
        return [
            value.decode(errors="replace")
            if at in _TEXTS[name] and isinstance(value, bytes)
            else value
            for at, value in enumerate(row)
        ]


def _matches(row: Row, whose: Mapping[int, Owner], key: bytes) -> bool:
    owner = whose.get(row[1])
    try:
        return owner is not None and row_digest(row, owner, key) == row[RECORD_WIDTH]
    except (AttributeError, TypeError):
        return False


def _memories(session: Session) -> Iterator[tuple[int, Row | None]]:
    after = 0
    while keys := fetch_all(session.connection, "keys_from", (after, _CHUNK)):
        last = keys[-1][0]
        try:
            rows = fetch_all(session.connection, "guarded_rows", (after, last))
            yield from ((row[0], row) for row in rows)
        except (UnicodeDecodeError, StoreCorrupt):
            yield from ((key, _row_if_readable(session, key)) for (key,) in keys)
        after = last


def _these(session: Session, keys: Sequence[int]) -> Iterator[tuple[int, Row | None]]:
    for key in keys:
        if session.value("id_of", key=key) is not None:
            yield key, _row_if_readable(session, key)


def _row_if_readable(session: Session, key: int) -> Row | None:
    try:
        row: Row = fetch_all(session.connection, "guarded_rows", (key - 1, key))[0]
    except (UnicodeDecodeError, StoreCorrupt):
        return None
    return row


def _has_dictionary(session: Session, key: int) -> bool:
    """Whether the dictionary that the row was packed with is whole, or none is needed."""
    number = fetch_value(session.connection, "dictionary_of", (key,))
    if number is None:
        return True
    try:
        stored_dictionary(session.connection, number)
    except StoreCorrupt:
        return False
    return True


Labelled: TypeAlias = tuple[int, str, Any, int]  # partition, name, value, key of the memory
Looking: TypeAlias = Callable[[], AbstractContextManager[Session]]

_CHUNK = 1000  # rows of which the words are found at a time
_TRIES = 5
# What FTS5's tokenizer `ascii` makes of the text that it is given.
_TOKENS = re.compile(r"(?:[0-9A-Za-z]|[^\x00-\x7f])+")
_UNREADABLE = (apsw.Error, UnicodeDecodeError, StoreCorrupt)
_COUNTS: tuple[Count, ...] = (
    counting("stray pieces", "orphan_pieces", "delete_orphan_pieces"),
    counting("size of pieces", "misshapen_pieces", "delete_misshapen_pieces"),
    counting("embedding queue", "wrong_waits", "delete_wrong_waits"),
    counting("memories outside the embedding queue", "missing_waits", "insert_missing_waits"),
    counting("stray history, uses, feedback and links", "orphan_rows", "delete_orphan_rows"),
    *COUNTS,
    counting("change feed", "count_unannounced", "announce_unannounced"),
)


class Doctor(Examination[None]):
    """One examination of the whole file; writers wait only for a batch that is mended."""

    def __init__(self, database: Database, repair: bool, now: datetime) -> None:
        super().__init__(SqliteGuard(), repair, now)
        self._database = database
        self._places = (None,)

    def examine(self, fingerprint: Fingerprint | None) -> list[Finding]:
        """All that was looked at, problems or not; of a damaged file, nothing else is looked at."""
        found = [self._file()]
        if found[0].problems > found[0].repaired:
            return found
        found += [*map(self._run, self._of_memories()), self._words()]
        found += map(self._run, [_LABELS, *self._of_others(), *_COUNTS])
        return found if fingerprint is None else [*found, self._embeddings(fingerprint)]

    @contextmanager
    def _looking(self, place: None = None) -> Iterator[Session]:
        with self._database.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield Session(connection, "")
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def _mending(self, place: None = None) -> Iterator[Session]:
        with self._database.writing() as connection:
            yield Session(connection, "")

    def _file(self) -> Finding:
        with self._looking() as session:
            problems = _file_problems(session.connection)
        if not problems or not self._repair:
            return finding("file", len(problems), detail="; ".join(problems[:NAMED]))
        # Wrong entries of an index are made right from its table; other damage needs a backup.
        with self._mending() as session:
            session.connection.execute("REINDEX")
        with self._looking() as session:
            left = _file_problems(session.connection)
        mended = max(len(problems) - len(left), 0)
        return finding("file", len(problems), mended, "; ".join((left or problems)[:NAMED]))

    def _words(self) -> Finding:
        with self._looking() as session:
            differs = words_differ(session.connection)
        mended = differs and self._repair and word_again(self._database, self._looking)
        return finding(
            "text index", int(differs), int(mended), "differs from the rows" if differs else ""
        )

    def _pending(self, session: Session, fingerprint: Fingerprint) -> int:
        embedder = embedder_id(session.connection, fingerprint)
        if embedder is None:
            return int(fetch_value(session.connection, "count_memories"))
        return int(fetch_value(session.connection, "count_unembedded", (embedder,)))


def _wrong_labels(session: Session) -> list[Labelled]:
    """Labels that lack, and labels that are there too often, or of memories that are gone."""
    connection = session.connection
    if summed(run(connection, "every_label")) == summed(_wanted_labels(connection)):
        return []
    there: set[Labelled] = set(run(connection, "every_label"))
    return sorted(there.symmetric_difference(_wanted_labels(connection)), key=lambda one: one[3])


def _wanted_labels(connection: apsw.Connection) -> Iterator[Labelled]:
    for key, partition, metadata in run(connection, "every_metadata"):
        for name, value in readable_labels(metadata):
            yield partition, name, value, key


def _mend_labels(session: Session, wrong: Sequence[Labelled]) -> int:
    connection = session.connection
    for label in wrong:
        metadata = fetch_value(connection, "metadata_of", (label[3], label[0]))
        right = metadata is not None and label[1:3] in readable_labels(metadata)
        run(connection, "insert_label" if right else "delete_label", label)
    return len(wrong)


_LABELS = Check("labels", _wrong_labels, _mend_labels, lambda _: "")


def _file_problems(connection: apsw.Connection) -> list[str]:
    told = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [text for text in told if text != "ok" and "fts5" not in text.lower()]


class _Wording(NamedTuple):
    """What a row gives to the index; the digest tells whether the row is still the same."""

    digest: bytes | None
    words: str
    derived: Derived


Wordings: TypeAlias = dict[int, _Wording]


def words_differ(connection: apsw.Connection) -> bool:
    """Whether the text index is damaged, or is not what the rows give."""
    try:
        if summed(run(connection, "every_word")) != _told_by_rows(connection):
            return True
        # Only once the index was read: FTS5's check alone takes what it remembers for what is.
        return [row[0] for row in run(connection, "check_words")] != ["ok"]
    except _UNREADABLE:
        return True


def word_again(database: Database, looking: Looking) -> bool:
    """Make the text index again; texts are analysed before the transaction, not in it.

    Not if a text cannot be read (the old index serves better then), nor if the rows change faster
    than they can be read.
    """
    found: Wordings = {}
    try:
        for _ in range(_TRIES):
            with looking() as session:
                _read(session.connection, database.words, found)
            with database.writing() as connection:
                if _is_of_all(connection, found):
                    _put(connection, found)
                    return True
    except (UnicodeDecodeError, StoreCorrupt):
        return False
    return False


def _told_by_rows(connection: apsw.Connection) -> tuple[int, int]:
    return summed(
        (token, key, offset)
        for key, terms in run(connection, "words_of_rows")
        for offset, token in enumerate(_TOKENS.findall(terms))
    )


def summed(entries: Iterable[Row]) -> tuple[int, int]:
    """How many there are, and what they come to in whatever order."""
    count = total = 0
    for entry in entries:
        count += 1
        total ^= hash(entry)
    return count, total


def _read(connection: apsw.Connection, words: Words, found: Wordings) -> None:
    """Bring what was found up to the rows as they are here."""
    digests = dict(fetch_all(connection, "every_digest"))
    for key in found.keys() - digests.keys():
        del found[key]
    after = 0
    while rows := fetch_all(connection, "texts_to_word", (after, _CHUNK)):
        for key, digest, partition, text, happened in rows:
            if key not in found or found[key].digest != digest:
                terms, derived = words.analysed(text, happened)
                found[key] = _Wording(digest, " ".join(prefixed(partition, terms)), derived)
        after = rows[-1][0]


def _is_of_all(connection: apsw.Connection, found: Wordings) -> bool:
    return dict(fetch_all(connection, "every_digest")) == {
        key: one.digest for key, one in found.items()
    }


def _put(connection: apsw.Connection, found: Wordings) -> None:
    run(connection, "empty_words")
    for key, (_, words, derived) in sorted(found.items()):
        run(connection, "insert_words", (key, words))
        run(connection, "recount_row", {"key": key, **derived._asdict()})

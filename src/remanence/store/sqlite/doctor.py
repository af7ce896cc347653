"""Doctor: every part of the file checked against the rows, and mended where the rows say how."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

import apsw
import orjson

from remanence.errors import InvalidInput, StoreCorrupt
from remanence.model.embedding import Fingerprint
from remanence.model.stats import Finding
from remanence.store.labels import Label, labels
from remanence.store.rows import spelled_id
from remanence.store.shelves import named
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.dictionaries import damaged_dictionaries, mend_dictionary
from remanence.store.sqlite.digests import damaged_keys, quarantine
from remanence.store.sqlite.document_digests import (
    damaged_documents,
    damaged_editions,
    mend,
    remove_edition,
)
from remanence.store.sqlite.knowledge_digests import (
    damaged_claims,
    damaged_entities,
    mend_entity,
    remove_claims,
)
from remanence.store.sqlite.learning import Learning
from remanence.store.sqlite.placing import embedder_id
from remanence.store.sqlite.statements import fetch_all, fetch_value, run
from remanence.store.sqlite.words import rebuild

Check = Callable[[apsw.Connection], Finding]

_NAMED = 5
_COUNTED = {
    "stray pieces": ("orphan_pieces", "delete_orphan_pieces"),
    "size of pieces": ("misshapen_pieces", "delete_misshapen_pieces"),
    "embedding queue": ("wrong_waits", "delete_wrong_waits"),
    "memories outside the embedding queue": ("missing_waits", "insert_missing_waits"),
    "stray history, uses, feedback and links": ("orphan_rows", "delete_orphan_rows"),
    "stray editions": ("stray_editions", "delete_stray_editions"),
    "stray claims": ("stray_claims", "delete_stray_claims"),
    "stray mentions": ("stray_mentions", "delete_stray_mentions"),
    "resting claims": ("wrong_rests", "mend_wrong_rests"),
    "change feed": ("count_unannounced", "announce_unannounced"),
}


class Doctor:
    """One examination; each check is a transaction of its own, so that writers get their turn."""

    def __init__(self, database: Database, repair: bool, now: datetime) -> None:
        self._database = database
        self._repair = repair
        self._now = now

    def examine(self, fingerprint: Fingerprint | None) -> list[Finding]:
        """All that was looked at, problems or not; of a damaged file, nothing else is looked at."""
        found = [self._run(self._file)]
        if found[0].problems > found[0].repaired:
            return found
        checks = [self._dictionaries, self._digests, self._words, self._labels]
        checks += [self._documents, self._editions]
        checks += [self._entities, self._claims]
        checks += [partial(self._counted, check) for check in _COUNTED]
        if fingerprint is not None:
            checks.append(partial(self._embeddings, fingerprint))
        return found + [self._run(check) for check in checks]

    def _run(self, check: Check) -> Finding:
        with self._database.writing() as connection:
            return check(connection)

    def _file(self, connection: apsw.Connection) -> Finding:
        problems = _file_problems(connection)
        if not problems or not self._repair:
            return _finding("file", len(problems), detail="; ".join(problems[:_NAMED]))
        # Wrong entries of an index are made right from its table; other damage needs a backup.
        connection.execute("REINDEX")
        left = _file_problems(connection)
        mended = max(len(problems) - len(left), 0)
        return _finding("file", len(problems), mended, "; ".join((left or problems)[:_NAMED]))

    def _digests(self, connection: apsw.Connection) -> Finding:
        damaged = damaged_keys(connection)
        names = [spelled_id(fetch_value(connection, "id_of", (key,))) for key in damaged]
        repaired = 0
        if self._repair:
            repaired = sum(quarantine(connection, key, self._now) for key in damaged)
        return _finding("digests", len(damaged), repaired, ", ".join(names[:_NAMED]))

    def _dictionaries(self, connection: apsw.Connection) -> Finding:
        damaged = damaged_dictionaries(connection)
        mended = [n for n, body in damaged if self._repair and mend_dictionary(connection, n, body)]
        told = ", ".join(str(number) for number, _ in damaged[:_NAMED])
        return _finding("dictionaries", len(damaged), len(mended), told)

    def _words(self, connection: apsw.Connection) -> Finding:
        try:
            run(connection, "check_words")
        except (apsw.Error, UnicodeDecodeError, StoreCorrupt):
            mended = self._repair and _reworded(connection)
            return _finding("text index", 1, int(mended), "differs from the rows")
        return _finding("text index", 0)

    def _labels(self, connection: apsw.Connection) -> Finding:
        expected = missing = 0
        for key, partition, metadata in fetch_all(connection, "every_metadata"):
            for name, value in _labels(metadata):
                expected += 1
                missing += not fetch_value(connection, "is_label", (partition, name, value, key))
        extra = fetch_value(connection, "count_labels") - (expected - missing)
        if missing + extra and self._repair:
            self._label_again(connection)
        return _finding("labels", missing + extra, missing + extra if self._repair else 0)

    def _label_again(self, connection: apsw.Connection) -> None:
        run(connection, "delete_labels")
        for key, partition, metadata in fetch_all(connection, "every_metadata"):
            for name, value in _labels(metadata):
                run(connection, "insert_label", (partition, name, value, key))

    def _documents(self, connection: apsw.Connection) -> Finding:
        damaged = damaged_documents(connection)
        mended = [row for row in damaged if self._repair and mend(connection, row)]
        told = ", ".join(named(row[1:6]) for row in damaged[:_NAMED])
        return _finding("documents", len(damaged), len(mended), told)

    def _editions(self, connection: apsw.Connection) -> Finding:
        damaged = damaged_editions(connection)
        if self._repair:
            for id, _ in damaged:
                remove_edition(connection, id)
        told = ", ".join(named(row[1:6]) for _, row in damaged[:_NAMED])
        return _finding("editions", len(damaged), len(damaged) if self._repair else 0, told)

    def _entities(self, connection: apsw.Connection) -> Finding:
        damaged = damaged_entities(connection)
        mended = [row for row in damaged if self._repair and mend_entity(connection, row)]
        told = ", ".join(str(row[3])[:60] for row in damaged[:_NAMED])
        return _finding("entities", len(damaged), len(mended), told)

    def _claims(self, connection: apsw.Connection) -> Finding:
        damaged = damaged_claims(connection)
        if self._repair:
            remove_claims(Learning(self._database, connection, ""), damaged)
        told = ", ".join(str(row[8])[:60] for row in damaged[:_NAMED])
        return _finding("claims", len(damaged), len(damaged) if self._repair else 0, told)

    def _counted(self, check: str, connection: apsw.Connection) -> Finding:
        count, mend = _COUNTED[check]
        problems = fetch_value(connection, count)
        if problems and self._repair:
            run(connection, mend)
        return _finding(check, problems, problems if self._repair else 0)

    def _embeddings(self, fingerprint: Fingerprint, connection: apsw.Connection) -> Finding:
        embedder = embedder_id(connection, fingerprint)
        if embedder is None:
            pending = fetch_value(connection, "count_memories")
        else:
            pending = fetch_value(connection, "count_unembedded", (embedder,))
        return _finding("embeddings", 0, detail=f"{pending} pending")


def _labels(metadata: str) -> set[Label]:
    try:
        return labels(orjson.loads(metadata))
    except (orjson.JSONDecodeError, InvalidInput, AttributeError):
        return set()


def _reworded(connection: apsw.Connection) -> bool:
    """Make the text index again, unless a text cannot be read: then the old one serves better."""
    try:
        with connection:
            rebuild(connection)
    except StoreCorrupt:
        return False
    return True


def _file_problems(connection: apsw.Connection) -> list[str]:
    told = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [text for text in told if text != "ok" and "fts5" not in text.lower()]


def _finding(check: str, problems: int, repaired: int = 0, detail: str = "") -> Finding:
    return Finding(check=check, problems=problems, repaired=repaired, detail=detail)

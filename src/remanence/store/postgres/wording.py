"""The text index and the labels against the rows they were made from: compared, and made again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from remanence.errors import StoreVersion
from remanence.store.labels import readable_labels
from remanence.store.postgres.arrays import Array, int8s
from remanence.store.postgres.database import Database
from remanence.store.postgres.schema import Facts, read_facts, set_fact
from remanence.store.postgres.session import NOBODY, WORDS_LOCK, Session
from remanence.store.postgres.texts import Texts
from remanence.store.postgres.words import columns, entries
from remanence.store.words import Derived, Words

_CHUNK = 1000
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
    for rows in _chunks(session, "texts_after"):
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
    for rows in _chunks(session, "metadata_after"):
        found = [
            (key, partition, label)
            for key, partition, metadata in rows
            for label in readable_labels(metadata)
        ]
        names, values = columns(label for _, _, label in found)
        keys, partitions = int8s(one[0] for one in found), int8s(one[1] for one in found)
        yield {"partitions": partitions, "names": names, "values": values, "keys": keys}


def _chunks(session: Session, name: str) -> Iterator[list[tuple[Any, ...]]]:
    after = 0
    while rows := session.rows(name, after=after, most=_CHUNK):
        yield rows
        after = rows[-1][0]

"""What recall reads of knowledge in SQLite: names, mentions and ties, by partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from remanence.ports.store import Name, Tie
from remanence.store.rows import Row, spelled_id
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.numbers import bound, parsed
from remanence.store.sqlite.statements import fetch_all, fetch_value

_CHUNK = 5000


class SqliteKnowledgeSource:
    """The KnowledgeSource port. All is read in chunks, so no read stays open between them."""

    _database: Database

    def names(self, partition: int) -> Iterator[Name]:
        """The partition's entities in order of number."""
        with self._database.reading() as connection:
            numbers = np.sort(parsed(fetch_value(connection, "numbers_of_names", (partition,))))
        for at in range(0, len(numbers), _CHUNK):
            with self._database.reading() as connection:
                rows = fetch_all(connection, "names", (bound(numbers[at : at + _CHUNK]),))
            for number, id, name, type in rows:
                yield Name(number, spelled_id(id), name, type)

    def mentioned(
        self, partition: int, keys: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int]]:
        """(memory key, entity number) of active memories, by key."""
        if keys is None:
            yield from self._every_mention(partition)
            return
        wanted = np.unique(np.asarray(keys, np.int64))
        for at in range(0, len(wanted), _CHUNK):
            chunk = (bound(wanted[at : at + _CHUNK]), partition)
            with self._database.reading() as connection:
                rows = fetch_all(connection, "mentioned_in", chunk)
            yield from rows

    def ties(self, partition: int) -> Iterator[Tie]:
        """Claims between two entities that are neither resting, retired nor denials."""
        after = 0
        while rows := self._known_after("ties_after", (partition, after)):
            for _, *tie in rows:
                yield Tie(*tie)
            after = rows[-1][0]

    def _every_mention(self, partition: int) -> Iterator[tuple[int, int]]:
        after: Row = (0, 0)
        while rows := self._known_after("mentioned_after", (partition, *after)):
            yield from rows
            after = rows[-1]

    def _known_after(self, name: str, asked: Row) -> list[Any]:
        with self._database.reading() as connection:
            return fetch_all(connection, name, (*asked, _CHUNK))

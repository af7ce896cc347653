"""What recall reads of knowledge in PostgreSQL: names, mentions and ties, by partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from remanence.ports.store import Keys, Name, Tie
from remanence.store.postgres.arrays import int8s
from remanence.store.postgres.database import Database
from remanence.store.rows import spelled_id

_CHUNK = 5000


class PostgresKnowledgeSource:
    """The KnowledgeSource port. All is read in chunks, so no read stays open between them."""

    _database: Database

    def names(self, partition: int) -> Iterator[Name]:
        """The partition's entities in order of number."""
        numbers = self._numbers(partition)
        for at in range(0, len(numbers), _CHUNK):
            chunk = int8s(numbers[at : at + _CHUNK])
            for number, id, name, type in self._known(partition, "names", numbers=chunk):
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
            chunk = int8s(wanted[at : at + _CHUNK])
            yield from self._known(partition, "mentioned_by", keys=chunk)

    def ties(self, partition: int) -> Iterator[Tie]:
        """Claims between two entities that are neither resting, retired nor denials."""
        after = 0
        while rows := self._known(partition, "ties", after=after, most=_CHUNK):
            for _, *tie in rows:
                yield Tie(*tie)
            after = rows[-1][0]

    def _numbers(self, partition: int) -> Keys:
        found = self._database.read_partition(
            partition, lambda session: session.value("numbers_of", partition=partition)
        )
        return np.empty(0, np.int64) if found is None else np.sort(found)

    def _every_mention(self, partition: int) -> Iterator[tuple[int, int]]:
        memory = entity = 0
        while rows := self._known(
            partition, "mentioned", memory=memory, entity=entity, most=_CHUNK
        ):
            yield from rows
            memory, entity = rows[-1]

    def _known(self, partition: int, name: str, **asked: Any) -> list[Any]:
        found = self._database.read_partition(
            partition, lambda session: session.rows(name, partition=partition, **asked)
        )
        return found or []

"""What recall reads from SQLite in its own way: the text index, and what was written to."""

from __future__ import annotations

import time
from collections.abc import Sequence

from remanence.model.ports.store import Keys
from remanence.store.core.recall import StoredRecall
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.session import Session, parsed
from remanence.store.words import prefixed

_LOOK_S = 0.05
_COMMON = "-"  # what the block `postings` gives for a term with too many


class SqliteRecall(StoredRecall[Database]):
    """The RecallSource port."""

    _watched: int | None = None

    def watch(self, timeout_s: float) -> list[int]:
        """Partitions written to since the last call; SQLite has no bell, so this looks often."""
        deadline = time.monotonic() + timeout_s
        while not (found := self._written_to()) and time.monotonic() < deadline:
            time.sleep(min(_LOOK_S, max(deadline - time.monotonic(), 0)))
        return found

    def _written_to(self) -> list[int]:
        def work(session: Session) -> list[int]:
            newest = session.value("newest_change")
            seen = newest if self._watched is None else self._watched
            self._watched = newest
            if newest == seen:
                return []
            return [id for (id,) in session.rows("changed_partitions", seen=seen, newest=newest)]

        return self._database.read("", work)

    def postings(self, partition: int, terms: Sequence[str], most: int) -> list[Keys | None]:
        """For each term the keys of the memories that hold it, ascending, once per occurrence."""
        if not terms:
            return []

        def work(session: Session) -> str:
            asked = session.texts_of(prefixed(partition, terms))
            return str(session.value("postings", terms=asked, most=most))

        joined = self._database.read_partition(partition, work)
        return [None if keys == _COMMON else parsed(keys) for keys in joined.split("/")]

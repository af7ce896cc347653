"""What a memory must satisfy to be found at all, as masks over a partition's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import Fingerprint
from remanence.model.filter import Filter
from remanence.model.memory import MemoryRecord
from remanence.model.ports.pieces import StoredPieces
from remanence.model.ports.store import Keys
from remanence.model.query import Query
from remanence.recall.columns import KINDS, STATES, Columns, Lexicon

Mask = NDArray[np.bool_]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


PiecesOf: TypeAlias = Callable[[Fingerprint, int, Sequence[int]], StoredPieces]
"""The stored pieces of the memories with these keys in a partition, as `Vectors` has them."""


class ReadPartition(Protocol):
    """What a search reads of a partition, now or at a moment."""

    def keys(self, partition: int, where: Filter) -> Keys:
        """Keys in the partition that satisfy the filter, ascending."""

    def postings(self, partition: int, terms: Sequence[str], most: int) -> list[Keys | None]:
        """The keys that hold each term, as `RecallSource` has them."""

    def records(self, partition: int, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """Whole records by key."""


def conditions(
    query: Query, columns: Columns, source: ReadPartition, partition: int
) -> Iterator[tuple[str, Mask]]:
    """Each condition of the query with its name, cheapest first."""
    yield "state", _any_of(columns.state, [STATES[state] for state in query.states])
    if query.kinds:
        yield "kinds", _any_of(columns.kind, [KINDS[kind] for kind in query.kinds])
    if query.since is not None:
        yield "since", columns.happened >= microseconds(query.since)
    if query.until is not None:
        yield "until", columns.happened < microseconds(query.until)
    if query.known_at is not None:
        yield "known_at", columns.created <= microseconds(query.known_at)
    if query.min_trust > 0:
        yield "min_trust", columns.trust >= np.float32(query.min_trust)
    if query.reach.agent_id is not None:
        wanted = _number(columns.lexicons.agents, query.reach.agent_id)
        yield "agent_id", columns.agent == wanted
    if query.reach.session_id is not None:
        wanted = _number(columns.lexicons.sessions, query.reach.session_id)
        yield "session_id", columns.place == wanted
    if query.where is not None:
        yield "filters", _mask(columns, source.keys(partition, query.where))


def allowed(query: Query, columns: Columns, source: ReadPartition, partition: int) -> Mask:
    """The rows that satisfy every condition."""
    mask = np.ones(len(columns), bool)
    for _, condition in conditions(query, columns, source, partition):
        mask &= condition
    return mask


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970, as the columns keep time."""
    return (moment - EPOCH) // MICROSECOND


def _any_of(column: NDArray[np.uint8], wanted: list[int]) -> Mask:
    mask = np.zeros(len(column), bool)
    for value in wanted:
        mask |= column == value
    return mask


def _number(lexicon: Lexicon, name: str) -> int:
    return lexicon.numbers.get(name, -2)


def _mask(columns: Columns, keys: Keys) -> Mask:
    rows = columns.rows_of(keys)
    mask = np.zeros(len(columns), bool)
    mask[rows[rows >= 0]] = True
    return mask

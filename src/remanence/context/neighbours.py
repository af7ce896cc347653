"""The turns around a memory in its conversation, for those that make no sense alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from remanence.model.memory import Kind, MemoryRecord, State
from remanence.ports.store import RecallSource
from remanence.recall.views import Views
from remanence.remember.tool_calls import says_nothing
from remanence.text.cues import is_question

# So many words or fewer seldom say what they are about.
FEW = 8
# A longer turn that opens with a pronoun says itself what it means further on.
MANY = 25
_OPENING = re.compile(
    r"\W*(?:it|it's|its|that|that's|they|they're|he|he's|she|she's|this|those|these|them|him|her"
    r"|there|both|so|yes|yeah|yep|no|nope|sure|exactly|definitely|absolutely|of course)\b",
    re.IGNORECASE,
)


class Around(NamedTuple):
    """The turn before and the turn after, where there are any."""

    before: MemoryRecord | None = None
    after: MemoryRecord | None = None


ALONE = Around()


class Neighbours:
    """Reads the turns around memories: one read for each partition."""

    def __init__(self, source: RecallSource, views: Views, tenant: str) -> None:
        self._source = source
        self._views = views
        self._tenant = tenant

    def around(self, records: Iterable[MemoryRecord], min_trust: float = 0.0) -> dict[str, Around]:
        """The turns around each message of a conversation, by its id, of those that are trusted."""
        by_partition: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        for record in records:
            if record.kind is Kind.MESSAGE and record.session_id is not None:
                found = self._source.key_of(self._tenant, record.id)
                if found is not None:
                    by_partition[found[0]].append((record.id, found[1]))
        read: dict[str, Around] = {}
        for partition, members in by_partition.items():
            read |= self._read(partition, members, min_trust)
        return read

    def _read(
        self, partition: int, members: Sequence[tuple[str, int]], min_trust: float
    ) -> dict[str, Around]:
        columns = self._views.columns(partition, min_trust)
        rows = columns.rows_of(np.array([key for _, key in members], np.int64))
        known = rows >= 0
        pairs = np.full((len(members), 2), -1, np.int64)
        for side, offset in enumerate((-1, 1)):
            near = columns.neighbours(rows[known], offset)
            pairs[known, side] = np.where(near >= 0, columns.key[near], -1)
        wanted = np.unique(pairs[pairs >= 0]).tolist()
        records = self._source.records(partition, wanted) if wanted else {}
        return {
            id: Around(records.get(before), records.get(after))
            for (id, _), (before, after) in zip(members, pairs.tolist(), strict=True)
        }


def needed(record: MemoryRecord, around: Around, *, leading: bool) -> list[MemoryRecord]:
    """Those of the turns around without which this one is not understood.

    For the hits that lead a search also the question that a turn answers, and the answer to one.
    """
    before, after = (_said(record, other) for other in around)
    found = []
    if before is not None and (hangs(record.text) or (leading and is_question(before.text))):
        found.append(before)
    if after is not None and leading and is_question(record.text):
        found.append(after)
    return found


def _said(record: MemoryRecord, other: MemoryRecord | None) -> MemoryRecord | None:
    """The other turn if a search in the same scope could have shown it, and it says something."""
    if other is None or other.kind is not Kind.MESSAGE or other.state is not State.ACTIVE:
        return None
    if says_nothing(other.text, other.metadata):
        return None
    return other if other.agent_id == record.agent_id else None


def hangs(text: str) -> bool:
    """Whether a turn seldom makes sense without the one before."""
    words = len(text.split(maxsplit=MANY + 1))
    return words <= FEW or (words <= MANY and _OPENING.match(text) is not None)

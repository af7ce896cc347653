"""Search results kept in a cache, under keys that change with everything that decides them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

import numpy as np

from remanence.errors import EmbedderError
from remanence.model.filter import Both, Compare, Either, Filter, Not
from remanence.model.hit import Hits
from remanence.model.memory import MemoryRecord
from remanence.model.ports.cache import Cache
from remanence.model.ports.embedder import Embedder
from remanence.model.ports.store import Store
from remanence.model.query import Query
from remanence.recall.answer import FORMAT, Answer, Saved, hits_of, memories_of
from remanence.recall.conditions import microseconds
from remanence.recall.freshness import Freshness
from remanence.recall.question import Question
from remanence.recall.ranker import Ranker

TTL_S = 60.0
# Reading a larger value takes longer than many a search.
LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Slot:
    """Where the results of a search belong, and the partitions they may come from."""

    key: str
    partitions: frozenset[int]


@dataclass(eq=False)
class ResultCache:
    """Gives the results of a search again as long as nothing that decides them has changed.

    The key is a digest of the query, of who ranks it and how, and of the position of every
    partition it reaches, so that any write gives later searches another key. Memories are read
    from the store each time. What comes out of the cache is believed only as far as it can be
    checked, because others may write to it.
    """

    cache: Cache
    store: Store
    embedder: Embedder
    ranker: Ranker
    freshness: Freshness
    ttl_s: float = TTL_S

    def __post_init__(self) -> None:
        self._ranking = _ranking(self.ranker, self.freshness)
        self._saved = Saved(self.ranker)

    def hits(
        self,
        query: Query,
        question: Question,
        live: bool,
        search: Callable[[], Answer],
        adapted: tuple[tuple[int, int], ...] = (),
    ) -> Hits:
        """The hits of a query, from the cache if they are there, else by searching.

        `live` says that `now` is the clock's and not the caller's: results then stay good until
        they expire, as long as the question means the same time. `adapted` names the adapters that
        the search uses, by partition and version.
        """
        slot = self._slot(query, question, live, adapted)
        known = self._known(slot, query, question) if slot else None
        if known is not None:
            return known
        answer = search()
        if slot and not answer.degraded:
            self._keep(slot, answer)
        return hits_of(answer, memories_of(self.store.recall, answer.found))

    def _slot(
        self, query: Query, question: Question, live: bool, adapted: tuple[tuple[int, int], ...]
    ) -> Slot | None:
        """None when the results cannot be kept. Made before the search, never after it."""
        partitions = self.store.recall.partitions(query.reach)
        if not partitions or _by_uses(query.where):
            return None
        try:
            fingerprint = self.embedder.fingerprint
        except EmbedderError:
            return None
        identity = self.store.upkeep.identity
        decisive = (
            (FORMAT, identity, fingerprint, self._ranking),
            tuple(getattr(query, f.name) for f in fields(query) if f.name != "now"),
            _moment(question, live),
            tuple((number, self.store.recall.position(number)) for number in sorted(partitions)),
            adapted,
        )
        key = f"{answers_of(identity, query.reach.tenant)}{_digest(decisive)}"
        return Slot(key, frozenset(partitions))

    def _keep(self, slot: Slot, answer: Answer) -> None:
        value = self._saved.write(slot.key, answer)
        if len(value) <= LARGEST:
            self.cache.put({slot.key: value}, self.ttl_s)

    def _known(self, slot: Slot, query: Query, question: Question) -> Hits | None:
        [value] = self.cache.get([slot.key])
        if value is None or len(value) > LARGEST:
            return None
        try:
            answer = self._saved.read(value, slot.key, slot.partitions, question)
        except ValueError:
            return None
        if len(answer.found) > query.limit:
            return None
        if answer.found and not answer.confidence.reaches(query.min_confidence):
            return None
        records = memories_of(self.store.recall, answer.found)
        whole = len(records) == len(answer.found)
        if whole and all(_fits(record, query) for record in records.values()):
            return hits_of(answer, records) if self._filtered(answer, query) else None
        return None

    def _filtered(self, answer: Answer, query: Query) -> bool:
        """Whether all that was found satisfies the caller's filter, as the store sees it now."""
        if query.where is None:
            return True
        for partition in {one.partition for one in answer.found}:
            keys = [one.key for one in answer.found if one.partition == partition]
            if not np.isin(keys, self.store.recall.keys(partition, query.where)).all():
                return False
        return True


def answers_of(identity: str, tenant: str) -> str:
    """How the keys of all answers of a tenant begin."""
    return f"{identity}:{{{tenant}}}:s:"


def _ranking(ranker: Ranker, freshness: Freshness) -> str:
    figures = np.concatenate([ranker.mean, ranker.scale, ranker.weight])
    return _digest((ranker.names, ranker.base, tuple(figures.tolist()), freshness))


def _moment(question: Question, live: bool) -> tuple[Any, ...]:
    """What of `now` decides: all of it if the caller gave it, else the time the question means."""
    if not live:
        return (question.now, str(question.now.tzinfo))
    period = question.period
    return () if period is None else (period.start, period.end)


def _digest(value: object) -> str:
    canonical = json.dumps(_plain(value), separators=(",", ":")).encode()
    return blake2b(canonical, digest_size=20).hexdigest()


def _plain(value: object) -> object:
    """The value as JSON in which whatever differs looks different."""
    if is_dataclass(value):
        return {type(value).__name__: [_plain(getattr(value, f.name)) for f in fields(value)]}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, datetime):
        return {"at": microseconds(value)}
    return value


def _by_uses(where: Filter | None) -> bool:
    """Whether a filter looks at use counts, which change without an entry in the feed."""
    match where:
        case Both(parts) | Either(parts):
            return any(_by_uses(part) for part in parts)
        case Not(part):
            return _by_uses(part)
        case Compare(name="uses", field=True):
            return True
    return False


def _fits(record: MemoryRecord, query: Query) -> bool:
    """Whether the memory as it is now satisfies the query, its filter aside."""
    reach = query.reach
    return (
        record.tenant == reach.tenant
        and record.state in query.states
        and (not query.kinds or record.kind in query.kinds)
        and (reach.agent_id is None or record.agent_id == reach.agent_id)
        and (reach.session_id is None or record.session_id == reach.session_id)
        and (query.since is None or record.happened_at >= query.since)
        and (query.until is None or record.happened_at < query.until)
        and (query.known_at is None or record.created_at <= query.known_at)
        and bool(np.float32(record.trust) >= np.float32(query.min_trust))
    )

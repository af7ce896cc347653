"""The views in use: built when they are asked for, kept while the store's feed stands still."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from remanence.clock import Clock
from remanence.knowledge.graph.around import around, spoken_around
from remanence.knowledge.graph.known import Known, known_of
from remanence.knowledge.graph.spoken import Spoken, spoken_in
from remanence.knowledge.graph.view import View
from remanence.knowledge.resting import as_they_rested
from remanence.model.knowledge import Claim, Entity
from remanence.model.predicates import SAME_AS
from remanence.model.query import ALL
from remanence.model.scope import Reach
from remanence.ports.store import Store

# Each holds all that is known in a reach, so few are kept.
MOST_REACHES = 8
MOST_VIEWS = 4

Mark: TypeAlias = tuple[tuple[int, int], ...]
Key: TypeAlias = tuple[Reach, datetime | None]


@dataclass(frozen=True, slots=True)
class _Read:
    """What is known in a reach, as it stays until the feed moves or a fact begins or ends."""

    mark: Mark
    known: Known
    spoken: Spoken
    until: datetime

    def is_fresh(self, mark: Mark, now: datetime) -> bool:
        return self.mark == mark and self.known.now <= now < self.until


@dataclass(slots=True)
class _Held:
    """What was read of a reach, and the views made of it, the one last used last."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    read: _Read | None = None
    views: OrderedDict[datetime | None, View] = field(default_factory=OrderedDict)


class Views:
    """Gives the graph of a reach as the store has it right now. Thread-safe.

    No reader waits for the building of another reach's view.
    """

    def __init__(self, store: Store, clock: Clock, one_at_a_time: frozenset[str]) -> None:
        self._store = store
        self._clock = clock
        self._one_at_a_time = one_at_a_time
        self._lock = threading.Lock()
        self._held: OrderedDict[Key, _Held] = OrderedDict()

    def view(
        self, reach: Reach, *, as_of: datetime | None = None, known_at: datetime | None = None
    ) -> View:
        """The graph as it was true at `as_of`, by what was known at `known_at`.

        What is left out is now; with `known_at` alone it is what was held true at that time.
        """
        held, now, mark = self._of((reach, known_at)), self._clock.now(), self._mark(reach)
        with held.lock:
            if held.read is None or not held.read.is_fresh(mark, now):
                held.views.clear()
                held.read = self._read(mark, reach, known_at, now)
            return _view(held.views, held.read, as_of or known_at)

    def around(self, reach: Reach, id: str, *, as_of: datetime | None = None) -> View:
        """What `view` gives for this entity's node, with nothing but its surroundings in it.

        It costs as much as is known of the entity and its neighbours, however large the graph.
        """
        now, held = self._clock.now(), self._held.get((reach, None))
        if held is not None and held.read and held.read.is_fresh(self._mark(reach), now):
            return self.view(reach, as_of=as_of)
        part = around(self._store, _wide(reach), id)
        if part is None:
            return self.view(reach, as_of=as_of)
        known = self._known(reach, *part, now=now)
        leader = known.standing_for.get(id)
        members = [one.id for one in known.members[leader]] if leader else []
        spoken = spoken_around(self._store, reach, leader or "", members)
        return View(known, spoken, as_of or now)

    def _mark(self, reach: Reach) -> Mark:
        """Where the feed stands; looked at before reading, so that no write is missed."""
        return tuple((one, self._store.position(one)) for one in self._store.partitions(reach))

    def _of(self, key: Key) -> _Held:
        with self._lock:
            held = self._held.setdefault(key, _Held())
            self._held.move_to_end(key)
            while len(self._held) > MOST_REACHES:
                self._held.popitem(last=False)
            return held

    def _read(self, mark: Mark, reach: Reach, known_at: datetime | None, now: datetime) -> _Read:
        # Claims first: what they speak of is then among the entities.
        claims = self._store.claims(_wide(reach), limit=ALL)
        if known_at is not None:
            claims = as_they_rested(self._store, reach.tenant, claims, known_at)
        entities = self._store.entities(_wide(reach), limit=ALL)
        known = self._known(reach, entities, claims, now=now, known_at=known_at)
        spoken = spoken_in(self._store, reach, known.standing_for, known_at)
        return _Read(mark, known, spoken, known.until())

    def _known(
        self,
        reach: Reach,
        entities: Sequence[Entity],
        claims: Sequence[Claim],
        *,
        now: datetime,
        known_at: datetime | None = None,
    ) -> Known:
        spoken_of = None
        if reach != _wide(reach):
            claims = [one for one in claims if _within(one, reach)]
            ids = [one.id for one in entities]
            spoken_of = {one.id for one in self._store.entities(reach, ids, limit=ALL)}
        return known_of(
            entities,
            claims,
            now=now,
            known_at=known_at,
            one_at_a_time=self._one_at_a_time,
            spoken_of=spoken_of,
        )


def _wide(reach: Reach) -> Reach:
    """The reach without agent and session: merges hold for all of them."""
    return replace(reach, agent_id=None, session_id=None)


def _view(views: OrderedDict[datetime | None, View], read: _Read, at: datetime | None) -> View:
    if at not in views:
        views[at] = View(read.known, read.spoken, at or read.known.now)
    views.move_to_end(at)
    while len(views) > MOST_VIEWS:
        views.popitem(last=False)
    return views[at]


def _within(claim: Claim, reach: Reach) -> bool:
    if claim.predicate == SAME_AS:
        return True
    in_agent = reach.agent_id in (None, claim.agent_id)
    return in_agent and reach.session_id in (None, claim.session_id)

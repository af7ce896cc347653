"""What can be asked of the graph; nothing here writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path

from remanence.clock import Clock
from remanence.knowledge.graph import likeness, plotting, walking
from remanence.knowledge.graph.asking import (
    MOST_DEPTH,
    MOST_STEPS,
    moment_or_none,
    name_of,
    relations_of,
    unknown,
    whole,
)
from remanence.knowledge.graph.communities import communities_of
from remanence.knowledge.graph.exporting import exported
from remanence.knowledge.graph.telling import timeline_of
from remanence.knowledge.graph.view import View
from remanence.knowledge.graph.views import Views
from remanence.knowledge.identity import Identity
from remanence.knowledge.resting import then_of
from remanence.model.accept import text_of, truth_of
from remanence.model.graph import Community, Likeness, Moment, Node, Route, Subgraph
from remanence.model.knowledge import Mention, entity_id, folded_name
from remanence.model.memory import State, unit_interval
from remanence.model.query import ALL, MAX_LIMIT, check_limit
from remanence.model.scope import Reach
from remanence.ports.store import Store
from remanence.text.words import fold

LEAST_LIKENESS = 0.5


class GraphReading:
    """The questions. Entities are named; an alias will do, or a first name that only one has.

    `user_id` is whose entities; `agent_id` and `session_id` narrow what is said of them;
    `include_shared` adds what belongs to no user; with `min_trust` (left out, the setting), what
    is trusted less is as if it were not there. `as_of` asks what was true then, `known_at` by
    what was known then; with `known_at` alone, what was held true at that time. A name that
    nothing goes by is `NotFound`.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        clock: Clock,
        embed: likeness.Embed | None = None,
        one_at_a_time: frozenset[str] = frozenset(),
        min_trust: float = 0.0,
    ) -> None:
        self._min_trust = min_trust
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._embed = embed
        self._views = Views(store, clock, one_at_a_time)
        self._identity = Identity(store, tenant)

    def get(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Node:
        """An entity with its aliases, observations, relations and mentions."""
        reach = self._reach(user_id, agent_id, session_id, include_shared, min_trust)
        view, id = self._about(reach, name, as_of, known_at)
        return view.node(id)

    def entities(
        self,
        type: str | None = None,
        text: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Node]:
        """Entities of a type, or with a text in name, alias, type or observation.

        What most is known of comes first. Case and accents do not count.
        """
        check_limit(limit)
        whole("offset", offset, 0, ALL)
        wanted = None if type is None else text_of("type", type)
        sought = "" if text is None else fold(text_of("text", text))
        view = self._view(
            self._reach(user_id, agent_id, session_id, include_shared, min_trust), as_of, known_at
        )
        there = _listed(view, known_at)
        ids = [id for id in there if wanted in (None, view.known.type_of(id))]
        matching = [id for id in ids if any(sought in fold(text) for text in view.texts_of(id))]
        matching.sort(key=view.weight)
        return [view.node(id) for id in matching[offset : offset + limit]]

    def mentions(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Mention]:
        """The memories that speak of an entity, each once, the latest first."""
        check_limit(limit)
        whole("offset", offset, 0, ALL)
        reach = self._reach(user_id, agent_id, session_id, include_shared, min_trust)
        view, id = self._about(reach, name, as_of, known_at)
        ids = [one.id for one in view.known.members[id]]
        said = {one.memory: one for one in self._store.mentions(reach, ids, limit=ALL)}
        until = moment_or_none("as_of", as_of)
        kept = [one for one in said.values() if until is None or one.happened_at <= until]
        kept = self._there_by(kept, moment_or_none("known_at", known_at))
        return kept[offset : offset + limit]

    def neighbours(
        self,
        name: str,
        *,
        depth: int = 1,
        relations: str | Sequence[str] | None = None,
        together: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 50,
    ) -> Subgraph:
        """The entity and what lies within `depth` steps, at most `limit` besides it.

        Edges are followed both ways; `relations` are the only ones wanted. `together` adds weak
        edges between entities that the same memories speak of.
        """
        check_limit(limit)
        whole("depth", depth, 1, MOST_DEPTH)
        reach = self._reach(user_id, agent_id, session_id, include_shared, min_trust)
        view = self._view(reach, as_of, known_at)
        ground = walking.Ground(view, relations_of(relations), truth_of("together", together))
        id = self._found(view, reach, name, known_at)
        return walking.neighbourhood(ground, id, depth, limit)

    def paths(
        self,
        a: str,
        b: str,
        *,
        max_length: int = 4,
        relations: str | Sequence[str] | None = None,
        together: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 5,
    ) -> list[Route]:
        """Ways from one entity to another of at most `max_length` edges, the shortest first."""
        check_limit(limit)
        whole("max_length", max_length, 1, MOST_STEPS)
        reach = self._reach(user_id, agent_id, session_id, include_shared, min_trust)
        view = self._view(reach, as_of, known_at)
        ground = walking.Ground(view, relations_of(relations), truth_of("together", together))
        start, goal = (self._found(view, reach, name, known_at) for name in (a, b))
        return walking.paths(ground, start, goal, max_length, limit)

    def timeline(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 1000,
    ) -> list[Moment]:
        """What began and ended for an entity, oldest first; up to `as_of` if that is given.

        Of more than `limit` moments the last ones come.
        """
        check_limit(limit)
        reach = self._reach(user_id, agent_id, session_id, include_shared, min_trust)
        view, id = self._about(reach, name, as_of, known_at)
        told = timeline_of(view.known.facts, id, moment_or_none("as_of", as_of))
        return told[-limit:]

    def communities(
        self,
        *,
        together: bool = True,
        least: int = 2,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 50,
    ) -> list[Community]:
        """Groups of at least `least` entities that belong together, the largest first."""
        check_limit(limit)
        whole("least", least, 1, MAX_LIMIT)
        truth_of("together", together)
        reach = self._reach(user_id, agent_id, session_id, include_shared, min_trust)
        view = self._view(reach, as_of, known_at)
        return communities_of(view, together=together, least=least, limit=limit)

    def alike(
        self,
        *,
        least: float = LEAST_LIKENESS,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 20,
    ) -> list[Likeness]:
        """Entities that may be one, the likeliest first, each with a score and the reasons.

        Those said to be apart (`unmerge`), joined by a relation or of two types never come.
        """
        check_limit(limit)
        unit_interval("least", least)
        reach = self._reach(user_id, agent_id, session_id, False)
        view = self._view(reach, as_of, known_at)
        return likeness.alike(view, self._embed, least)[:limit]

    def export(
        self,
        format: str = "json",
        *,
        about: str | None = None,
        depth: int = 2,
        together: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = MAX_LIMIT,
    ) -> str:
        """The graph, or what lies around `about`, as json, graphml or mermaid text.

        At most `limit` entities, what most is known of first.
        """
        reach = self._reach(user_id, agent_id, session_id, include_shared, min_trust)
        view = self._view(reach, as_of, known_at)
        start = None if about is None else self._found(view, reach, about, known_at)
        part = _part(view, start, depth, together, limit, known_at)
        return exported(part, format)

    def plot(
        self,
        path: str | PathLike[str],
        *,
        about: str | None = None,
        depth: int = 2,
        together: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 60,
    ) -> Path:
        """Draw the graph, or what lies around `about`, to a .png or .svg file; its path."""
        target = plotting.check_picture(path)
        reach = self._reach(user_id, agent_id, session_id, include_shared, min_trust)
        view = self._view(reach, as_of, known_at)
        start = None if about is None else self._found(view, reach, about, known_at)
        plotting.draw(_part(view, start, depth, together, limit, known_at), target)
        return target

    def _reach(
        self,
        user_id: str | None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = 0.0,
    ) -> Reach:
        return Reach(
            tenant=self._tenant,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            include_shared=include_shared,
            min_trust=self._min_trust if min_trust is None else min_trust,
        )

    def _view(
        self, reach: Reach, as_of: datetime | None = None, known_at: datetime | None = None
    ) -> View:
        return self._views.view(
            reach,
            as_of=moment_or_none("as_of", as_of),
            known_at=moment_or_none("known_at", known_at),
        )

    def _about(
        self, reach: Reach, name: str, as_of: datetime | None, known_at: datetime | None
    ) -> tuple[View, str]:
        """A view that is right about the named entity, and its id there.

        The rest of the graph is not read where that will do.
        """
        given = name_of("name", name)
        if known_at is not None or reach.include_shared:
            view = self._view(reach, as_of, known_at)
            return view, self._found(view, reach, given, known_at)
        id = entity_id(reach.user_id, given)
        if not self._store.entities(reach, [id]):
            id = self._identity.resolve(reach, given).id
        view = self._views.around(reach, id, as_of=moment_or_none("as_of", as_of))
        if id not in view.known.standing_for:
            raise unknown(given)
        return view, view.known.standing_for[id]

    def _found(self, view: View, reach: Reach, name: str, known_at: datetime | None = None) -> str:
        """The id that a name stands for in the view, else `NotFound`.

        A first name will do where it means one person.
        """
        given = name_of("name", name)
        id = view.known.ids.get(folded_name(given))
        if id is None:
            then = moment_or_none("known_at", known_at)
            meant = self._identity.resolve(reach, given, then).id
            id = view.known.standing_for.get(meant)
        if id is None:
            raise unknown(given)
        return id

    def _there_by(self, mentions: list[Mention], known_at: datetime | None) -> list[Mention]:
        if known_at is None:
            return mentions
        records = self._store.get(self._tenant, [one.memory for one in mentions])
        then = (then_of(self._store, one, known_at) for one in records)
        there = {one.id for one in then if one is not None and one.state == State.ACTIVE}
        return [one for one in mentions if one.memory in there]


def _listed(view: View, known_at: datetime | None) -> list[str]:
    """Entities that count now; what rests has names that only who asks for them is told."""
    return [id for id in view.known.members if known_at is not None or view.counts(id)]


def _part(
    view: View,
    start: str | None,
    depth: int,
    together: bool,
    limit: int,
    known_at: datetime | None,
) -> Subgraph:
    check_limit(limit)
    whole("depth", depth, 1, MOST_DEPTH)
    ground = walking.Ground(view, None, truth_of("together", together))
    if start is not None:
        return walking.neighbourhood(ground, start, depth, limit)
    best = dict.fromkeys(sorted(_listed(view, known_at), key=view.weight)[:limit])
    return view.part(best, ground.edges(best))

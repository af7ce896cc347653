"""What can be asked of the graph; nothing here writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Unpack

from remanence.knowledge.arguments import (
    MOST_DEPTH,
    MOST_STEPS,
    KnowledgeOwner,
    KnowledgeQuery,
    moments_of,
    name_of,
    reach_of,
    relations_of,
    unknown,
)
from remanence.knowledge.claims import then_of
from remanence.knowledge.graph import likeness, paths
from remanence.knowledge.graph.communities import communities_of
from remanence.knowledge.graph.export import check_picture, draw, exported
from remanence.knowledge.graph.view import GraphView, GraphViews, timeline_of
from remanence.knowledge.identity import Identity
from remanence.language.words import fold
from remanence.model.clock import Clock
from remanence.model.graph import Community, Likeness, Node, Route, Subgraph, TimelineEntry
from remanence.model.knowledge import Mention, entity_id, folded_name
from remanence.model.memory import State, unit_interval
from remanence.model.ports.store import Store
from remanence.model.query import ALL, MAX_LIMIT, check_limit, check_offset
from remanence.model.scope import Reach
from remanence.model.validation import text_of, truth_of, whole_of

LEAST_LIKENESS = 0.5


class GraphQueries:
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
        self._views = GraphViews(store, clock, one_at_a_time)
        self._identity = Identity(store.knowledge, tenant)

    def get(self, name: str, **asked: Unpack[KnowledgeQuery]) -> Node:
        """An entity with its aliases, observations, relations and mentions."""
        view, id = self._about(name, asked)
        return view.node(id)

    def entities(
        self,
        type: str | None = None,
        text: str | None = None,
        *,
        limit: int = 100,
        offset: int = 0,
        **asked: Unpack[KnowledgeQuery],
    ) -> list[Node]:
        """Entities of a type, or with a text in name, alias, type or observation.

        What most is known of comes first. Case and accents do not count.
        """
        check_limit(limit)
        check_offset(offset)
        wanted = None if type is None else text_of("type", type)
        sought = "" if text is None else fold(text_of("text", text))
        view, _ = self._seen(asked)
        there = _listed(view, asked)
        ids = [id for id in there if wanted in (None, view.known.type_of(id))]
        matching = [id for id in ids if any(sought in fold(text) for text in view.texts_of(id))]
        matching.sort(key=view.weight)
        return [view.node(id) for id in matching[offset : offset + limit]]

    def mentions(
        self, name: str, *, limit: int = 100, offset: int = 0, **asked: Unpack[KnowledgeQuery]
    ) -> list[Mention]:
        """The memories that speak of an entity, each once, the latest first."""
        check_limit(limit)
        check_offset(offset)
        view, id = self._about(name, asked)
        ids = [one.id for one in view.known.members[id]]
        found = self._store.knowledge.mentions(self._reach(asked), ids, limit=ALL)
        said = {one.memory: one for one in found}
        until, then = moments_of(asked)
        kept = [one for one in said.values() if until is None or one.happened_at <= until]
        kept = self._there_by(kept, then)
        return kept[offset : offset + limit]

    def neighbours(
        self,
        name: str,
        *,
        depth: int = 1,
        relations: str | Sequence[str] | None = None,
        together: bool = False,
        limit: int = 50,
        **asked: Unpack[KnowledgeQuery],
    ) -> Subgraph:
        """The entity and what lies within `depth` steps, at most `limit` besides it.

        Edges are followed both ways; `relations` are the only ones wanted. `together` adds weak
        edges between entities that the same memories speak of.
        """
        check_limit(limit)
        whole_of("depth", depth, 1, MOST_DEPTH)
        view, reach = self._seen(asked)
        ground = paths.Ground(view, relations_of(relations), truth_of("together", together))
        id = self._found(view, reach, name, asked)
        return paths.neighbourhood(ground, id, depth, limit)

    def paths(
        self,
        a: str,
        b: str,
        *,
        max_length: int = 4,
        relations: str | Sequence[str] | None = None,
        together: bool = False,
        limit: int = 5,
        **asked: Unpack[KnowledgeQuery],
    ) -> list[Route]:
        """Ways from one entity to another of at most `max_length` edges, the shortest first."""
        check_limit(limit)
        whole_of("max_length", max_length, 1, MOST_STEPS)
        view, reach = self._seen(asked)
        ground = paths.Ground(view, relations_of(relations), truth_of("together", together))
        start, goal = (self._found(view, reach, name, asked) for name in (a, b))
        return paths.paths(ground, start, goal, max_length, limit)

    def timeline(
        self, name: str, *, limit: int = 1000, **asked: Unpack[KnowledgeQuery]
    ) -> list[TimelineEntry]:
        """What began and ended for an entity, oldest first; up to `as_of` if that is given.

        Of more than `limit` moments the last ones come.
        """
        check_limit(limit)
        view, id = self._about(name, asked)
        told = timeline_of(view.known.facts, id, moments_of(asked)[0])
        return told[-limit:]

    def communities(
        self,
        *,
        together: bool = True,
        least: int = 2,
        limit: int = 50,
        **asked: Unpack[KnowledgeQuery],
    ) -> list[Community]:
        """Groups of at least `least` entities that belong together, the largest first."""
        check_limit(limit)
        whole_of("least", least, 1, MAX_LIMIT)
        truth_of("together", together)
        view, _ = self._seen(asked)
        return communities_of(view, together=together, least=least, limit=limit)

    def alike(
        self,
        *,
        least: float = LEAST_LIKENESS,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 20,
        **whose: Unpack[KnowledgeOwner],
    ) -> list[Likeness]:
        """Entities that may be one, the likeliest first, each with a score and the reasons.

        Those said to be apart (`unmerge`), joined by a relation or of two types never come.
        """
        check_limit(limit)
        unit_interval("least", least)
        as_of, known_at = moments_of({"as_of": as_of, "known_at": known_at})
        reach = Reach(tenant=self._tenant, **whose)
        view = self._views.view(reach, as_of=as_of, known_at=known_at)
        return likeness.alike(view, self._embed, least)[:limit]

    def export(
        self,
        format: str = "json",
        *,
        about: str | None = None,
        depth: int = 2,
        together: bool = False,
        limit: int = MAX_LIMIT,
        **asked: Unpack[KnowledgeQuery],
    ) -> str:
        """The graph, or what lies around `about`, as json, graphml or mermaid text.

        At most `limit` entities, what most is known of first.
        """
        return exported(self._part(about, depth, together, limit, asked), format)

    def plot(
        self,
        path: str | PathLike[str],
        *,
        about: str | None = None,
        depth: int = 2,
        together: bool = False,
        limit: int = 60,
        **asked: Unpack[KnowledgeQuery],
    ) -> Path:
        """Draw the graph, or what lies around `about`, to a .png or .svg file; its path."""
        target = check_picture(path)
        draw(self._part(about, depth, together, limit, asked), target)
        return target

    def _reach(self, asked: KnowledgeQuery) -> Reach:
        return reach_of(self._tenant, asked, self._min_trust)

    def _seen(self, asked: KnowledgeQuery) -> tuple[GraphView, Reach]:
        reach = self._reach(asked)
        as_of, known_at = moments_of(asked)
        return self._views.view(reach, as_of=as_of, known_at=known_at), reach

    def _about(self, name: str, asked: KnowledgeQuery) -> tuple[GraphView, str]:
        """A view that is right about the named entity, and its id there.

        The rest of the graph is not read where that will do.
        """
        given = name_of("name", name)
        if asked.get("known_at") is not None or asked.get("include_shared"):
            view, reach = self._seen(asked)
            return view, self._found(view, reach, given, asked)
        reach = self._reach(asked)
        id = entity_id(reach.user_id, given)
        if not self._store.knowledge.entities(reach, [id]):
            id = self._identity.resolve(reach, given).id
        view = self._views.around(reach, id, as_of=moments_of(asked)[0])
        if id not in view.known.standing_for:
            raise unknown(given)
        return view, view.known.standing_for[id]

    def _found(self, view: GraphView, reach: Reach, name: str, asked: KnowledgeQuery) -> str:
        """The id that a name stands for in the view, else `NotFound`.

        A first name will do where it means one person.
        """
        given = name_of("name", name)
        id = view.known.ids.get(folded_name(given))
        if id is None:
            meant = self._identity.resolve(reach, given, moments_of(asked)[1]).id
            id = view.known.standing_for.get(meant)
        if id is None:
            raise unknown(given)
        return id

    def _part(
        self, about: str | None, depth: int, together: bool, limit: int, asked: KnowledgeQuery
    ) -> Subgraph:
        """What lies around an entity, or what most is known of."""
        check_limit(limit)
        whole_of("depth", depth, 1, MOST_DEPTH)
        view, reach = self._seen(asked)
        ground = paths.Ground(view, None, truth_of("together", together))
        if about is not None:
            start = self._found(view, reach, about, asked)
            return paths.neighbourhood(ground, start, depth, limit)
        best = dict.fromkeys(sorted(_listed(view, asked), key=view.weight)[:limit])
        return view.part(best, ground.edges(best))

    def _there_by(self, mentions: list[Mention], known_at: datetime | None) -> list[Mention]:
        if known_at is None:
            return mentions
        records = self._store.archive.get(self._tenant, [one.memory for one in mentions])
        then = (then_of(self._store.archive, one, known_at) for one in records)
        there = {one.id for one in then if one is not None and one.state == State.ACTIVE}
        return [one for one in mentions if one.memory in there]


def _listed(view: GraphView, asked: KnowledgeQuery) -> list[str]:
    """Entities that count now; what rests has names that only who asks for them is told."""
    then = asked.get("known_at") is not None
    return [id for id in view.known.members if then or view.counts(id)]

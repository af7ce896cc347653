"""The graph of one tenant: entities, what is noted of them, how they are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import Unpack
from uuid import UUID

from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.knowledge.arguments import (
    KnowledgeOwner,
    by_actor,
    name_of,
    period_of,
    relation_name,
    texts_of,
    unknown,
)
from remanence.knowledge.claims import MICROSECOND, THING, Statements, merged_into, standing
from remanence.knowledge.graph import likeness
from remanence.knowledge.graph.queries import GraphQueries
from remanence.knowledge.graph.view import GraphView, relation_of
from remanence.model.clock import Clock
from remanence.model.graph import Likeness, Node, Relation, ResolveResult
from remanence.model.knowledge import Claim, Entity, entity_id, folded_name
from remanence.model.memory import unit_interval
from remanence.model.ports.store import Store
from remanence.model.predicates import NOTE, SAME_AS, phrase, predicate_of
from remanence.model.query import ALL
from remanence.model.scope import Reach, Scope
from remanence.model.validation import MAX_LABEL, id_of, label_of, text_of, truth_of

CERTAIN = 0.9


class Graph(GraphQueries):
    """Entities and relations that callers state and that were found in memories.

    Whatever is stated is a claim: taking it back is one too, so the past can still be asked. What
    `erase=True` and `erase` remove is gone from the past as well. Keep one: it holds the views.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        clock: Clock,
        new_id: Callable[[], UUID],
        embed: likeness.Embed | None = None,
        one_at_a_time: frozenset[str] = frozenset(),
        min_trust: float = 0.0,
    ) -> None:
        super().__init__(store, tenant, clock, embed, one_at_a_time, min_trust)
        self._one_at_a_time = one_at_a_time
        self._stating = Statements(clock, new_id, one_at_a_time)

    def add(
        self,
        name: str,
        type: str = THING,
        *,
        observations: str | Sequence[str] = (),
        actor: str | None = None,
        **whose: Unpack[KnowledgeOwner],
    ) -> Node:
        """Add an entity, or give one that is there its type and more observations.

        A purge finds what is observed by its `actor`.
        """
        scope, by = Scope(tenant=self._tenant, **whose), by_actor(actor)
        kind = text_of("type", type, MAX_LABEL)
        entity = self._stating.entity(name_of("name", name), kind, scope.user_id, given=True)
        texts = texts_of("observations", observations)
        notes = [self._stating.note(entity, text, scope, metadata=by) for text in texts]
        self._store.knowledge.know(self._tenant, [entity], notes)
        return self._node(entity, scope)

    def observe(
        self,
        name: str,
        observations: str | Sequence[str],
        *,
        source: str | None = None,
        actor: str | None = None,
        **whose: Unpack[KnowledgeOwner],
    ) -> Node:
        """Note something about an entity that is there; `source` is the memory it comes from.

        A note with a source is erased with that memory; a purge finds it by its `actor`.
        """
        scope, by = Scope(tenant=self._tenant, **whose), by_actor(actor)
        entity = self._there(name, scope)
        memory = None if source is None else id_of(source)
        texts = texts_of("observations", observations)
        notes = [
            self._stating.note(entity, text, scope, memory=memory, metadata=by) for text in texts
        ]
        self._store.knowledge.know(self._tenant, claims=notes)
        return self._node(entity, scope)

    def unobserve(
        self,
        name: str,
        observations: str | Sequence[str],
        *,
        erase: bool = False,
        **whose: Unpack[KnowledgeOwner],
    ) -> int:
        """Take observations back, in all their words; how many claims that concerned.

        Those that nobody made are passed over.
        """
        scope = Scope(tenant=self._tenant, **whose)
        wanted = set(texts_of("observations", observations))
        notes = [one for one in self._said_of(name, scope) if one.predicate == NOTE]
        return self._take_back([one for one in notes if one.value in wanted], erase)

    def relate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        confidence: float = 1.0,
        trust: float = 1.0,
        source_memory: str | None = None,
        actor: str | None = None,
        **whose: Unpack[KnowledgeOwner],
    ) -> Relation:
        """State that one entity is so related to another; both are added if they are not there.

        Said again, it is one relation with more evidence. With `source_memory`, the claim is
        erased with that memory; a purge finds it by its `actor`.
        """
        scope = Scope(tenant=self._tenant, **whose)
        label = relation_name(relation)
        sure = unit_interval("trust", trust)
        # Who is trusted less gives no entity: theirs is there as long as something is said of it.
        owner, given = scope.user_id, sure >= 1
        kind = str(predicate_of(label, self._one_at_a_time).object or THING)
        a = self._stating.entity(name_of("source", source), THING, owner, given=given)
        b = self._stating.entity(name_of("target", target), kind, owner, given=given)
        began, ended = period_of(valid_from, valid_to)
        claim = self._stating.relation(
            a,
            label,
            b,
            scope,
            confidence=unit_interval("confidence", confidence),
            trust=sure,
            began=began,
            ended=ended,
            memory=None if source_memory is None else id_of(source_memory),
            metadata=by_actor(actor),
        )
        self._store.knowledge.know(self._tenant, [a, b], [claim])
        return self._relation(claim, scope)

    def unrelate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        erase: bool = False,
        **whose: Unpack[KnowledgeOwner],
    ) -> int:
        """Take a relation back; how many claims said so. `NotFound` if none did."""
        scope = Scope(tenant=self._tenant, **whose)
        label = relation_name(relation)
        joined = [one for one in self._said_of(source, scope) if one.predicate == label]
        ends = self._group(target, scope)
        said = [one for one in joined if one.object in ends]
        gone = self._take_back(said, erase)
        if not gone:
            raise NotFound(f"Nobody said that {phrase(source, label, target)[:200]!r}.")
        return gone

    def erase(self, name: str, *, user_id: str | None = None) -> int:
        """Erase an entity, its aliases, and all claims and mentions of it; how many rows went.

        The memories that speak of it stay: it comes back only when one of them is read anew.
        """
        scope = Scope(tenant=self._tenant, user_id=user_id)
        return self._store.knowledge.unknow(self._tenant, (), sorted(self._group(name, scope)))

    def merge(
        self, name: str, into: str, *, reason: str | None = None, user_id: str | None = None
    ) -> Node:
        """Say that both names mean one thing, which goes by the name `into` from now on."""
        scope = Scope(tenant=self._tenant, user_id=user_id)
        why = label_of("reason", reason)
        a, b = self._there(name, scope), self._there(into, scope)
        if a.id == b.id:
            raise InvalidInput(f"{name!r} and {into!r} are the same name; give two.")
        node = self._node(b, scope)
        if a.id not in self._group(into, scope) or node.id != b.id:
            merge = self._stating.same(a, b, scope, reason=why)
            self._store.knowledge.know(
                self._tenant, claims=self._last([merge], {a.id, b.id}, scope)
            )
            node = self._node(b, scope)
        return node

    def unmerge(self, name: str, *, reason: str | None = None, user_id: str | None = None) -> Node:
        """Undo a merge: the name stands for itself again, with all that was said under it.

        What was merged into it before stays with it.
        """
        scope = Scope(tenant=self._tenant, user_id=user_id)
        why = label_of("reason", reason)
        entity = self._there(name, scope)
        group = {one.id: one for one in self._members(name, scope)}
        if len(group) == 1:
            raise NotFound(f"{name!r} is not merged with anything; `get` lists its aliases.")
        own = merged_into(entity.id, standing(self._merges(group, scope)))
        own = own if len(own) < len(group) else {entity.id}
        pairs = product(sorted(own), sorted(group.keys() - own))
        denials = [
            self._stating.same(group[a], group[b], scope, reason=why, denies=True) for a, b in pairs
        ]
        self._store.knowledge.know(self._tenant, claims=self._last(denials, group, scope))
        return self._node(entity, scope)

    def resolve(
        self, *, dry_run: bool = True, threshold: float = CERTAIN, user_id: str | None = None
    ) -> ResolveResult:
        """Merge the entities that are surely one; by default only say which those are.

        A name that fits two others is left to a person, as `unsure`.
        """
        truth_of("dry_run", dry_run)
        unit_interval("threshold", threshold)
        scope = Scope(tenant=self._tenant, user_id=user_id)
        view = self._views.view(self._user(scope))
        sure, unsure = likeness.certain(likeness.alike(view, self._embed, threshold), threshold)
        if not dry_run and sure:
            self._store.knowledge.know(
                self._tenant, claims=[self._same(view, one, scope) for one in sure]
            )
        return ResolveResult(merged=tuple(sure), unsure=tuple(unsure), dry_run=dry_run)

    def _own(self, scope: Scope) -> Reach:
        """All of a scope, whatever it is trusted."""
        return Reach(
            tenant=self._tenant,
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            session_id=scope.session_id,
        )

    def _user(self, scope: Scope) -> Reach:
        return Reach(tenant=self._tenant, user_id=scope.user_id)

    def _same(self, view: GraphView, one: Likeness, scope: Scope) -> Claim:
        ids = (view.known.ids[folded_name(name)] for name in (one.name, one.into))
        a, b = (view.known.members[id][0] for id in ids)
        return self._stating.same(a, b, scope, reason="; ".join(one.why)[:MAX_LABEL])

    def _merges(self, ids: Iterable[str], scope: Scope) -> list[Claim]:
        """What was said of who these are the same as."""
        reach = self._user(scope)
        return self._store.knowledge.claims(reach, about=sorted(ids), predicate=SAME_AS, limit=ALL)

    def _last(self, claims: Sequence[Claim], ids: Iterable[str], scope: Scope) -> list[Claim]:
        """The claims, recorded after all merges of these entities, if need be by a microsecond.

        So what is said in one tick of the clock, or after somebody whose clock runs ahead, counts
        in the order in which it was said.
        """
        latest = max((one.recorded_at for one in self._merges(ids, scope)), default=None)
        if latest is None:
            return list(claims)
        after = latest + MICROSECOND
        return [replace(one, recorded_at=max(one.recorded_at, after)) for one in claims]

    def _take_back(self, said: Sequence[Claim], erase: bool) -> int:
        """Deny what these claims say, or erase them; how many were affirmed until now."""
        if truth_of("erase", erase):
            return (
                self._store.knowledge.unknow(self._tenant, [one.id for one in said]) if said else 0
            )
        live = standing(said)
        self._store.knowledge.know(self._tenant, claims=self._stating.denials(live))
        return len(live)

    def _there(self, name: str, scope: Scope) -> Entity:
        """The user's own entity of that name, else `NotFound`."""
        given = name_of("name", name)
        own = self._store.knowledge.entities(self._user(scope), [entity_id(scope.user_id, given)])
        if not own:
            raise unknown(given)
        return own[0]

    def _members(self, name: str, scope: Scope) -> tuple[Entity, ...]:
        """The entity of exactly that name or alias, and all that is merged with it."""
        entity = self._there(name, scope)
        known = self._views.around(self._user(scope), entity.id).known
        return known.members.get(known.standing_for.get(entity.id, ""), (entity,))

    def _group(self, name: str, scope: Scope) -> set[str]:
        return {one.id for one in self._members(name, scope)}

    def _said_of(self, name: str, scope: Scope) -> list[Claim]:
        """Claims whose subject is the entity or one merged with it."""
        own = self._group(name, scope)
        reach = self._own(scope)
        return self._store.knowledge.claims(reach, subjects=sorted(own), limit=ALL)

    def _node(self, entity: Entity, scope: Scope) -> Node:
        """The entity as its scope sees it now."""
        reach = self._own(scope)
        view = self._views.around(reach, entity.id)
        leader = view.known.standing_for.get(entity.id)
        if leader is not None:
            return view.node(leader)
        return Node(
            id=entity.id,
            name=entity.name,
            type=entity.type,
            created_at=entity.created_at,
            given=entity.given,
            user_id=entity.user_id,
        )

    def _relation(self, claim: Claim, scope: Scope) -> Relation:
        reach = self._own(scope)
        facts = self._views.around(reach, claim.subject).known.facts
        told = next((one for one in facts if claim.id in one.claims), None)
        if told is None:
            raise Conflict("The relation was taken back while it was being stated; state it again.")
        return relation_of(told)

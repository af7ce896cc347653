"""Whom a name means in a store, by indexed reads alone: ids, beginnings of names, claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from remanence.knowledge.identity.grouping import (
    TITLED,
    Words,
    bare_name,
    groups,
    rank,
    said_same,
)
from remanence.model.knowledge import Claim, Entity, EntityType, entity_id
from remanence.model.predicates import SAME_AS
from remanence.model.query import ALL
from remanence.model.scope import Reach
from remanence.ports.store import Knowledge

# So many people whose names begin with the same word are more than one.
MANY = 100
# How far a chain of merges is followed; each of them was made by somebody.
STEPS = 20

_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Whom a name means: the entities that are one, and the one that stands for them.

    `ids` starts with that one and is empty if nobody has the name. Where shared knowledge is asked
    for, those that belong to no user follow the user's own.
    """

    ids: tuple[str, ...]
    id: str
    name: str
    aliases: tuple[str, ...] = ()


class Identity:
    """Resolves names of one tenant. What two entities are to each other is a user's, not an
    agent's or a session's."""

    def __init__(self, store: Knowledge, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def resolve(self, reach: Reach, name: str, known_at: datetime | None = None) -> Resolved:
        """Whom the name, or an entity's id, means to the user in reach."""
        users = dict.fromkeys((reach.user_id, None) if reach.include_shared else (reach.user_id,))
        found = [self._resolve(user, name, known_at, reach.min_trust) for user in users]
        there = [one for one in found if one.ids] or found[:1]
        return replace(
            there[0],
            ids=tuple(id for one in there for id in one.ids),
            aliases=tuple(dict.fromkeys(alias for one in there for alias in one.aliases)),
        )

    def same(
        self,
        user_id: str | None,
        ids: Iterable[str],
        known_at: datetime | None = None,
        there: Iterable[Entity] = (),
        min_trust: float = 0.0,
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Who stands for these entities of a user, and the names of all that are concerned.

        `there` are such of them as are read already.
        """
        near = self._near(user_id, min_trust)
        near.hold(there)
        near.read(ids, ())
        leaders = groups(near.entities.values(), near.claims.values(), known_at)
        return leaders, {id: one.name for id, one in near.entities.items()}

    def same_in(self, reach: Reach, entities: Sequence[Entity]) -> dict[str, str]:
        """Who stands for these entities, and all they may be, to the user in reach.

        What is shared is one with what the user calls so.
        """
        own = [one for one in entities if one.user_id == reach.user_id]
        shared = [one for one in entities if one.user_id != reach.user_id]
        least = reach.min_trust
        leaders, _ = self.same(reach.user_id, [one.id for one in own], there=own, min_trust=least)
        theirs, _ = self.same(None, [one.id for one in shared], there=shared, min_trust=least)
        called = ((one, leaders.get(entity_id(reach.user_id, one.name))) for one in shared)
        led = {theirs[one.id]: over for one, over in called if over and one.id in theirs}
        return leaders | {id: led.get(over, over) for id, over in theirs.items()}

    def _near(self, user_id: str | None, min_trust: float) -> _Nearby:
        reach = Reach(tenant=self._tenant, user_id=user_id, min_trust=min_trust)
        return _Nearby(self._store, reach)

    def _resolve(
        self, user_id: str | None, name: str, known_at: datetime | None, min_trust: float
    ) -> Resolved:
        id = entity_id(user_id, name)
        asked = Entity(id=id, name=name, type=EntityType.PERSON, created_at=_EVER, user_id=user_id)
        near = self._near(user_id, min_trust)
        near.read([id, name], [asked])
        wanted = name if name in near.entities else id
        everybody = near.entities if wanted in near.entities else near.entities | {id: asked}
        leaders = groups(everybody.values(), near.claims.values(), known_at)
        leader = leaders[wanted]
        group = [one for one in near.entities.values() if leaders[one.id] == leader]
        return _resolved(group, leader) if group else Resolved(ids=(), id=id, name=name)


def _resolved(group: Sequence[Entity], leader: str) -> Resolved:
    first, *others = sorted(group, key=lambda one: (one.id != leader, rank(one)))
    aliases = dict.fromkeys(one.name for one in others if one.name != first.name)
    ids = (first.id, *(one.id for one in others))
    return Resolved(ids=ids, id=first.id, name=first.name, aliases=tuple(aliases))


class _Nearby:
    """Entities that may be the same as some, and what was said of that."""

    def __init__(self, store: Knowledge, reach: Reach) -> None:
        self._store = store
        self._reach = reach
        self._roots: dict[str, dict[str, Entity]] = {}
        self._there: dict[str, Entity | None] = {}
        self.entities: dict[str, Entity] = {}
        self.claims: dict[str, Claim] = {}

    def read(self, ids: Iterable[str], people: Sequence[Entity]) -> None:
        """Follow names and `same as` claims from these until there is nothing new."""
        wanted = set(ids)
        for _ in range(STEPS):
            new = self._by_id(wanted)
            new |= self._alike([*people, *new.values()])
            new = {id: one for id, one in new.items() if id not in self.entities}
            self.entities |= new
            said = [one for one in self._said_of(new) if one.value]
            self.claims |= {one.id: one for one in said}
            wanted = {id for one in said for id in said_same(one)} - self.entities.keys()
            people = ()
            if not wanted:
                return

    def _said_of(self, entities: Iterable[str]) -> list[Claim]:
        asked = list(entities)
        if not asked:
            return []
        return self._store.claims(self._reach, about=asked, predicate=SAME_AS, limit=ALL)

    def hold(self, entities: Iterable[Entity]) -> None:
        """Entities that are read already."""
        self._there |= {one.id: one for one in entities}

    def _by_id(self, ids: Iterable[str]) -> dict[str, Entity]:
        asked = set(ids)
        if new := sorted(asked - self._there.keys()):
            self._there |= dict.fromkeys(new)
            self.hold(self._store.entities(self._reach, new, limit=ALL))
        found = ((id, self._there[id]) for id in asked)
        return {id: one for id, one in found if one is not None}

    def _alike(self, people: Iterable[Entity]) -> dict[str, Entity]:
        """People who may be the same by name.

        Those whose names begin with the whole name, and those that differ in the title. Only if
        somebody's whole name begins this one do all that begin so matter.
        """
        names = {bare_name(one.name) for one in people if one.type == EntityType.PERSON} - {()}
        self._read_roots(names)
        found: dict[str, Entity] = {}
        for words in names:
            rooted = [(bare_name(one.name), one) for one in self._roots[words[0]].values()]
            short = any(len(name) < len(words) and _begins(name, words) for name, _ in rooted)
            found |= {one.id: one for name, one in rooted if short or _begins(words, name)}
        return found

    def _read_roots(self, names: Set[Words]) -> None:
        """People whose names begin with the first word of these, each also with a title."""
        new = {words[0] for words in names} - self._roots.keys()
        begun = [
            one
            for word in new
            for one in self._store.entities(self._reach, prefix=f"{word} ", limit=MANY)
        ]
        self.hold(begun)
        begun += self._by_id(self._id(word) for word in new).values()
        bare = {" ".join(words) for words in (*names, *(bare_name(one.name) for one in begun))}
        titled = self._by_id(self._id(form) for name in bare for form in _titled(name))
        for word in new:
            self._roots[word] = {}
        for one in (*begun, *titled.values()):
            words = bare_name(one.name)
            if words and words[0] in self._roots:
                self._roots[words[0]][one.id] = one

    def _id(self, name: str) -> str:
        return entity_id(self._reach.user_id, name)


def _titled(name: str) -> list[str]:
    return [f"{title} {name}" for title in TITLED] if " " in name else []


def _begins(start: Sequence[str], name: Sequence[str]) -> bool:
    return tuple(name[: len(start)]) == tuple(start)

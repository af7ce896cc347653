"""Whom a name means in a store, by indexed reads alone: ids, beginnings of names, claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from remanence.knowledge.identity.grouping import TITLED, bare_name, groups, rank, said_same
from remanence.knowledge.paging import every_claim
from remanence.model.knowledge import Claim, Entity, EntityType, entity_id
from remanence.model.predicates import SAME_AS
from remanence.model.scope import Reach
from remanence.ports.store import Knowledge

PAGE = 1000
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
        found = [self._resolve(user, name, known_at) for user in users]
        there = [one for one in found if one.ids] or found[:1]
        return replace(
            there[0],
            ids=tuple(id for one in there for id in one.ids),
            aliases=tuple(dict.fromkeys(alias for one in there for alias in one.aliases)),
        )

    def same(
        self, user_id: str | None, ids: Iterable[str], known_at: datetime | None = None
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Who stands for these entities of a user, and the names of all that are concerned."""
        near = _Nearby(self._store, Reach(tenant=self._tenant, user_id=user_id))
        near.read(ids, ())
        leaders = groups(near.entities.values(), near.claims.values(), known_at)
        return leaders, {id: one.name for id, one in near.entities.items()}

    def _resolve(self, user_id: str | None, name: str, known_at: datetime | None) -> Resolved:
        id = entity_id(user_id, name)
        asked = Entity(id=id, name=name, type=EntityType.PERSON, created_at=_EVER, user_id=user_id)
        near = _Nearby(self._store, Reach(tenant=self._tenant, user_id=user_id))
        near.read([id, name], [asked])
        wanted = name if name in near.entities else id
        everybody = near.entities if wanted in near.entities else near.entities | {id: asked}
        leaders = groups(everybody.values(), near.claims.values(), known_at)
        group = [one for one in near.entities.values() if leaders[one.id] == leaders[wanted]]
        return _resolved(group) if group else Resolved(ids=(), id=id, name=name)


def _resolved(group: Sequence[Entity]) -> Resolved:
    first, *others = sorted(group, key=rank)
    aliases = dict.fromkeys(one.name for one in others if one.name != first.name)
    ids = (first.id, *(one.id for one in others))
    return Resolved(ids=ids, id=first.id, name=first.name, aliases=tuple(aliases))


class _Nearby:
    """Entities that may be the same as some, and what was said of that."""

    def __init__(self, store: Knowledge, reach: Reach) -> None:
        self._store = store
        self._reach = reach
        self._roots: dict[str, list[Entity]] = {}
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
            said = [one for one in self._about(new) if one.predicate == SAME_AS and one.value]
            self.claims |= {one.id: one for one in said}
            wanted = {id for one in said for id in said_same(one)} - self.entities.keys()
            people = ()
            if not wanted:
                return

    def _about(self, entities: Iterable[str]) -> Sequence[Claim]:
        asked = list(entities)
        return every_claim(self._store, self._reach, about=asked) if asked else []

    def _by_id(self, ids: Iterable[str]) -> dict[str, Entity]:
        asked = sorted(ids)
        pages = (asked[at : at + PAGE] for at in range(0, len(asked), PAGE))
        found = (self._store.entities(self._reach, page, limit=PAGE) for page in pages)
        return {one.id: one for page in found for one in page}

    def _alike(self, people: Iterable[Entity]) -> dict[str, Entity]:
        """People who may be the same by name.

        Those whose names begin with the whole name, and those that differ in the title. Only if
        somebody's whole name begins this one do all that begin so matter.
        """
        found: dict[str, Entity] = {}
        for words in {bare_name(one.name) for one in people if one.type == EntityType.PERSON}:
            rooted = self._rooted(words[0]) if words else []
            names = [(bare_name(one.name), one) for one in rooted]
            short = any(len(name) < len(words) and _begins(name, words) for name, _ in names)
            found |= {one.id: one for name, one in names if short or _begins(words, name)}
            found |= self._by_id(self._id(form) for form in _titled(" ".join(words)))
        return found

    def _rooted(self, word: str) -> list[Entity]:
        """People whose names begin with a word, each also with a title."""
        if word not in self._roots:
            begun = self._store.entities(self._reach, prefix=f"{word} ", limit=MANY)
            begun += self._store.entities(self._reach, [self._id(word)])
            bare = {" ".join(bare_name(one.name)) for one in begun}
            titled = self._by_id(self._id(form) for name in bare for form in _titled(name))
            self._roots[word] = list({one.id: one for one in (*begun, *titled.values())}.values())
        return self._roots[word]

    def _id(self, name: str) -> str:
        return entity_id(self._reach.user_id, name)


def _titled(name: str) -> list[str]:
    return [f"{title} {name}" for title in TITLED] if " " in name else []


def _begins(start: Sequence[str], name: Sequence[str]) -> bool:
    return tuple(name[: len(start)]) == tuple(start)

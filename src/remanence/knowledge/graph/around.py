"""The part of a store that decides what is known of one entity, read without the rest."""

from __future__ import annotations

from collections.abc import Iterable

from remanence.knowledge.graph.spoken import Spoken, Talk, microseconds
from remanence.knowledge.identity import Identity
from remanence.model.knowledge import Claim, Entity
from remanence.model.query import ALL
from remanence.model.scope import Reach
from remanence.ports.store import Store

# With so many neighbours the whole graph is read as fast.
MANY = 300


def around(store: Store, reach: Reach, id: str) -> tuple[list[Entity], list[Claim]] | None:
    """Claims about the entity, its neighbours and all they may be one with; whom they speak of.

    A neighbour's claims are needed, as one of them may end or dispute what joins the two. None if
    there are too many. Of shared knowledge beside a user's own, only `reach`'s user's is read.
    """
    own = _alike(store, reach, {id})
    near = _ends(store.claims(reach, about=sorted(own), limit=ALL))
    if len(near) > MANY:
        return None
    claims = store.claims(reach, about=sorted(own | _alike(store, reach, near)), limit=ALL)
    named = sorted({id, *own, *_ends(claims)})
    return store.entities(reach, named, limit=ALL), claims


def spoken_around(store: Store, reach: Reach, leader: str, members: Iterable[str]) -> Spoken:
    """The talk of one entity under all its names."""
    talk = Talk()
    heard = {one.memory: one.happened_at for one in store.mentions(reach, list(members), limit=ALL)}
    for happened_at in heard.values():
        talk.hear(microseconds(happened_at))
    return Spoken({leader: talk} if heard else {})


def _alike(store: Store, reach: Reach, ids: set[str]) -> set[str]:
    """These entities, all that are merged with them or have their name, and who that depends on."""
    leaders, _ = Identity(store, reach.tenant).same(
        reach.user_id, sorted(ids), min_trust=reach.min_trust
    )
    return ids | leaders.keys()


def _ends(claims: Iterable[Claim]) -> set[str]:
    return {id for one in claims for id in (one.subject, one.object) if id is not None}

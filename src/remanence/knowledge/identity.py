"""Which entities are one, and whom a name means: by claims, by names, by indexed reads alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from remanence.knowledge.belief.claims import level_of
from remanence.model.knowledge import Claim, Entity, EntityType, entity_id, folded_name
from remanence.model.ports.store import Knowledge
from remanence.model.predicates import SAME_AS
from remanence.model.query import ALL
from remanence.model.scope import Reach

TITLES = ("dr", "mr", "mrs", "ms", "miss", "mx", "prof", "professor", "sir", "dame")

TITLED = tuple(form for title in TITLES for form in (title, f"{title}."))

# In hundredths of trust. Who is the same decides about all that is said of both, however sure that
# is, so whoever is trusted less is not heard.
LEAST = 50

Pair = tuple[str, str]

Words = tuple[str, ...]
# So many people whose names begin with the same word are more than one.
MANY = 100
# How far a chain of merges is followed; each of them was made by somebody.
STEPS = 20
_EVER = datetime.min.replace(tzinfo=UTC)


def groups(
    entities: Iterable[Entity], claims: Iterable[Claim], known_at: datetime | None = None
) -> dict[str, str]:
    """For each entity the one that stands for it: itself, if it is alone.

    Entities are one by a `same as` claim that is trusted by half and that nobody took back. People
    of one user are also one by name, unless somebody denied it: a name and the only longer one that
    begins with its words ("Ana", "Ana Souza"), and names that differ in the title ("Dr. Ana
    Souza"). What others were merged into stands for them. Where nothing was, a given entity does
    before a found one, then the longest name, then the first known.
    """
    there = {one.id: one for one in entities}
    merges = _merges(claims, known_at)
    verdicts = _verdicts(merges)
    union = _Union(there, [pair for pair, same in verdicts.items() if not same])
    for (one, other), same in verdicts.items():
        if same:
            union.join(one, other)
    for _, people in sorted(_by_root(there.values(), known_at).items()):
        _join_by_name(people, union)
    return _led_by_merges(union.leaders(), merges, verdicts)


def rank(entity: Entity) -> tuple[bool, int, datetime, str]:
    """Who of a group stands for it: the lowest."""
    return not entity.given, -len(folded_name(entity.name)), entity.created_at, entity.id


def bare_name(name: str) -> Words:
    """A name's words as they are compared, without a title before two or more of them.

    "Mr Souza" and "Mrs Souza" are two. "Ana's mom" is one word: she is nobody called Ana.
    """
    words = tuple(folded_name(name).split())
    if any(word.endswith(("'s", "’s")) for word in words[:-1]):
        return (" ".join(words),)
    return words[1:] if len(words) > 2 and words[0] in TITLED else words


def said_same(claim: Claim) -> Pair:
    """The two entities that a `same as` claim speaks of, in the order of their ids."""
    object = claim.object or entity_id(claim.user_id, claim.value)
    return min(claim.subject, object), max(claim.subject, object)


def verdicts_of(claims: Iterable[Claim], known_at: datetime | None = None) -> dict[Pair, bool]:
    """For each pair that was spoken of, whether they are the same; the last word counts."""
    return _verdicts(_merges(claims, known_at))


def _merges(claims: Iterable[Claim], known_at: datetime | None) -> list[Claim]:
    """What was known then of who is the same, and of who is not."""
    said = (one for one in claims if one.predicate == SAME_AS and one.value)
    return [one for one in said if level_of(one) >= LEAST and _is_known(one, known_at)]


def _verdicts(merges: Iterable[Claim]) -> dict[Pair, bool]:
    words: dict[Pair, list[Claim]] = defaultdict(list)
    for claim in merges:
        words[said_same(claim)].append(claim)
    return {pair: _verdict(said) for pair, said in sorted(words.items()) if pair[0] != pair[1]}


def _verdict(said: Sequence[Claim]) -> bool:
    """Whether one says so whom no denial recorded since, of no less trust, takes back."""
    denials = [one for one in said if one.denies]
    return any(
        all(one.recorded_at > no.recorded_at or level_of(one) > level_of(no) for no in denials)
        for one in said
        if not one.denies
    )


def _led_by_merges(
    leaders: dict[str, str], merges: Iterable[Claim], verdicts: Mapping[Pair, bool]
) -> dict[str, str]:
    """The leaders, but where entities were merged, what they were merged into leads.

    That is what was not merged away itself, else what was merged into last.
    """
    into: dict[str, datetime] = {}
    away: set[str] = set()
    for one in merges:
        pair = said_same(one)
        if not one.denies and verdicts.get(pair) and leaders.keys() >= set(pair):
            other = pair[0] if one.subject == pair[1] else pair[1]
            into[other] = max(one.recorded_at, into.get(other, one.recorded_at))
            away.add(one.subject)
    if not into:
        return leaders
    last = sorted(into, key=lambda one: (one not in away, into[one], one))
    best = {leaders[id]: id for id in last}
    return {id: best.get(leader, leader) for id, leader in leaders.items()}


def _is_known(claim: Claim, known_at: datetime | None) -> bool:
    if known_at is None:
        return claim.rested_at is None and claim.retired_at is None
    return claim.known_at(known_at)


class _Union:
    """Entities joined to groups. `apart` are pairs that were said to differ."""

    def __init__(self, entities: Mapping[str, Entity], apart: Iterable[Pair]) -> None:
        self._entities = entities
        self._apart = [pair for pair in apart if pair[0] in entities and pair[1] in entities]
        self._over = {id: id for id in entities}

    def top(self, id: str) -> str:
        while self._over[id] != id:
            self._over[id] = id = self._over[self._over[id]]
        return id

    def join(self, one: str, other: str) -> None:
        if one in self._over and other in self._over:
            self._over[self.top(one)] = self.top(other)

    def join_unless_denied(self, one: str, other: str) -> None:
        both = {self.top(one), self.top(other)}
        if not any({self.top(a), self.top(b)} == both for a, b in self._apart):
            self.join(one, other)

    def leaders(self) -> dict[str, str]:
        members: dict[str, list[Entity]] = defaultdict(list)
        for id, entity in self._entities.items():
            members[self.top(id)].append(entity)
        several = (group for group in members.values() if len(group) > 1)
        found = ((min(group, key=rank).id, group) for group in several)
        alone = {id: id for id in self._entities}
        return alone | {one.id: leader for leader, group in found for one in group}


def _by_root(
    entities: Iterable[Entity], known_at: datetime | None
) -> dict[tuple[str, str], dict[Words, list[Entity]]]:
    """People known then, by user and first word, then by all words of their names."""
    found: dict[tuple[str, str], dict[Words, list[Entity]]] = {}
    for one in entities:
        if one.type == EntityType.PERSON and (known_at is None or one.created_at <= known_at):
            words = bare_name(one.name) or ("",)
            of_root = found.setdefault((one.user_id or "", words[0]), {})
            of_root.setdefault(words, []).append(one)
    return found


def _join_by_name(people: Mapping[Words, list[Entity]], union: _Union) -> None:
    """Join people of one root, the longest names first; a title goes only with the same name."""
    done: list[tuple[Words, str]] = []
    for words in sorted(people, key=lambda one: (-len(one), one)):
        alike = sorted(people[words], key=lambda one: one.id)
        for one in alike[1:]:
            union.join_unless_denied(one.id, alike[0].id)
        untitled = [one.id for one in alike if tuple(folded_name(one.name).split()) == words]
        longer = {union.top(id): id for name, id in done if name[: len(words)] == words}
        if len(longer) == 1:
            for id in untitled:
                union.join_unless_denied(id, *longer.values())
        done += [(words, id) for id in untitled]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedName:
    """Whom a name means: the entities that are one, and the one that stands for them.

    `ids` starts with that one and is empty if nobody has the name. Where shared knowledge is asked
    for, those that belong to no user follow the user's own.
    """

    ids: tuple[str, ...]
    id: str
    name: str
    aliases: tuple[str, ...] = ()


def wide(reach: Reach) -> Reach:
    """The reach without agent and session: names and merges hold for all of a user's."""
    return replace(reach, agent_id=None, session_id=None)


class Identity:
    """Resolves names of one tenant. What two entities are to each other is a user's, not an
    agent's or a session's."""

    def __init__(self, store: Knowledge, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def resolve(self, reach: Reach, name: str, known_at: datetime | None = None) -> ResolvedName:
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
    ) -> ResolvedName:
        id = entity_id(user_id, name)
        asked = Entity(id=id, name=name, type=EntityType.PERSON, created_at=_EVER, user_id=user_id)
        near = self._near(user_id, min_trust)
        near.read([id, name], [asked])
        wanted = name if name in near.entities else id
        everybody = near.entities if wanted in near.entities else near.entities | {id: asked}
        leaders = groups(everybody.values(), near.claims.values(), known_at)
        leader = leaders[wanted]
        group = [one for one in near.entities.values() if leaders[one.id] == leader]
        return _resolved(group, leader) if group else ResolvedName(ids=(), id=id, name=name)


def _resolved(group: Sequence[Entity], leader: str) -> ResolvedName:
    first, *others = sorted(group, key=lambda one: (one.id != leader, rank(one)))
    aliases = dict.fromkeys(one.name for one in others if one.name != first.name)
    ids = (first.id, *(one.id for one in others))
    return ResolvedName(ids=ids, id=first.id, name=first.name, aliases=tuple(aliases))


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

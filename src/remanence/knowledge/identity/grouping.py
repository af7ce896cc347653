"""Which entities are one: decided from claims and names alone, without a store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from remanence.knowledge.belief.said import level_of
from remanence.model.knowledge import Claim, Entity, EntityType, entity_id, folded_name
from remanence.model.predicates import SAME_AS

TITLES = ("dr", "mr", "mrs", "ms", "miss", "mx", "prof", "professor", "sir", "dame")
TITLED = tuple(form for title in TITLES for form in (title, f"{title}."))
# In hundredths of trust. Who is the same decides about all that is said of both, however sure that
# is, so whoever is trusted less is not heard.
LEAST = 50

Pair = tuple[str, str]
Words = tuple[str, ...]


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

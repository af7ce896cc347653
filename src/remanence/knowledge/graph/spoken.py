"""Who is spoken of in which memories: counts, first and last time, and who with whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations

from remanence.model.filter import Compare
from remanence.model.memory import State
from remanence.model.scope import Reach
from remanence.ports.store import Store, Trait
from remanence.recall.past import Past

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A memory that names more than this is a list; it says little about who belongs with whom.
CROWD = 32

_ACTIVE = Compare("state", "eq", State.ACTIVE, field=True)


@dataclass(slots=True)
class Talk:
    """How often, and from when to when, an entity is spoken of; times in microseconds."""

    memories: int = 0
    first: int = 0
    last: int = 0

    def hear(self, happened: int) -> None:
        """Count one more memory."""
        self.first = min(self.first, happened) if self.memories else happened
        self.last = max(self.last, happened) if self.memories else happened
        self.memories += 1


@dataclass(frozen=True, slots=True)
class Spoken:
    """All talk of a reach; `pairs` counts the memories that speak of two entities at once."""

    talk: Mapping[str, Talk] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], int] = field(default_factory=dict)


def moment(microseconds: int) -> datetime:
    """A store's time as a datetime."""
    return EPOCH + timedelta(microseconds=microseconds)


def microseconds(moment: datetime) -> int:
    """A datetime as a store's time."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def spoken_in(
    store: Store, reach: Reach, standing_for: Mapping[str, str], known_at: datetime | None
) -> Spoken:
    """The talk in reach, each entity counted as the one that `standing_for` names for it.

    Only memories that take part in recall count; with `known_at`, those that did so then too.
    """
    talk: dict[str, Talk] = {}
    pairs: Counter[tuple[str, str]] = Counter()
    for partition in store.partitions(reach):
        named = {one.number: one.id for one in store.names(partition)}
        said: dict[int, set[str]] = {}
        for key, number in store.mentioned(partition):
            if entity := standing_for.get(named.get(number, "")):
                said.setdefault(key, set()).add(entity)
        if known_at is not None:
            there = Past(store, known_at).keys(partition, _ACTIVE).tolist()
            said = {key: said[key] for key in said.keys() & set(there)}
        for trait in store.traits(partition):
            if trait.key in said and _within(trait, reach, known_at):
                _hear(said[trait.key], trait.happened, talk, pairs)
    return Spoken(talk, pairs)


def _hear(
    names: Iterable[str], happened: int, talk: dict[str, Talk], pairs: Counter[tuple[str, str]]
) -> None:
    ordered = sorted(names)
    for name in ordered:
        talk.setdefault(name, Talk()).hear(happened)
    if len(ordered) <= CROWD:
        pairs.update(combinations(ordered, 2))


def _within(trait: Trait, reach: Reach, known_at: datetime | None) -> bool:
    in_time = known_at is None or moment(trait.created) <= known_at
    return in_time and (
        reach.agent_id in (None, trait.agent)
        and reach.session_id in (None, trait.session)
        and trait.trust >= reach.min_trust
    )

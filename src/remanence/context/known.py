"""Facts for a prompt: what is known of whom a question names, the closest to it first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from remanence.knowledge.facts import Facts
from remanence.knowledge.learner import SELF
from remanence.model.knowledge import Entity, EntityType, Fact, entity_id
from remanence.model.predicates import PREDICATES
from remanence.model.scope import Reach
from remanence.ports.store import Knowledge
from remanence.text.words import is_stop_word, query_terms, terms

MOST_WORDS = 60  # of a question that are looked at for names
LONGEST_NAME = 3  # words
MOST_NAMED = 6
MOST_EACH = 40
MOST = 30
NEXT = 3  # of those that the best facts lead to
FURTHER = 0.5  # what a fact is worth that is one step away
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_OWN = frozenset({"i", "me", "my", "mine", "myself", "we", "us", "our", "i'm", "i've", "i’m"})
_PLACES = frozenset(
    one.name
    for one in PREDICATES.values()
    if one.object in (EntityType.PLACE, EntityType.ORGANISATION)
)
_PEOPLE = frozenset(one.name for one in PREDICATES.values() if one.object is EntityType.PERSON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A question for facts: in which reach, at what time, and who says "I" in it."""

    question: str
    reach: Reach
    now: datetime
    speakers: tuple[str, ...] = ()
    min_trust: float = 0.0


class Known:
    """Finds the facts that a question touches, over one step of the graph."""

    def __init__(self, store: Knowledge, facts: Facts) -> None:
        self._store = store
        self._facts = facts

    def facts(self, asking: Asking) -> list[Fact]:
        """Facts that hold now, the most relevant first; none where nobody known is named."""
        found: dict[str, tuple[float, Fact]] = {}
        wanted = frozenset(query_terms(asking.question))
        named = self._named(asking)
        self._gather(found, asking, named, wanted, 1.0)
        best = sorted(found.values(), key=_order)
        ahead = [fact.object for worth, fact in best if fact.object_id and worth >= 1]
        onward = [name for name in dict.fromkeys(ahead) if name not in named]
        self._gather(found, asking, onward[:NEXT], wanted, FURTHER)
        return [fact for _, fact in sorted(found.values(), key=_order)[:MOST]]

    def _gather(
        self,
        found: dict[str, tuple[float, Fact]],
        asking: Asking,
        names: Iterable[str],
        wanted: frozenset[str],
        worth: float,
    ) -> None:
        reach = asking.reach
        for name in names:
            told = self._facts.about(
                name,
                as_of=asking.now,
                limit=MOST_EACH,
                user_id=reach.user_id,
                agent_id=reach.agent_id,
                include_shared=reach.include_shared,
            )
            for fact in told:
                if fact.trust >= asking.min_trust and fact.id not in found:
                    found[fact.id] = (worth * _closeness(fact, asking.question, wanted), fact)

    def _named(self, asking: Asking) -> list[str]:
        """The names of entities that the question holds, and of whoever asks if it says "I"."""
        words = _WORD.findall(asking.question)[:MOST_WORDS]
        users = [asking.reach.user_id]
        users += [None] if asking.reach.include_shared and users[0] is not None else []
        own = asking.speakers if any(word.casefold() in _OWN for word in words) else ()
        names = [*_grams(words), *own]
        ids = {entity_id(user, name): None for name in names for user in users}
        there = self._store.entities(asking.reach, list(ids), limit=len(ids)) if ids else []
        return [one.name for one in _longest_first(there)][:MOST_NAMED]


def speakers_of(names: Iterable[str | None], user_id: str | None) -> tuple[str, ...]:
    """Who "I" may be: those who spoke as the user, else the user by id."""
    spoken = [name for name in names if name]
    return tuple(dict.fromkeys([*spoken, user_id or SELF]))


def _grams(words: Sequence[str]) -> Iterator[str]:
    for size in range(1, LONGEST_NAME + 1):
        for start in range(len(words) - size + 1):
            gram = words[start : start + size]
            if not (is_stop_word(gram[0]) or is_stop_word(gram[-1])):
                plain = re.sub(r"['’]s$", "", " ".join(gram))
                yield plain


def _longest_first(entities: Iterable[Entity]) -> list[Entity]:
    """Entities whose name is not a part of a longer one that is named too."""
    ordered = sorted(entities, key=lambda one: (-len(one.name), one.name))
    return [
        one
        for n, one in enumerate(ordered)
        if not any(f" {one.name} " in f" {longer.name} " for longer in ordered[:n])
    ]


def _closeness(fact: Fact, question: str, wanted: frozenset[str]) -> float:
    """How much of the question a fact touches; one that only has the same subject touches none."""
    said = frozenset(terms(f"{fact.predicate} {fact.object}"))
    asked = question.casefold()
    fits = ("where" in asked and fact.predicate in _PLACES) or (
        "who" in asked and fact.predicate in _PEOPLE
    )
    return len(said & wanted) + (0.5 if fits else 0.0) + 0.1 * fact.confidence


def _order(one: tuple[float, Fact]) -> tuple[float, float, str]:
    worth, fact = one
    return -worth, -fact.recorded_at.timestamp(), fact.id

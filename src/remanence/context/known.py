"""Facts for a prompt: what is known of whom a question names, the closest to it first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise

from remanence.knowledge.facts import Facts
from remanence.knowledge.identity import bare_name
from remanence.knowledge.learner import SELF
from remanence.language.languages import query_terms
from remanence.language.words import is_stop_word, terms
from remanence.model.knowledge import Entity, EntityType, Fact, entity_id, folded_name
from remanence.model.ports.store import Knowledge
from remanence.model.predicates import PREDICATES
from remanence.model.scope import Reach
from remanence.recall.question import Question

MOST_WORDS = 60  # of a question that are looked at for names
LONGEST_NAME = 3  # words
MOST_NAMED = 6
MOST = 30
NAMESAKES = 10
NEXT = 3  # of those that the best facts lead to
BEARS = 0.2  # a word that the question has, or the sort of thing it asks for
# What is told where nothing bears on the question by its words: "May I eat that?"
HEALTH = frozenset(["allergic to", "has condition", "takes", "diet"])
FURTHER = 0.5  # what a fact is worth that is one step away
_POSSESSIVE = re.compile(r"['’]s$")
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_ANYTHING = frozenset(terms("know known tell say said about remember anything everything facts"))
_OWN = frozenset({"i", "me", "my", "mine", "myself", "we", "us", "our", "i'm", "i've", "i’m"})
_PLACES = frozenset(
    one.name
    for one in PREDICATES.values()
    if one.object in (EntityType.PLACE, EntityType.ORGANISATION)
)
_PEOPLE = frozenset(one.name for one in PREDICATES.values() if one.object is EntityType.PERSON)


@dataclass(frozen=True, kw_only=True)
class FactQuestion:
    """A question for facts: in which reach, at what time, and who says "I" in it."""

    question: str
    reach: Reach
    now: datetime
    speakers: tuple[str, ...] = ()

    @cached_property
    def moment(self) -> datetime:
        """When it is asked of: the middle of the past that the question names, else now."""
        period = Question(self.question, self.now).period
        if period is None or period.start >= self.now:
            return self.now
        return min(period.start + (period.end - period.start) / 2, self.now)

    @cached_property
    def _fitting(self) -> frozenset[str]:
        asked = self.question.casefold()
        places = _PLACES if "where" in asked else frozenset[str]()
        return places | (_PEOPLE if "who" in asked else frozenset())

    @cached_property
    def _terms(self) -> frozenset[str]:
        return frozenset(query_terms(self.question))

    def of_all(self, named: Sequence[Entity]) -> bool:
        """Whether it asks for whatever is known of these: it says little but their names."""
        names = frozenset(term for one in named for term in terms(one.name))
        return self._terms <= names | _ANYTHING

    def closeness(self, fact: Fact) -> float:
        """How much of the question a fact touches; that it has the same subject is not enough."""
        said = frozenset(terms(f"{fact.predicate} {fact.object}"))
        fits = 0.5 if fact.predicate in self._fitting else 0.0
        return len(said & self._terms) + fits + 0.1 * fact.confidence


class Known:
    """Finds the facts that a question touches, over one step of the graph."""

    def __init__(self, store: Knowledge, facts: Facts) -> None:
        self._store = store
        self._evidence = facts.evidence

    def facts(self, asking: FactQuestion) -> list[Fact]:
        """Facts that hold now, the most relevant first; none where nobody known is named."""
        named = self._named(asking)
        if not named:
            return []
        found: dict[str, tuple[float, Fact]] = {}
        self._gather(found, asking, named)
        best = sorted(found.values(), key=_order)
        ahead = [fact.object_id for worth, fact in best if fact.object_id and worth >= 1]
        met = {fact.subject_id for _, fact in best} | {one.id for one in named}
        onward = [id for id in dict.fromkeys(ahead) if id not in met][:NEXT]
        if onward:
            there = self._store.entities(_of_all_agents(asking.reach), onward, limit=NEXT)
            self._gather(found, asking, there, further=True)
        least = 0.0 if asking.of_all(named) else BEARS
        known = [one for one in sorted(found.values(), key=_order) if not _is_hollow(one[1])]
        bearing = [fact for worth, fact in known if worth >= least]
        return (bearing or [fact for _, fact in known if fact.predicate in HEALTH])[:MOST]

    def _gather(
        self,
        found: dict[str, tuple[float, Fact]],
        asking: FactQuestion,
        entities: Sequence[Entity],
        *,
        further: bool = False,
    ) -> None:
        """Weigh what holds of these; of those a step away, only what they are the subject of."""
        known = self._evidence.holding(asking.reach, entities, asking.moment, objects=not further)
        worth = FURTHER if further else 1.0
        for one in known:
            for fact in one.facts:
                if fact.id not in found:
                    near = worth * asking.closeness(fact)
                    found[fact.id] = (max(near, BEARS) if further else near, fact)

    def _named(self, asking: FactQuestion) -> list[Entity]:
        """The entities that the question names, and whoever asks if it says "I"."""
        words = _WORD.findall(asking.question)[:MOST_WORDS]
        users = [asking.reach.user_id]
        users += [None] if asking.reach.include_shared and users[0] is not None else []
        names = [*_grams(words), *_own(words, asking.speakers)]
        ids = {entity_id(user, name): None for name in names for user in users}
        reach = _of_all_agents(asking.reach)
        there = self._store.entities(reach, list(ids), limit=len(ids)) if ids else []
        there += self._by_first_name(reach, words, there)
        return _longest_first(there)[:MOST_NAMED]

    def _by_first_name(
        self, reach: Reach, words: Sequence[str], there: Sequence[Entity]
    ) -> list[Entity]:
        """People whose longer name begins with a name that the question has, if just one does."""
        known = {part for one in there for part in folded_name(one.name).split()}
        bare = (folded_name(_POSSESSIVE.sub("", word)) for word in words if word[:1].isupper())
        new = [name for name in dict.fromkeys(bare) if name not in known and not is_stop_word(name)]
        found: list[Entity] = []
        for name in new[:MOST_NAMED]:
            alike = self._store.entities(reach, prefix=f"{name} ", limit=NAMESAKES)
            named = [one for one in alike if bare_name(one.name)[0] == name]
            found += named if len(named) == 1 else []
        return found


def _of_all_agents(reach: Reach) -> Reach:
    """The reach for entities, which belong to the user; what is said of them is an agent's."""
    return replace(reach, agent_id=None, session_id=None)


def speakers_of(names: Iterable[str | None], user_id: str | None) -> tuple[str, ...]:
    """Who "I" may be: those who spoke as the user, else the user by id."""
    spoken = [name for name in names if name]
    return tuple(dict.fromkeys([*spoken, user_id or SELF]))


def _is_hollow(fact: Fact) -> bool:
    """Whether it only says that Ana's mother is "Ana's mom", which leads on but tells nothing."""
    return fact.object.startswith(f"{fact.subject}'s ")


def _own(words: Sequence[str], speakers: Sequence[str]) -> Iterator[str]:
    """Whoever asks, if the question says "I", and whoever is the asker's: "my mom"."""
    said = [word.casefold() for word in words]
    if _OWN.isdisjoint(said):
        return
    yield from speakers
    for word, after in pairwise(said):
        if word == "my":
            yield from (f"{speaker}'s {after}" for speaker in speakers)


def _grams(words: Sequence[str]) -> Iterator[str]:
    for size in range(1, LONGEST_NAME + 1):
        for start in range(len(words) - size + 1):
            gram = words[start : start + size]
            if not (is_stop_word(gram[0]) or is_stop_word(gram[-1])):
                yield _POSSESSIVE.sub("", " ".join(gram))


def _longest_first(entities: Iterable[Entity]) -> list[Entity]:
    """Entities whose name is not a part of a longer one that is named too."""
    ordered = sorted(entities, key=lambda one: (-len(one.name), one.name))
    return [
        one
        for n, one in enumerate(ordered)
        if not any(_is_part(one.name, longer.name) for longer in ordered[:n])
    ]


def _is_part(name: str, longer: str) -> bool:
    return len(name) < len(longer) and f" {name} " in f" {longer} "


def _order(one: tuple[float, Fact]) -> tuple[float, float, str]:
    worth, fact = one
    return -worth, -fact.recorded_at.timestamp(), fact.id

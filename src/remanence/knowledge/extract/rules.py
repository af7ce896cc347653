"""All rules together: which of them read a clause, and what the rest of it says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from remanence.knowledge.extract.areas import (
    being,
    family,
    groups,
    having,
    health,
    home,
    likes,
    plans,
    study,
    work,
)
from remanence.knowledge.extract.areas.attributes import attributes
from remanence.knowledge.extract.areas.contact import contacts
from remanence.knowledge.extract.areas.events import happened
from remanence.knowledge.extract.areas.health import conditions
from remanence.knowledge.extract.areas.plans import planned
from remanence.knowledge.extract.areas.work import by_the_job, by_trade
from remanence.knowledge.extract.clauses import Clause
from remanence.knowledge.extract.rule import Aspect, Found, Rule, Scene
from remanence.knowledge.extract.subjects import People
from remanence.knowledge.extract.verb_group import Tense

# The first rule that finds something is the one that counts, so the narrow areas come first.
_AREAS = (family, home, study, likes, health, groups, work, being, having, plans)


def _by_verb() -> dict[str, tuple[Rule, ...]]:
    table: dict[str, list[Rule]] = {}
    for area in _AREAS:
        for one in area.RULES:
            for verb in one.verbs:
                table.setdefault(verb, []).append(one)
    return {verb: tuple(rules) for verb, rules in table.items()}


_RULES = _by_verb()
_PARTS = re.compile(r",\s+(?:and\s+)?|\s+and\s+")
_ELSE = re.compile(
    r"(?:from|an?|married|single|divorced|vegan|vegetarian|\d|born|based|allergic|engaged)\b"
)
TELLING = frozenset(_RULES) - {"be", "have", "get", "go", "take", "do", "see", "put"}


def ruled(scene: Scene) -> Iterator[Found]:
    """What the clause says by its verb; an act or a plan where no rule knows better."""
    found = _first(scene)
    yield from found
    if found and scene.group.verb == "be":
        yield from _also(scene)
    if not found:
        yield from happened(scene)
    ahead = all(one.aspect in (Aspect.START, Aspect.END) for one in found)
    if ahead and scene.group.tense in (Tense.FUTURE, Tense.PRESENT):
        yield from planned(scene, change=bool(found))


def _also(scene: Scene) -> Iterator[Found]:
    """What else one is: "I am 27, from Leeds and married"."""
    for part in _PARTS.split(scene.rest)[1:]:
        if _ELSE.match(part):
            yield from _first(replace(scene, rest=f" {part}"))


def _first(scene: Scene) -> list[Found]:
    for one in _RULES.get(scene.group.verb, ()):
        if one.passive == scene.group.passive and (tail := one.tail.match(scene.rest)):
            found = list(one.give(scene, scene.rest[tail.end() :], tail))
            if found:
                return found
    return []


def by_the_way(clause: Clause, sentence: str, people: People, lower: bool) -> Iterable[Found]:
    """What a clause says beside its verb: who is whose, what is whose, how to reach them.

    What runs over clauses is read in the whole sentence, with its first clause.
    """
    yield from family.relations(clause.text, people)
    if clause.start == 0:
        yield from family.several(sentence, people)
        yield from contacts(sentence, people)
    yield from attributes(clause.text[len(clause.head) :], people, lower)
    yield from conditions(clause.text, people)
    yield from by_the_job(clause.text, people)
    yield from by_trade(clause.lead + clause.head, people)

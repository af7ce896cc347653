"""All rules together: which of them read a clause, and what the rest of it says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from remanence.language.english.extraction.areas import (
    acts,
    being,
    family,
    having,
    health,
    home,
    likes,
    study,
    work,
)
from remanence.language.english.extraction.areas.acts import happened, planned
from remanence.language.english.extraction.areas.attributes import attributes, contacts
from remanence.language.english.extraction.areas.health import conditions
from remanence.language.english.extraction.areas.work import by_the_job, by_trade
from remanence.language.english.extraction.clauses import Clause
from remanence.language.english.extraction.rule import Aspect, ClauseScene, Rule, RuleFinding
from remanence.language.english.extraction.subjects import People
from remanence.language.english.extraction.verb_group import Tense

# The first rule that finds something is the one that counts, so the narrow areas come first.
AREAS: Mapping[str, Sequence[Rule]] = {
    "family": family.RULES, "home": home.RULES, "study": study.RULES, "likes": likes.RULES,
    "health": health.RULES, "work": work.RULES, "being": being.RULES,
    "having": having.RULES, "acts": acts.RULES,
}  # fmt: skip
Rules: TypeAlias = Mapping[str, Sequence[Rule]]


def by_verb(rules: Iterable[Rule]) -> Rules:
    """The rules that read each verb, in their order."""
    table: dict[str, list[Rule]] = {}
    for one in rules:
        for verb in one.verbs:
            table.setdefault(verb, []).append(one)
    return table


RULES = by_verb(chain.from_iterable(AREAS.values()))
_PARTS = re.compile(r",\s+(?:and\s+)?|\s+and\s+")
_ELSE = re.compile(
    r"(?:from|an?|married|single|divorced|vegan|vegetarian|\d|based|allergic|engaged)\b"
)
TELLING = frozenset(RULES) - {"be", "have", "get", "go", "take", "do", "see", "put"}


def ruled(scene: ClauseScene, rules: Rules = RULES) -> Iterator[RuleFinding]:
    """What the clause says by its verb; an act or a plan where no rule knows better."""
    found = _first(scene, rules)
    yield from found
    if found and scene.group.verb == "be":
        yield from _also(scene, rules)
    if not found:
        yield from happened(scene)
    ahead = all(one.aspect in (Aspect.START, Aspect.END) for one in found)
    if ahead and scene.group.tense in (Tense.FUTURE, Tense.PRESENT):
        yield from planned(scene, change=bool(found))


def _also(scene: ClauseScene, rules: Rules) -> Iterator[RuleFinding]:
    """What else one is: "I am 27, from Leeds and married"."""
    for part in _PARTS.split(scene.rest)[1:]:
        if _ELSE.match(part):
            yield from _first(replace(scene, rest=f" {part}"), rules)


def _first(scene: ClauseScene, rules: Rules) -> list[RuleFinding]:
    for one in rules.get(scene.group.verb, ()):
        if one.passive == scene.group.passive and (tail := one.tail.match(scene.rest)):
            found = list(one.give(scene, scene.rest[tail.end() :], tail))
            if found:
                return found
    return []


def by_the_way(clause: Clause, sentence: str, people: People, lower: bool) -> Iterable[RuleFinding]:
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

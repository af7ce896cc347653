"""All rules together: which of them read a clause, and what the rest of it says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

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
from remanence.language.english.extraction.areas.work import by_the_job, by_trade, first_day
from remanence.language.english.extraction.clauses import Clause
from remanence.language.english.extraction.rule import Aspect, ClauseScene, Rule, RuleFinding
from remanence.language.english.extraction.subjects import People
from remanence.language.english.extraction.verb_group import Tense


def _named(area: str, rules: Sequence[Rule]) -> Iterator[Rule]:
    """The rules of an area, each named by its area and first verb: "work leave 2"."""
    seen: Counter[str] = Counter()
    for one in rules:
        seen[one.verbs[0]] += 1
        yield replace(one, name=f"{area} {one.verbs[0]} {seen[one.verbs[0]]}")


# The first rule that finds something is the one that counts, so the narrow areas come first.
AREAS: Mapping[str, Sequence[Rule]] = {
    area: tuple(_named(area, module.RULES))
    for area, module in {
        "family": family, "home": home, "study": study, "likes": likes, "health": health,
        "work": work, "being": being, "having": having, "acts": acts,
    }.items()
}  # fmt: skip


def _by_verb(rules: Iterable[Rule]) -> Mapping[str, Sequence[Rule]]:
    """The rules that read each verb, in their order."""
    table: dict[str, list[Rule]] = {}
    for one in rules:
        for verb in one.verbs:
            table.setdefault(verb, []).append(one)
    return table


RULES = _by_verb(chain.from_iterable(AREAS.values()))
_PARTS = re.compile(r",\s+(?:and\s+)?|\s+and\s+")
_ELSE = re.compile(
    r"(?:from|an?|married|single|divorced|vegan|vegetarian|\d|based|allergic|engaged)\b"
)
TELLING = frozenset(RULES) - {"be", "have", "get", "go", "take", "do", "see", "put"}


def ruled(scene: ClauseScene) -> Iterator[RuleFinding]:
    """What the clause says by its verb; an act or a plan where no rule knows better."""
    found = _first(scene)
    yield from found
    if found and scene.group.verb == "be":
        yield from _also(scene)
    if not found:
        yield from (replace(one, rule="happened") for one in happened(scene))
    ahead = all(one.aspect in (Aspect.START, Aspect.END) for one in found)
    if ahead and scene.group.tense in (Tense.FUTURE, Tense.PRESENT):
        yield from (replace(one, rule="planned") for one in planned(scene, change=bool(found)))


def _also(scene: ClauseScene) -> Iterator[RuleFinding]:
    """What else one is: "I am 27, from Leeds and married"."""
    for part in _PARTS.split(scene.rest)[1:]:
        if _ELSE.match(part):
            yield from _first(replace(scene, rest=f" {part}"))


def _first(scene: ClauseScene) -> list[RuleFinding]:
    for one in RULES.get(scene.group.verb, ()):
        if one.passive == scene.group.passive and (tail := one.tail.match(scene.rest)):
            found = list(one.give(scene, scene.rest[tail.end() :], tail))
            if found:
                return [replace(each, rule=one.name) for each in found]
    return []


def by_the_way(clause: Clause, sentence: str, people: People, lower: bool) -> Iterable[RuleFinding]:
    """What a clause says beside its verb: who is whose, what is whose, how to reach them.

    What runs over clauses is read in the whole sentence, with its first clause.
    """
    ways = {
        "relations": family.relations(clause.text, people),
        "several": family.several(sentence, people) if clause.start == 0 else (),
        "contacts": contacts(sentence, people) if clause.start == 0 else (),
        "attributes": attributes(clause.text[len(clause.head) :], people, lower),
        "conditions": conditions(clause.text, people),
        "by the job": by_the_job(clause.text, people),
        "by trade": by_trade(clause, people),
        "first day": first_day(sentence, people) if clause.start == 0 else (),
    }
    for name, found in ways.items():
        yield from (replace(one, rule=name) for one in found)

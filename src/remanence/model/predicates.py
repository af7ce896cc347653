"""The predicates that are known: which hold one object at a time, which mirror each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from remanence.model.knowledge import EntityType, FactKind


class Holds(StrEnum):
    """How many objects a predicate has: one at a time, one for ever, or any number."""

    ONE = "one"
    ONCE = "once"
    MANY = "many"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A predicate: `inverse` read from the object's side, `opposite` what it excludes.

    `object` is the type of the entity its object is; None for a plain value. A `noun` is what
    somebody has ("Ana's sister"), the others are what somebody does or is ("Ana likes").
    """

    name: str
    holds: Holds = Holds.MANY
    object: EntityType | None = None
    kind: FactKind = FactKind.FACT
    inverse: str | None = None
    opposite: str | None = None
    noun: bool = False


PERSON, PLACE, ORGANISATION = EntityType.PERSON, EntityType.PLACE, EntityType.ORGANISATION
ANIMAL, THING, TOPIC = EntityType.ANIMAL, EntityType.THING, EntityType.TOPIC
ONE, ONCE = Holds.ONE, Holds.ONCE

SAME_AS = "same as"
NOTE = "note"
FAVOURITE = "favourite "  # and what: "favourite colour", one at a time each

_TABLE = (
    # names
    Predicate(name="is named", holds=ONE),
    Predicate(name=SAME_AS, object=THING, inverse=SAME_AS),
    # family and friends
    Predicate(name="married to", holds=ONE, object=PERSON, inverse="married to"),
    Predicate(name="engaged to", holds=ONE, object=PERSON, inverse="engaged to"),
    Predicate(name="dating", holds=ONE, object=PERSON, inverse="dating"),
    Predicate(name="mother", holds=ONCE, object=PERSON, noun=True),
    Predicate(name="father", holds=ONCE, object=PERSON, noun=True),
    *(
        Predicate(name=name, object=PERSON, noun=True)
        for name in ("sister", "brother", "son", "daughter", "child", "aunt", "uncle", "cousin",
                     "niece", "nephew", "grandmother", "grandfather", "grandchild")
    ),
    Predicate(name="friend", object=PERSON, inverse="friend", noun=True),
    Predicate(name="colleague", object=PERSON, inverse="colleague", noun=True),
    Predicate(name="neighbour", object=PERSON, inverse="neighbour", noun=True),
    Predicate(name="boss", holds=ONE, object=PERSON, noun=True),
    Predicate(name="teacher", object=PERSON, noun=True),
    Predicate(name="relationship status", holds=ONE, noun=True),
    # home and origin
    Predicate(name="lives in", holds=ONE, object=PLACE),
    Predicate(name="address", holds=ONE, noun=True),
    Predicate(name="is from", holds=ONCE, object=PLACE),
    Predicate(name="born in", holds=ONCE, object=PLACE),
    Predicate(name="born on", holds=ONCE),
    Predicate(name="age", holds=ONE, noun=True),
    # work and study
    Predicate(name="works at", holds=ONE, object=ORGANISATION),
    Predicate(name="works as", holds=ONE),
    Predicate(name="studies at", holds=ONE, object=ORGANISATION),
    Predicate(name="studies", object=TOPIC),
    Predicate(name="graduated from", object=ORGANISATION),
    Predicate(name="has degree"),
    # likes
    Predicate(name="likes", object=TOPIC, kind=FactKind.PREFERENCE, opposite="dislikes"),
    Predicate(name="dislikes", object=TOPIC, kind=FactKind.PREFERENCE, opposite="likes"),
    Predicate(name="diet", kind=FactKind.PREFERENCE, noun=True),
    # what one has and can
    Predicate(name="has", object=THING),
    Predicate(name="has pet", object=ANIMAL),
    Predicate(name="speaks", object=TOPIC),
    Predicate(name="plays", object=TOPIC),
    Predicate(name="member of", object=ORGANISATION),
    # health
    Predicate(name="allergic to", object=TOPIC),
    Predicate(name="has condition", object=TOPIC),
    Predicate(name="takes", object=THING),
    # plans, goals, events
    Predicate(name="plans to", kind=FactKind.PLAN),
    Predicate(name="wants to", kind=FactKind.PLAN),
    Predicate(name="did", kind=FactKind.EVENT),
    # ways to reach somebody
    Predicate(name="email", holds=ONE, noun=True),
    Predicate(name="phone", holds=ONE, noun=True),
    # anything else
    Predicate(name="is"),
    Predicate(name=NOTE, kind=FactKind.OBSERVATION, noun=True),
)  # fmt: skip

PREDICATES = {one.name: one for one in _TABLE}


def predicate_of(name: str, one_at_a_time: frozenset[str] = frozenset()) -> Predicate:
    """What is known of a predicate; one that is not known holds any number of objects."""
    if known := PREDICATES.get(name):
        return known
    favourite = name.startswith(FAVOURITE)
    return Predicate(
        name=name,
        holds=ONE if favourite or name in one_at_a_time else Holds.MANY,
        kind=FactKind.PREFERENCE if favourite else FactKind.FACT,
        noun=favourite,
    )


def phrase(subject: str, predicate: str, value: str) -> str:
    """A statement in plain words: "Ana lives in Lisbon", "Ana's sister: Maria"."""
    if predicate == NOTE:
        return f"{subject}: {value}"
    if predicate == "did":
        return f"{subject} {value}"
    if predicate_of(predicate).noun:
        return f"{subject}'s {predicate}: {value}"
    return f"{subject} {predicate} {value}"

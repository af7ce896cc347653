"""Experiences as the store keeps them, and where the present search ranks each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from remanence.learn.replay import replayed
from remanence.learn.school import School
from remanence.model.learning import Experience
from remanence.model.scope import Reach
from remanence.ports.store import Store

# Ranking takes a search for each question, so of more than this share above what is wanted some
# are let go before, balanced over time all the same.
RANKED = 2


def experiences_of(store: Store, reach: Reach) -> list[Experience]:
    """All feedback on the memories of one user, or of no user."""
    return [
        Experience(id=one.id, query=one.query, useful=one.useful, at=one.at)
        for partition in store.partitions(reach)
        for one in store.feedback(reach.tenant, partition)
    ]


def selected(
    school: School, experiences: Sequence[Experience], most: int, seed: int
) -> list[Experience]:
    """What is replayed of them, surprising ones first; all of them if they are few."""
    if len(experiences) <= most:
        return replayed(experiences, most, seed)
    some = replayed(experiences, most * RANKED, seed)
    return replayed(ranked(school, some), most, seed)


def ranked(school: School, experiences: Sequence[Experience]) -> list[Experience]:
    """The same with the place at which a search without an adapter puts each memory."""
    asked: defaultdict[str, list[Experience]] = defaultdict(list)
    found = [one for one in experiences if one.query is None]
    for one in experiences:
        if one.query is not None:
            asked[one.query].append(one)
    for query, told in asked.items():
        places = school.places(query, told[-1].at, [one.id for one in told])
        found += [replace(one, rank=places.get(one.id)) for one in told]
    return found

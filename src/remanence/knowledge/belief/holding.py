"""What held at a moment: of predicates with one object at a time, one value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from remanence.model.knowledge import Fact
from remanence.model.predicates import Holds, predicate_of

_EVER = datetime.min.replace(tzinfo=UTC)
_NEVER = datetime.max.replace(tzinfo=UTC)


def holding(
    facts: Iterable[Fact], moment: datetime, one_at_a_time: frozenset[str] = frozenset()
) -> list[Fact]:
    """The facts that held then, in the order given.

    Where only one of a predicate can hold, that is the most trusted, then the one that started
    last: a stretch that lies within a longer one goes before it. Those that are disputed all count.
    """
    held = [fact for fact in facts if fact.holds_at(moment)]
    rivals: dict[tuple[str | None, str, str], list[Fact]] = defaultdict(list)
    for fact in held:
        if predicate_of(fact.predicate, one_at_a_time).holds is Holds.ONE:
            rivals[_place(fact)].append(fact)
    chosen = {place: max(there, key=_rank) for place, there in rivals.items()}
    return [fact for fact in held if _agrees(fact, chosen.get(_place(fact)))]


def newest(facts: Iterable[Fact]) -> list[Fact]:
    """Facts in order of their start, the last first; ties by recording, then by id."""
    by_id = sorted(facts, key=lambda one: one.id, reverse=True)
    return sorted(
        by_id, key=lambda one: (one.valid_from or one.recorded_at, one.recorded_at), reverse=True
    )


def _place(fact: Fact) -> tuple[str | None, str, str]:
    return fact.user_id, fact.subject_id, fact.predicate


def _rank(fact: Fact) -> tuple[float, datetime, datetime, str]:
    return fact.trust, fact.valid_from or _EVER, fact.valid_to or _NEVER, fact.id


def _agrees(fact: Fact, chosen: Fact | None) -> bool:
    return chosen is None or fact.id == chosen.id or fact.id in chosen.rivals

"""What is said of an entity, in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from remanence.model.graph import Moment, Turn
from remanence.model.knowledge import Fact, Standing


def timeline_of(facts: Iterable[Fact], id: str, until: datetime | None = None) -> list[Moment]:
    """When what is believed of an entity began and ended; what has no date, when it was said.

    With `until`, nothing after that moment.
    """
    told = [one for one in facts if id in (one.subject_id, one.object_id)]
    moments = (moment for one in told for moment in _moments(one))
    return sorted(
        (one for one in moments if until is None or one.at <= until),
        key=lambda one: (one.at, one.turn is Turn.ENDED, one.fact.recorded_at, one.fact.id),
    )


def _moments(fact: Fact) -> Iterator[Moment]:
    if fact.standing is Standing.DOUBTED:
        return
    if fact.valid_from is not None:
        turn = Turn.NOTED if fact.began is None else Turn.BEGAN
        yield Moment(at=fact.valid_from, turn=turn, fact=fact)
    elif fact.valid_to is None:
        yield Moment(at=fact.recorded_at, turn=Turn.NOTED, fact=fact)
    if fact.valid_to is not None:
        yield Moment(at=fact.valid_to, turn=Turn.ENDED, fact=fact)

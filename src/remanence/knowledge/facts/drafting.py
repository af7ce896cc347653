"""Claims made of facts: one that confirms, one that is right instead, those that deny."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from remanence.knowledge.belief.said import point_of, told
from remanence.model.knowledge import Claim, Fact, When
from remanence.model.memory import EMPTY

CALLER = "caller"
MICROSECOND = timedelta(microseconds=1)


def confirming(fact: Fact, said: Claim, now: datetime) -> Claim:
    """That the fact is so: of what holds, that it does now; else of its own time."""
    lasts = fact.holds_at(now)
    return replace(
        _stated(said),
        text=fact.text,
        trust=fact.trust,
        observed_at=now,
        recorded_at=now,
        began=None if lasts else _at(fact.valid_from),
        ended=None if lasts else _at(fact.valid_to),
    )


def corrected(
    fact: Fact, said: Claim, claims: Iterable[Claim], *, began: When | None, ended: When | None
) -> Claim:
    """The fact as a claim, with the times that are right instead; those told before stay."""
    ends = [one.ended for one in claims if one.ended is not None]
    return replace(
        _stated(said),
        text=fact.text,
        confidence=1.0,
        trust=fact.trust,
        observed_at=said.observed_at if told(said.began) else fact.valid_from or said.observed_at,
        began=began or fact.began,
        ended=ended or (ends[-1] if ends else None),
    )


def denials(
    fact: Fact,
    claims: Sequence[Claim],
    now: datetime,
    reason: str | None,
    new_id: Callable[[], UUID],
) -> list[Claim]:
    """That what the fact's claims say of its time is not so, once for each way they said it.

    Recorded after all of them, even if one of them came from a clock that runs ahead.
    """
    points = [point_of(one) for one in claims]
    ways = {
        (one.subject, one.predicate, one.value, one.object, one.agent_id, one.session_id): one
        for one in claims
    }
    at = max([now, *(one.recorded_at for one in claims)])
    return [
        replace(
            _stated(one),
            id=str(new_id()),
            denies=True,
            confidence=1.0,
            trust=max(fact.trust, *(claim.trust for claim in claims)),
            began=_at(min(points)),
            ended=_at(max(points)),
            observed_at=at,
            recorded_at=at,
            reason=reason,
        )
        for one in ways.values()
    ]


def _stated(claim: Claim) -> Claim:
    """The claim as if a caller stated it."""
    return replace(
        claim,
        origin=CALLER,
        memory=None,
        denies=False,
        reason=None,
        rested_at=None,
        retired_at=None,
        metadata=EMPTY,
    )


def _at(moment: datetime | None) -> When | None:
    return None if moment is None else When(start=moment, end=moment)

"""Reading again: what a memory says as before keeps its identity and the time it was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from remanence.model.knowledge import Claim, Learnt, When

Content: TypeAlias = tuple[str, str, str, str | None, When | None, When | None]

CALLER = "caller"


def recognised(learnt: Sequence[Learnt], before: Iterable[Claim]) -> list[Learnt]:
    """What was learnt, with the ids and times of claims that the same memory made already.

    So a fact keeps its id, `known_at` stays true, and what was taken back stays taken back.
    """
    known: dict[tuple[str | None, Content], Claim] = {}
    for one in before:
        if one.origin != CALLER and one.retired_at is None:
            known.setdefault((one.memory, _content(one)), one)
    return [
        replace(one, claims=tuple(_as_before(claim, known) for claim in one.claims))
        for one in learnt
    ]


def _as_before(claim: Claim, known: dict[tuple[str | None, Content], Claim]) -> Claim:
    before = known.pop((claim.memory, _content(claim)), None)
    if before is None:
        return claim
    return replace(claim, id=before.id, recorded_at=before.recorded_at)


def _content(claim: Claim) -> Content:
    return (
        claim.subject,
        claim.predicate,
        claim.value,
        claim.object,
        claim.began,
        claim.ended,
    )

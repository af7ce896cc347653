"""Denials: which claims were taken back, and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from remanence.knowledge.belief.said import Reader, level_of, point_of, told
from remanence.model.knowledge import Claim


def known(claims: Iterable[Claim], known_at: datetime | None) -> list[Claim]:
    """The claims that had been recorded by then and do not rest, denials too."""
    if known_at is None:
        return [one for one in claims if one.rested_at is None]
    return [
        one
        for one in claims
        if one.recorded_at <= known_at and (one.rested_at is None or known_at < one.rested_at)
    ]


class Denials:
    """Says of a claim when it was taken back: by a denial, or as its memory says otherwise now.

    A denial takes back what was recorded up to it and is trusted no more than itself: of its
    object, or of all objects if it names none. One that tells of a time takes back only claims
    that stand in that time.
    """

    def __init__(self, claims: Sequence[Claim], reader: Reader, known_at: datetime | None) -> None:
        self._reader = reader
        self._known_at = known_at
        self._denials: dict[tuple[str | None, str, str], list[Claim]] = defaultdict(list)
        for one in claims:
            if one.denies and self._retired(one) is None:
                self._denials[self._place(one)].append(one)

    def taken_back(self, claim: Claim) -> datetime | None:
        """When the claim was taken back first; None if it stands."""
        if not self._denials and claim.retired_at is None:
            return None
        moments = [
            denial.recorded_at
            for denial in self._denials.get(self._place(claim), ())
            if self._denies(denial, claim)
        ]
        if (retired := self._retired(claim)) is not None:
            moments.append(retired)
        return min(moments, default=None)

    def _place(self, claim: Claim) -> tuple[str | None, str, str]:
        return claim.user_id, self._reader.subject(claim), claim.predicate

    def _retired(self, claim: Claim) -> datetime | None:
        at = claim.retired_at
        return None if at is None or (self._known_at and self._known_at < at) else at

    def _denies(self, denial: Claim, claim: Claim) -> bool:
        return (
            claim.recorded_at <= denial.recorded_at
            and level_of(claim) <= level_of(denial)
            and (not denial.value or self._reader.object(denial) == self._reader.object(claim))
            and _in_time(denial, claim)
        )


def _in_time(denial: Claim, claim: Claim) -> bool:
    first, last = told(denial.began), told(denial.ended)
    if first is None and last is None:
        return True
    point = point_of(claim)
    return (first is None or first <= point) and (last is None or point <= last)

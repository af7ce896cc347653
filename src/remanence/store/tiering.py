"""What both stores say of tiers in the same words."""

from __future__ import annotations

from collections.abc import Iterable

from remanence.errors import InvalidInput
from remanence.model.tier import Tier, TierUse
from remanence.store.rows import Row

_NUMBERED = (Tier.HOT, Tier.COOL, Tier.COLD)  # as rows have them


def check_tier(tier: Tier) -> Tier:
    """The tier, if it is one that memories can be moved to."""
    if tier not in (Tier.COOL, Tier.COLD):
        raise InvalidInput("Memories are packed to the tier COOL or COLD; use `unpack` for hot.")
    return Tier(tier)


def number_of(tier: Tier) -> int:
    """The tier as a row has it."""
    return _NUMBERED.index(tier)


def tier_uses(texts: Iterable[Row], pieces: Iterable[Row]) -> list[TierUse]:
    """The tiers of rows (tier, memories, characters, bytes) and of the sums of their pieces."""
    of_pieces = {tier: tuple(map(int, sums)) for tier, *sums in pieces}
    found = []
    for tier, memories, characters, stored in sorted(texts, key=lambda row: row[0]):
        vectors, vectors_stored, codes, codes_stored = of_pieces.get(tier, (0, 0, 0, 0))
        found.append(
            TierUse(
                tier=_NUMBERED[tier],
                memories=memories,
                text_raw=int(characters),
                text_stored=int(stored),
                vectors_raw=vectors,
                vectors_stored=vectors_stored,
                codes_raw=codes,
                codes_stored=codes_stored,
            )
        )
    return found

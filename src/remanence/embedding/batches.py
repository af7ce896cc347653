"""Which texts run through the model together."""

from __future__ import annotations

from collections.abc import Sequence


def plan_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Positions grouped by similar length, at most `budget` padded tokens a group, long first.

    A text longer than the budget runs alone, so a budget of 0 runs every text alone.
    """
    batches: list[list[int]] = []
    widest = 0
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if batches and (len(batches[-1]) + 1) * widest <= budget:
            batches[-1].append(at)
        else:
            batches.append([at])
            widest = lengths[at]
    return batches

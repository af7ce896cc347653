"""How the budget is shared: fixed parts of it, and what one does not need flows to the others."""

from __future__ import annotations

from collections.abc import Mapping

CORE, STATE, SUMMARY, FACTS, RECALLED, RECENT = (
    "core",
    "state",
    "summary",
    "facts",
    "recalled",
    "recent",
)
SHARES: Mapping[str, float] = {
    CORE: 0.20,
    STATE: 0.05,
    SUMMARY: 0.10,
    FACTS: 0.05,
    RECALLED: 0.35,
    RECENT: 0.25,
}
# Who takes what is left, first come first.
SPARE = (RECALLED, RECENT, FACTS, SUMMARY, STATE)


def allotted(needs: Mapping[str, int], budget: int) -> dict[str, int]:
    """Tokens for each part, never more than it needs, together never more than the budget.

    Core blocks come whole as long as they fit: they are the contract.
    """
    given = {CORE: min(needs.get(CORE, 0), budget)}
    left = budget - given[CORE]
    scale = min(1.0, left / ((1 - SHARES[CORE]) * budget))
    for name, share in SHARES.items():
        if name != CORE:
            given[name] = min(needs.get(name, 0), int(share * scale * budget))
    spare = budget - sum(given.values())
    for name, more in _spread(needs, given, spare).items():
        given[name] += more
    spare = budget - sum(given.values())
    for name in SPARE:
        more = min(needs.get(name, 0) - given[name], spare)
        given[name] += more
        spare -= more
    return given


def _spread(needs: Mapping[str, int], given: Mapping[str, int], spare: int) -> dict[str, int]:
    """The spare tokens between what is recalled and what was just said, as their shares are."""
    both = SHARES[RECALLED] + SHARES[RECENT]
    return {
        name: min(needs.get(name, 0) - given[name], int(spare * SHARES[name] / both))
        for name in (RECALLED, RECENT)
    }

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
# What core blocks may take of a budget that is too small for all.
CORE_MOST = 0.75
# What the best memory may take before them.
RECALLED_LEAST = 0.2
# Who takes what is left, first come first.
SPARE = (RECALLED, RECENT, FACTS, SUMMARY, STATE, CORE)


def allotted(
    needs: Mapping[str, int], budget: int, least: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Tokens for each part, never more than it needs, together never more than the budget.

    Core blocks come whole if they take at most `CORE_MOST`, or if there is room for all. `least`
    comes before them and any share: of the recent turns what was asked, of memories the best.
    """
    given = _reserved(needs, budget, least or {})
    scale = min(1.0, (budget - given[CORE]) / ((1 - SHARES[CORE]) * budget))
    wanted = {
        name: max(0, min(needs.get(name, 0), int(share * scale * budget)) - given[name])
        for name, share in SHARES.items()
        if name != CORE
    }
    spare = budget - sum(given.values())
    fit = min(1.0, spare / max(sum(wanted.values()), 1))
    for name, more in wanted.items():
        given[name] += int(more * fit)
    spare = budget - sum(given.values())
    for name, more in _spread(needs, given, spare).items():
        given[name] += more
    spare = budget - sum(given.values())
    for name in SPARE:
        more = min(needs.get(name, 0) - given[name], spare)
        given[name] += more
        spare -= more
    return given


def _reserved(needs: Mapping[str, int], budget: int, least: Mapping[str, int]) -> dict[str, int]:
    """What comes before the shares: what was asked, the best memory, the core blocks."""
    rest = sum(needs.values()) - needs.get(CORE, 0)
    wanted = {
        RECENT: least.get(RECENT, 0),
        RECALLED: min(least.get(RECALLED, 0), int(RECALLED_LEAST * budget)),
        CORE: max(int(CORE_MOST * budget), budget - rest),
    }
    given = dict.fromkeys(SHARES, 0)
    for name, tokens in wanted.items():
        given[name] = min(tokens, needs.get(name, 0), budget - sum(given.values()))
    return given


def _spread(needs: Mapping[str, int], given: Mapping[str, int], spare: int) -> dict[str, int]:
    """The spare tokens between what is recalled and what was just said, as their shares are."""
    both = SHARES[RECALLED] + SHARES[RECENT]
    return {
        name: min(needs.get(name, 0) - given[name], int(spare * SHARES[name] / both))
        for name in (RECALLED, RECENT)
    }

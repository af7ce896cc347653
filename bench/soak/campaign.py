"""A campaign: one promise, tried many times in batches that know nothing of each other."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Work:
    """What a batch is given: its seed, how often to try, a folder, a superuser's URL."""

    seed: int
    count: int
    folder: Path
    postgres: str = ""
    tell: Callable[[int], None] = lambda done: None


@dataclass(slots=True)
class Seen:
    """What a batch saw: counts that are added up, and what should not have been."""

    counts: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """`total` tries in batches of `size`; what `never` names must stay 0.

    `each_s` is about how long one takes, until it is measured.
    """

    name: str
    promise: str
    unit: str
    total: int
    size: int
    run: Callable[[Work], Seen]
    never: tuple[str, ...] = ()
    postgres: bool = False
    each_s: float = 1.0

    def seen(self, work: Work) -> Seen:
        """Run a batch, and count what it may not have seen as violations."""
        seen = self.run(work)
        found = {name: seen.counts.setdefault(name, 0) for name in self.never}
        seen.violations += [f"{name}: {count}" for name, count in found.items() if count]
        return seen


@dataclass(frozen=True, slots=True)
class Batch:
    """Part of a campaign; its seed follows from the run's."""

    campaign: str
    number: int
    seed: int
    count: int


def batches_of(campaign: Campaign, times: float, seed: int) -> list[Batch]:
    """All of a campaign, `times` as long as it is by itself, and never nothing."""
    total = max(1, round(campaign.total * times))
    sizes = [min(campaign.size, total - at) for at in range(0, total, campaign.size)]
    return [
        Batch(campaign.name, number, _seed(seed, campaign.name, number), size)
        for number, size in enumerate(sizes)
    ]


def _seed(*parts: object) -> int:
    return random.Random(" ".join(map(str, parts))).randrange(2**32)


def named(campaigns: Iterable[Campaign], wanted: str) -> list[Campaign]:
    """Those of these names or beginnings of names, parted by commas; all, if none is named."""
    every = list(campaigns)
    parts = [part.strip() for part in wanted.split(",") if part.strip()]
    for part in parts:
        if not any(one.name.startswith(part) for one in every):
            known = ", ".join(one.name for one in every)
            raise SystemExit(f"There is no campaign {part!r}; there are {known}.")
    return [one for one in every if not parts or one.name.startswith(tuple(parts))]

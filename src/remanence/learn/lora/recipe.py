"""How a LoRA is trained: rank, steps, rate, and which examples each step sees."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from remanence.errors import InvalidInput
from remanence.model.memory import unit_interval

T = TypeVar("T")
# With these, SmolLM2-135M recalls 20 of 20 facts and keeps 20 of 20 old ones (bench/lora.py).
SHOWINGS = 10
BATCH = 4
RATE = 1e-3
WARM_UP = 0.1
LAST_RATE = 0.1
MAX_SEED = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """`replay` is the share of each batch taken from old examples, `rate` the highest step size.

    The answer of an example is cut at `max_tokens`, its question included.
    """

    steps: int
    rank: int = 8
    replay: float = 0.5
    seed: int = 0
    batch: int = BATCH
    rate: float = RATE
    max_tokens: int = 512
    checkpoint_every: int = 20

    def __post_init__(self) -> None:
        for name in ("steps", "rank", "batch", "max_tokens", "checkpoint_every"):
            _whole(name, getattr(self, name), 1, 1_000_000)
        _whole("seed", self.seed, 0, MAX_SEED)
        if unit_interval("replay", self.replay) == 1:
            raise InvalidInput("replay must be below 1, or nothing new is learnt.")
        if not 0 < self.rate < 1:
            raise InvalidInput(f"rate must lie between 0 and 1; got {self.rate!r}.")

    def rate_at(self, step: int) -> float:
        """The size of this step: rising at first, then falling in a line."""
        rising = min(1.0, (step + 1) / max(1.0, WARM_UP * self.steps))
        return self.rate * rising * (1 - (1 - LAST_RATE) * step / self.steps)


def steps_for(new: int, old: int, replay: float, batch: int = BATCH) -> int:
    """As many steps as show every new example `SHOWINGS` times."""
    share = 1 - (unit_interval("replay", replay) if old else 0)
    return max(1, math.ceil(SHOWINGS * new / (batch * max(share, 0.01))))


def batches(new: Sequence[T], old: Sequence[T], recipe: Recipe) -> Iterator[list[T]]:
    """What each step sees, the same for the same seed. Every pass over a side is shuffled anew.

    Without old examples the batches are of new ones only.
    """
    chance = random.Random(recipe.seed)
    share = recipe.replay if old else 0.0
    fresh, replayed = _rounds(new, chance), _rounds(old, chance)
    for step in range(recipe.steps):
        due = [math.floor(n * recipe.batch * share + 1e-9) for n in (step, step + 1)]
        again = min(due[1] - due[0], recipe.batch)
        taken = [next(replayed) for _ in range(again)]
        yield taken + [next(fresh) for _ in range(recipe.batch - again)]


def _rounds(items: Sequence[T], chance: random.Random) -> Iterator[T]:
    while items:
        yield from chance.sample(items, len(items))


def _whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(f"{name} must be a whole number from {least} to {most}; got {value!r}.")

"""How a LoRA is trained: its recipe, new examples mixed with replayed ones, resumable."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from remanence.consolidation.learning.lora import files
from remanence.consolidation.learning.lora.models import Encoded, Loaded, answer_losses, stack
from remanence.errors import InvalidInput, LanguageModelError, NotFound
from remanence.model.memory import unit_interval
from remanence.model.progress import Progress
from remanence.model.telemetry import hush
from remanence.model.validation import whole_of

T = TypeVar("T")
# With these, SmolLM2-135M recalls 20 of 20 facts and keeps 20 of 20 old ones (bench/lora.py).
SHOWINGS = 10
BATCH = 4
RATE = 1e-3
WARM_UP = 0.1
LAST_RATE = 0.1
MAX_SEED = 2**31

MAX_NORM = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecipe:
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
            whole_of(name, getattr(self, name), 1, 1_000_000)
        whole_of("seed", self.seed, 0, MAX_SEED)
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


def batches(new: Sequence[T], old: Sequence[T], recipe: TrainingRecipe) -> Iterator[list[T]]:
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


def with_adapter(loaded: Loaded, recipe: TrainingRecipe, previous: Path | None) -> Loaded:
    """The model with a LoRA on every linear layer: a new one, or one to go on with.

    An adapter that is gone on with keeps its own rank.
    """
    hush()
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model

    torch.manual_seed(recipe.seed)
    if previous is None:
        config = LoraConfig(
            task_type="CAUSAL_LM",
            r=recipe.rank,
            lora_alpha=2 * recipe.rank,
            target_modules="all-linear",
        )
        tuned: Any = get_peft_model(loaded.model, config)
    else:
        try:
            tuned = PeftModel.from_pretrained(loaded.model, str(previous), is_trainable=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise NotFound(
                f"{previous} holds no adapter to go on from any more; start again ({error})."
            ) from error
    return Loaded(model=tuned, tokenizer=loaded.tokenizer, device=loaded.device)


def train(
    loaded: Loaded,
    new: Sequence[Encoded],
    old: Sequence[Encoded],
    recipe: TrainingRecipe,
    *,
    folder: Path,
    run: str,
    progress: Progress | None = None,
) -> int:
    """Take the recipe's steps, from the run's last checkpoint on; how many were there already.

    Each step seeds chance anew, so a run that went on is the run that never stopped.
    """
    import torch

    weights = {name: one for name, one in loaded.model.named_parameters() if one.requires_grad}
    optimizer = torch.optim.AdamW(weights.values(), lr=recipe.rate, weight_decay=0.0)
    begun = files.restore(folder, run, weights, optimizer)
    loaded.model.train()
    for step, batch in enumerate(islice(batches(new, old, recipe), begun, None), begun):
        torch.manual_seed(recipe.seed + step)
        _step(loaded, batch, optimizer, list(weights.values()), recipe.rate_at(step))
        if (step + 1) % recipe.checkpoint_every == 0:
            files.save(folder, run, step + 1, weights, optimizer)
        if progress is not None:
            progress(step + 1, recipe.steps)
    return begun


def _step(
    loaded: Loaded, batch: Sequence[Encoded], optimizer: Any, weights: list[Any], rate: float
) -> None:
    import torch

    for group in optimizer.param_groups:
        group["lr"] = rate
    inputs, labels = stack(batch, loaded.tokenizer.eos_token_id, loaded.device)
    loss = answer_losses(loaded.model(**inputs).logits, labels).mean()
    if not torch.isfinite(loss):
        raise LanguageModelError("The training diverged; try again with a lower rate.")
    loss.backward()
    torch.nn.utils.clip_grad_norm_(weights, MAX_NORM)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)

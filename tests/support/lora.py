"""A LoRA of examples that no memory holds: what tests and benchmarks train."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from remanence.consolidation.learning.lora.examples import TrainingExample
from remanence.consolidation.learning.lora.files import folder_of
from remanence.consolidation.learning.lora.jobs import (
    BATCH,
    RATE,
    Finetuned,
    TrainingRecipe,
    perform,
    plan,
    steps_for,
)
from remanence.consolidation.learning.lora.models import require_libraries
from remanence.errors import InvalidInput
from remanence.model.progress import Progress


def finetune(
    examples_new: Sequence[TrainingExample],
    examples_old: Sequence[TrainingExample] = (),
    *,
    base: str | PathLike[str],
    out: str | PathLike[str],
    rank: int = 8,
    steps: int | None = None,
    replay: float = 0.5,
    seed: int = 0,
    rate: float = RATE,
    batch: int = BATCH,
    checkpoint_every: int = 20,
    device: str = "auto",
    resume: bool = True,
    previous: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Finetuned:
    """Teach a language model new examples, and remind it of old ones, without a memory.

    `steps` left out shows each new example ten times.
    """
    require_libraries()
    new, old = tuple(examples_new), tuple(examples_old)
    if not new:
        raise InvalidInput("There is nothing new to learn; give at least one example.")
    taken = steps_for(len(new), len(old), replay, batch) if steps is None else steps
    recipe = TrainingRecipe(
        steps=taken,
        rank=rank,
        replay=replay,
        seed=seed,
        rate=rate,
        batch=batch,
        checkpoint_every=checkpoint_every,
    )
    job = plan(new, old, base, folder_of("out", out), recipe, previous)
    return perform(job, device, resume, progress)

"""Training a LoRA: new examples mixed with replayed ones, resumable at any step kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from remanence.errors import LanguageModelError, NotFound
from remanence.learn.lora import checkpoints
from remanence.learn.lora.encoding import Encoded, stack
from remanence.learn.lora.evaluating import answer_losses
from remanence.learn.lora.models import Loaded
from remanence.learn.lora.recipe import Recipe, batches
from remanence.ports.store import Progress
from remanence.silence import hush

MAX_NORM = 1.0


def with_adapter(loaded: Loaded, recipe: Recipe, previous: Path | None) -> Loaded:
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
    recipe: Recipe,
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
    begun = checkpoints.restore(folder, run, weights, optimizer)
    loaded.model.train()
    for step, batch in enumerate(islice(batches(new, old, recipe), begun, None), begun):
        torch.manual_seed(recipe.seed + step)
        _step(loaded, batch, optimizer, list(weights.values()), recipe.rate_at(step))
        if (step + 1) % recipe.checkpoint_every == 0:
            checkpoints.save(folder, run, step + 1, weights, optimizer)
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

"""From examples to an adapter on disk: how it is trained, and measured before and after."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from remanence.consolidation.learning.lora import files
from remanence.consolidation.learning.lora.examples import TrainingExample, digest
from remanence.consolidation.learning.lora.files import CHECKPOINT, folder_of, write_whole
from remanence.consolidation.learning.lora.manifest import (
    CONFIG,
    SCRATCH,
    WEIGHTS,
    AdapterManifest,
    AdapterState,
    claim,
    clear,
    read_manifest,
    write_manifest,
)
from remanence.consolidation.learning.lora.models import (
    BaseModel,
    BeforeAndAfter,
    Encoded,
    Loaded,
    LossScore,
    answer_losses,
    encode,
    find_model,
    library_versions,
    load_model,
    score,
    stack,
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finetuned:
    """An adapter that is ready: load it with `peft.PeftModel.from_pretrained(model, folder)`.

    `resumed_at` is the step from which this call went on; the last one if nothing was left to do.
    """

    folder: Path
    manifest: AdapterManifest
    resumed_at: int

    @property
    def figures(self) -> BeforeAndAfter:
        """How well the examples are known, before and after."""
        return self.manifest.figures


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningJob:
    """All that decides what a run gives, and where it goes."""

    new: tuple[TrainingExample, ...]
    old: tuple[TrainingExample, ...]
    base: BaseModel
    folder: Path
    recipe: TrainingRecipe
    previous: Path | None
    manifest: AdapterManifest


def plan(
    new: tuple[TrainingExample, ...],
    old: tuple[TrainingExample, ...],
    base: str | PathLike[str],
    folder: Path,
    recipe: TrainingRecipe,
    previous: str | PathLike[str] | None,
) -> TuningJob:
    """What would be done; the same for the same examples, model and recipe.

    `base` is a GGUF file, a model's folder, or a name that was downloaded before. `previous` is an
    adapter of the same model to go on from.
    """
    found, before = find_model(base), None
    if previous is not None:
        before = _usable(folder_of("previous", previous), found)
    shown = (*new, *old)
    deciding = [digest(new), digest(old), found.sha256, asdict(recipe), before and before.run]
    manifest = AdapterManifest(
        run=sha256(json.dumps(deciding).encode()).hexdigest(),
        state=AdapterState.TRAINING,
        base=str(found.path),
        base_sha256=found.sha256,
        recipe=asdict(recipe),
        new=tuple(one.id for one in new),
        old=tuple(one.id for one in old),
        learnt=_all([[one.id] for one in shown], () if before is None else before.learnt),
        memories=_all([one.memories for one in shown], () if before is None else before.memories),
        facts=_all([one.facts for one in shown], () if before is None else before.facts),
        versions=library_versions(),
    )
    return TuningJob(
        new=new,
        old=old,
        base=found,
        folder=folder,
        recipe=recipe,
        previous=None if previous is None else folder_of("previous", previous),
        manifest=manifest,
    )


def perform(
    job: TuningJob, device: str = "auto", resume: bool = True, progress: Progress | None = None
) -> Finetuned:
    """Do it, or the rest of it.

    Killed at any moment, it goes on from the last checkpoint, and gives what it would have given;
    done already, it gives that. With `resume` off it begins anew. A folder with another finished
    adapter, or with anything else, is a `Conflict`.
    """
    there = claim(job.folder, job.manifest.run)
    if there is not None and there.state is AdapterState.READY:
        return Finetuned(folder=job.folder, manifest=there, resumed_at=job.recipe.steps)
    if there is not None and not resume:
        clear(job.folder)
        there = None
    return _trained(job, load_model(job.base, device), there, progress)


def _trained(
    job: TuningJob, bare: Loaded, there: AdapterManifest | None, progress: Progress | None
) -> Finetuned:
    loaded = with_adapter(bare, job.recipe, job.previous)
    new, old = (
        [encode(one, loaded.tokenizer, job.recipe.max_tokens) for one in side]
        for side in (job.new, job.old)
    )
    begun = there or replace(job.manifest, before=_scores(loaded, new, old))
    write_manifest(job.folder, begun)
    resumed_at = train(
        loaded, new, old, job.recipe, folder=job.folder, run=begun.run, progress=progress
    )
    done = replace(begun, state=AdapterState.READY, after=_scores(loaded, new, old))
    _save(loaded, job.folder)
    write_manifest(job.folder, done)
    (job.folder / CHECKPOINT).unlink(missing_ok=True)
    return Finetuned(folder=job.folder, manifest=done, resumed_at=resumed_at)


def _usable(folder: Path, base: BaseModel) -> AdapterManifest:
    found = read_manifest(folder)
    if found is None or found.state is not AdapterState.READY or not (folder / WEIGHTS).is_file():
        raise NotFound(f"{folder} holds no finished adapter to go on from; leave `previous` out.")
    if found.base_sha256 != base.sha256:
        raise InvalidInput(f"The adapter in {folder} is of another model; leave `previous` out.")
    return found


def _scores(
    loaded: Loaded, new: Sequence[Encoded], old: Sequence[Encoded]
) -> dict[str, LossScore | None]:
    return {"new": score(loaded, new), "old": score(loaded, old) if old else None}


def _save(loaded: Loaded, folder: Path) -> None:
    """The weights as peft keeps them; it also writes a page about the model, which is left out."""
    made = folder / SCRATCH
    loaded.model.save_pretrained(str(made), save_embedding_layers=False)
    for name in (WEIGHTS, CONFIG):
        write_whole(folder / name, (made / name).read_bytes())
    shutil.rmtree(made)


def _all(groups: Sequence[Sequence[str]], before: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(id for group in groups for id in group), *before)))

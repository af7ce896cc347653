"""From examples to an adapter on disk, measured before and after."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from os import PathLike
from pathlib import Path

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
    encode,
    find_model,
    library_versions,
    load_model,
    score,
)
from remanence.consolidation.learning.lora.trainer import TrainingRecipe, train, with_adapter
from remanence.errors import InvalidInput, NotFound
from remanence.model.progress import Progress


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
    new, old = (_encoded(loaded, side, job.recipe) for side in (job.new, job.old))
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


def _encoded(
    loaded: Loaded, side: Sequence[TrainingExample], recipe: TrainingRecipe
) -> list[Encoded]:
    return [encode(one, loaded.tokenizer, recipe.max_tokens) for one in side]


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

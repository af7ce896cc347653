"""The folder of an adapter: peft's two files, and what they were made from and how well."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from remanence.errors import Conflict, NotFound
from remanence.learn.lora.checkpoints import CHECKPOINT
from remanence.learn.lora.evaluating import Figures, Score
from remanence.learn.lora.files import write_whole

MANIFEST = "remanence.json"
WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
SCRATCH = ".saving"
_IDS = ("new", "old", "learnt", "memories", "facts")
DRAFTS = tuple(f".{name}.draft" for name in (MANIFEST, WEIGHTS, CONFIG, CHECKPOINT))


class AdapterState(StrEnum):
    """How an adapter stands. Only `ready` has weights to load."""

    TRAINING = "training"
    READY = "ready"
    UNLEARNT = "unlearnt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an adapter is: its run, its model, what it learnt from. It holds ids, never a text.

    `run` is a digest of everything that decides the result. `learnt` are all examples it was ever
    shown; they, `memories` and `facts` include those of the adapters it goes on from, for what
    they learnt is in it too.
    """

    run: str
    state: AdapterState
    base: str
    base_sha256: str
    recipe: Mapping[str, float]
    new: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    learnt: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    before: Mapping[str, Score | None] = field(default_factory=dict)
    after: Mapping[str, Score | None] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def figures(self) -> Figures:
        """How well it knows them, before and after."""
        new = self.before.get("new"), self.after.get("new")
        if new[0] is None or new[1] is None:
            raise NotFound("This adapter was never finished; train it again to have figures.")
        return Figures(
            new_before=new[0],
            new_after=new[1],
            old_before=self.before.get("old"),
            old_after=self.after.get("old"),
        )


def read_manifest(folder: Path) -> Manifest | None:
    """What a folder says of itself; None if it says nothing that is ours."""
    try:
        told = json.loads((folder / MANIFEST).read_bytes())
        return Manifest(
            **{
                **told,
                "state": AdapterState(told["state"]),
                **{name: tuple(told[name]) for name in _IDS},
                **{name: _scores(told[name]) for name in ("before", "after")},
            }
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put it in place of what the folder said before."""
    write_whole(folder / MANIFEST, json.dumps(asdict(manifest), indent=1).encode())


def claim(folder: Path, run: str) -> Manifest | None:
    """Make the folder this run's: what it said of the run before, None for a new one.

    What an unfinished run left is cleared away; `Conflict` if there is anything else.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = read_manifest(folder)
    if found is None:
        if {one.name for one in folder.iterdir()} - {*DRAFTS, CHECKPOINT, SCRATCH}:
            raise Conflict(f"{folder} holds something else; give an empty folder or a new one.")
        return None
    if found.state is AdapterState.READY and found.run != run:
        raise Conflict(f"{folder} holds another adapter; give an empty folder or a new one.")
    if found.run == run and found.state is not AdapterState.UNLEARNT:
        return found
    clear(folder)
    return None


def clear(folder: Path) -> None:
    """Remove the files that are ours, the manifest last."""
    _clear_weights(folder)
    (folder / MANIFEST).unlink(missing_ok=True)


def withdraw(folder: Path, run: str) -> bool:
    """Delete the weights of a run and all that was kept of its training; whether it was there.

    What is left says that it was unlearnt. A folder that is another run's by now stays as it is.
    """
    found = read_manifest(folder)
    if found is None or found.run != run:
        return False
    bare: dict[str, Any] = {**dict.fromkeys(_IDS, ()), "before": {}, "after": {}}
    write_manifest(folder, replace(found, state=AdapterState.UNLEARNT, **bare))
    _clear_weights(folder)
    return True


def _clear_weights(folder: Path) -> None:
    for name in (WEIGHTS, CHECKPOINT, CONFIG, *DRAFTS):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)


def _scores(told: Mapping[str, Any]) -> dict[str, Score | None]:
    return {name: None if one is None else Score(**one) for name, one in told.items()}

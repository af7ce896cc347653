"""Files that appear whole or not at all, and where a training stands in one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput, StoreError
from remanence.model.system.files import create, replace, sync

_SQLITE = b"SQLite format 3\0"

CHECKPOINT = "checkpoint.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq")


def folder_of(what: str, value: object) -> Path:
    """A path as callers give it, made absolute."""
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise InvalidInput(f"{what} must be a path, not {str(value)[:40]!r}.")
    return Path(value).expanduser().absolute()


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that is there unless it is given up; a database or a device never is."""
    if os.path.lexists(path) and not overwrite:
        raise InvalidInput(f"{path} exists already; pass overwrite to replace it.")
    if path.is_file() and _is_database(path):
        raise InvalidInput(f"{path} is a database; write to another file.")
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is no plain file; write to another one.")


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in place of what was there."""
    replace_whole(path, lambda draft: draft.write_bytes(content))


def replace_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a draft, then give it the name; a crash leaves the old file or the new."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.unlink(missing_ok=True)
        create(draft)
        write(draft)
        sync(draft)
        replace(draft, path)
        sync(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error}); free space or fix its rights."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error}); fix its rights.") from error


def save(folder: Path, run: str, step: int, weights: Mapping[str, Any], optimizer: Any) -> None:
    """Keep the weights and the optimizer's moments after so many steps of a run."""
    from safetensors.torch import save_file

    tensors = {f"weight/{name}": one.detach().cpu() for name, one in weights.items()}
    for moment in _MOMENTS:
        kept = {f"{moment}/{name}": optimizer.state[one][moment] for name, one in weights.items()}
        tensors |= {name: one.cpu() for name, one in kept.items()}
    told = {"run": run, "step": str(step)}
    replace_whole(folder / CHECKPOINT, lambda draft: save_file(tensors, draft, metadata=told))


def restore(folder: Path, run: str, weights: Mapping[str, Any], optimizer: Any) -> int:
    """Put a run's checkpoint into weights and optimizer; how many steps it had taken, 0 for none.

    A checkpoint of another run, or one that cannot be read, counts as none.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / CHECKPOINT, "pt") as kept:
            told = kept.metadata() or {}
            names = {f"{what}/{name}" for what in ("weight", *_MOMENTS) for name in weights}
            if told.get("run") != run or set(kept.keys()) != names:
                return 0
            step = int(told["step"])
            with torch.no_grad():
                for name, one in weights.items():
                    one.copy_(kept.get_tensor(f"weight/{name}"))
                    optimizer.state[one] = _state(kept, name, one, step)
    except (OSError, SafetensorError):
        return 0
    return step


def _state(kept: Any, name: str, weight: Any, step: int) -> dict[str, Any]:
    import torch

    moments = {one: kept.get_tensor(f"{one}/{name}").to(weight.device) for one in _MOMENTS}
    return {"step": torch.tensor(float(step)), **moments}

"""Where a training stands, in one file that is there whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remanence.learn.lora.files import replace_whole

CHECKPOINT = "checkpoint.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq")


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

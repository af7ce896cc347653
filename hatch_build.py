"""Puts the built embedding model into wheels; an editable install finds it in the cache."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from platformdirs import user_cache_dir

MODEL = "all-MiniLM-L6-v2-memory"
INSIDE = f"remanence/backends/embedding/models/{MODEL}"


class ModelHook(BuildHookInterface[Any]):
    """Force-includes the model, or stops the build and says what to run."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the model to what a wheel holds."""
        if version == "editable":
            return
        cache = os.environ.get("REMANENCE_CACHE") or user_cache_dir("remanence")
        folder = Path(cache) / "models" / MODEL
        for name in ("embedder.json", *_checked(folder)):
            build_data["force_include"][str(folder / name)] = f"{INSIDE}/{name}"


def _checked(folder: Path) -> list[str]:
    try:
        files = json.loads((folder / "embedder.json").read_text(encoding="utf-8"))["files"]
        for name, file in files.items():
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != file["sha256"]:
                raise ValueError(f"{name} is damaged")
    except (OSError, ValueError, KeyError) as error:
        message = f"The embedding model in {folder} cannot be packaged ({error}): "
        raise SystemExit(message + "run `make model` first.") from error
    return list(files)

"""The ranker of the settings: the built-in weights, or those of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from remanence.config import Settings
from remanence.errors import ConfigError
from remanence.recall.ranker import Ranker
from remanence.recall.signals import SIGNALS

# Figures of a ranker beyond this, or scales below one over it, would not survive single precision.
LARGEST = 1e12


def find_ranker(settings: Settings) -> Ranker:
    """The weights in force; a file that cannot be used is a `ConfigError`."""
    from remanence.recall import weights

    if not settings.ranker:
        return Ranker.from_table(weights.TABLE, weights.BASE)
    try:
        file = Path(os.path.expanduser(settings.ranker))
        saved = json.loads(file.read_text(encoding="utf-8"))
        table = {_signal(name): _figures(row) for name, row in saved["table"].items()}
        return Ranker.from_table(table, _figure(saved["base"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(
            f"The ranker file {settings.ranker} cannot be used: {error}. "
            "Make one with `rem bench train`, or leave the setting empty."
        ) from error


def _signal(name: str) -> str:
    if name not in SIGNALS:
        raise ValueError(f"{name[:60]!r} is no signal")
    return name


def _figures(row: Sequence[object]) -> tuple[float, float, float]:
    mean, scale, weight = map(_figure, row)
    if scale < 1 / LARGEST:
        raise ValueError(f"a scale must be above 0, not {scale!r}")
    return mean, scale, weight


def _figure(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:60]!r} is no number")
    if not abs(value) <= LARGEST:
        raise ValueError(f"the figure {value!r:.60} is out of bounds")
    return float(value)

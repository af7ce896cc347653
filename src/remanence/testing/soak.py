"""How often a race is run: a few times with every test run, all of them with REMANENCE_SOAK=1."""

from __future__ import annotations

import os


def times(full: int, few: int) -> int:
    """`full` in a soak, else `few`."""
    return full if os.environ.get("REMANENCE_SOAK") == "1" else few

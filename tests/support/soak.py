"""How often something is tried: a few times in `make test`, many in `make soak`.

Whoever asks is marked `soak`, so that `make soak` runs it.
"""

from __future__ import annotations

import os


def times(full: int, few: int) -> int:
    """`full` in a soak, else `few`."""
    return full if os.environ.get("REMANENCE_SOAK") == "1" else few

"""The end of a memory: what it holds is released when it is closed, or else when it is dropped."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack, suppress

from remanence.errors import StoreError
from remanence.layers.uses import Uses
from remanence.sleep.schedule import Background
from remanence.wiring import Parts


class Ending:
    """All that is to be released. It does not know the memory, which could never be dropped else.

    `where` names the store, for the warning that it was left open.
    """

    def __init__(self, parts: Parts, where: str) -> None:
        self.background: Background | None = None
        self.uses: Uses | None = None
        self._parts = parts
        self._where = where
        self._process = os.getpid()

    def release(self) -> None:
        """Finish what is queued and release everything."""
        if self.background is not None:
            self.background.stop()
        with ExitStack() as stack:
            stack.callback(self._parts.close)
            if self.uses is not None:
                write_quietly(self.uses)

    def abandon(self) -> None:
        """Release it for a memory that nobody closed, and say so."""
        if self._process != os.getpid():
            # A forked child: only the store knows what of it is the child's own.
            self._parts.store.close()
            return
        self.release()
        warnings.warn(
            f"{self._where} was dropped while open; close a memory, or open it in a `with`.",
            ResourceWarning,
            stacklevel=2,
        )


def write_quietly(uses: Uses) -> None:
    """Write what was noted of uses; a store that cannot be written now loses no call by it."""
    with suppress(StoreError):
        uses.write()

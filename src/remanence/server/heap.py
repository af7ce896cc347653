"""What a server does now and then beside its calls; its heap is kept small that way."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any

EVERY_S = 20.0
_M_ARENA_MAX = -8
_ARENAS = 1


@cache
def _libc() -> Any:
    """glibc, or None where there is another library."""
    with suppress(OSError, AttributeError):
        found = ctypes.CDLL("libc.so.6")
        if hasattr(found, "mallopt") and hasattr(found, "malloc_trim"):
            return found
    return None


def few_arenas() -> None:
    """Let threads share the heap; to be said before there are any."""
    if _libc() is not None:
        _libc().mallopt(_M_ARENA_MAX, _ARENAS)


def trim() -> None:
    """Give what is free back."""
    if _libc() is not None:
        _libc().malloc_trim(0)


def settle() -> None:
    """Let the collector begin, and pass over what was made before: it stays with the server."""
    gc.collect()
    gc.freeze()
    gc.enable()


@asynccontextmanager
async def trimming() -> AsyncIterator[None]:
    """Trim now and then, for as long as the server runs."""
    settle()
    async with regularly(EVERY_S, trim):
        yield


_log = logging.getLogger(__name__)


@asynccontextmanager
async def regularly(seconds: float, work: Callable[[], None]) -> AsyncIterator[None]:
    """Do the work so often on a thread; what fails is logged and tried again the next time."""
    task = asyncio.create_task(_again_and_again(seconds, work))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _again_and_again(seconds: float, work: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await asyncio.to_thread(work)
        except Exception:
            _log.exception("%s failed", work.__qualname__)

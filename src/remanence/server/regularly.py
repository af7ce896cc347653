"""What a server does now and then beside its calls, for as long as it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

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

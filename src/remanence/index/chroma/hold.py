"""Hold: a folder that this process has to itself."""

from __future__ import annotations

import os
from dataclasses import dataclass

from remanence.forks import ForkSafeLock
from remanence.index.follower.engine import EngineDown
from remanence.system.locks import try_lock

FILE = "remanence.lock"


@dataclass(slots=True)
class _Held:
    file: int
    process: int
    times: int


_lock = ForkSafeLock()
_held: dict[str, _Held] = {}


class Hold:
    """Taken as often as this process likes and by no other; `EngineDown` if one has it.

    The lock is the process's: a forked child does not have it, and it goes when the process ends.
    """

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._path = os.path.join(os.path.realpath(folder), FILE)
        self._process = os.getpid()
        with _lock:
            held = _held.get(self._path)
            if held is None or held.process != self._process:
                # A file that the parent opened stays open: to close it would end this lock.
                held = _held[self._path] = _Held(_locked(self._path), self._process, 0)
            held.times += 1

    def release(self) -> None:
        """Let others have it, once every hold of this process is released."""
        with _lock:
            held = _held.get(self._path)
            if held is None or held.process != os.getpid() or self._process != held.process:
                return
            held.times -= 1
            if not held.times:
                del _held[self._path]
                os.close(held.file)


def _locked(path: str) -> int:
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if try_lock(file):
            return file
    except OSError as error:
        os.close(file)
        raise EngineDown(f"{path} cannot be locked ({error}); check its rights") from error
    os.close(file)
    raise EngineDown(
        f"another process has the folder {os.path.dirname(path)}; to share it, serve it with "
        "`chroma run --path` and set index_url to its address"
    )

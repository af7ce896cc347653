"""Chroma within this process, its data in a folder that the process has to itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import chromadb
from chromadb.api.client import Client
from chromadb.api.collection_configuration import CreateCollectionConfiguration
from chromadb.api.models.Collection import Collection
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from chromadb.errors import ChromaError

from remanence.backends.index.remote.engine import EngineDown
from remanence.model.fork_safety import ForkSafeLock
from remanence.model.system.locks import try_lock

FILE = "remanence.lock"

_lock = ForkSafeLock()
_held: dict[str, _Held] = {}

_importer = os.getpid()


@dataclass(slots=True)
class _Held:
    file: int
    process: int
    times: int


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


@contextmanager
def translated() -> Iterator[None]:
    """Chroma's failures as `EngineDown`."""
    try:
        yield
    except (ChromaError, OSError, ValueError, RuntimeError) as error:
        reason = str(error)[:200] or type(error).__name__
        raise EngineDown(f"Chroma failed ({reason}); see whether its folder is whole") from error


class FolderPlace:
    """Collections of a folder, which is for one process at a time; nobody is told of its use.

    `kind` is how a collection that is made is to be built.
    """

    def __init__(self, folder: str, kind: Mapping[str, Any]) -> None:
        if os.getpid() != _importer:  # the threads that serve open folders stayed in the parent
            SharedSystemClient.clear_system_cache()
        self._kind = cast(CreateCollectionConfiguration, kind)
        self._collections: dict[str, Collection] = {}
        with translated():
            self._hold = Hold(folder)
            try:
                settings = Settings(anonymized_telemetry=False)
                self._client = cast(Client, chromadb.PersistentClient(folder, settings=settings))
            except BaseException:
                self._hold.release()
                raise

    def made(self, name: str) -> str:
        """As in `ChromaPlace`."""
        with translated():
            found = self._client.get_or_create_collection(
                name, embedding_function=None, configuration=self._kind
            )
        id = str(found.id)
        self._collections[id] = found
        return id

    def ask(self, id: str, verb: str, body: Mapping[str, Any], *, slow: bool) -> Any:
        """As in `ChromaPlace`; nobody waits for a server here."""
        with translated():
            return getattr(self._collections[id], verb)(**body)

    def remove(self, name: str) -> None:
        """As in `ChromaPlace`."""
        with translated():
            self._client.delete_collection(name)

    def close(self) -> None:
        """As in `ChromaPlace`."""
        self._client.close()
        self._hold.release()

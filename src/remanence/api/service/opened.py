"""A memory that is open: its settings and parts, the care for its store, and its end."""

from __future__ import annotations

import os
import time
import warnings
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from remanence.config import Settings, load_settings, shown
from remanence.config.assembly import Parts, assemble, check_target, restore_store, stats_of
from remanence.config.assembly.erasure import settle_erasures
from remanence.consolidation.schedules.worker import Background
from remanence.errors import Closed, EmbedderError, StoreError
from remanence.layers.usage import Uses
from remanence.model.clock import Clock, IdMaker, SystemClock
from remanence.model.progress import Progress
from remanence.model.scope import Reach, Scope
from remanence.model.stats import EMBEDDER, Finding, Stats


class OpenMemory:
    """What every memory is made of, whatever it remembers."""

    def __init__(
        self,
        database: str | Path | None = None,
        *,
        tenant: str | None = None,
        config: str | Path | None = None,
        clock: Clock | None = None,
        ids: Callable[[], UUID] | None = None,
        **settings: Any,
    ) -> None:
        given = {"database": None if database is None else str(database), "tenant": tenant}
        self.settings: Settings = load_settings(given | settings, file=config)
        self.tenant = Scope(tenant=self.settings.tenant).tenant
        self._clock = clock or SystemClock()
        self._new_id = ids or IdMaker()
        self._parts = assemble(self.settings, self._clock, self._new_id)
        self._owner: OpenMemory | None = None
        try:
            self._begin()
        except BaseException:
            self._parts.close()
            raise
        self._ending = Ending(self._parts, shown(self.settings.database_url))
        self._ending.uses = self._uses
        self._dropped = weakref.finalize(self, self._ending.abandon)
        self._dropped.atexit = False  # the system releases it then

    def _begin(self) -> None:
        """What belongs to one tenant alone."""
        settle_erasures(self._parts, self.settings, self.tenant, self._clock, self._new_id)
        self._uses = Uses(self._parts.store, self.tenant)
        self._layers: dict[str, Any] = {}
        self.last_active = time.monotonic()
        self._closed = False

    def for_tenant(self, tenant: str) -> Self:
        """The same store behind another tenant's wall; index, model and caches are shared."""
        self.parts  # noqa: B018 - a closed memory says so
        other = copy(self)
        other.tenant = Scope(tenant=tenant).tenant
        other.settings = replace(self.settings, tenant=other.tenant)
        other._owner = self._owner or self
        other._begin()
        return other

    def stats(self) -> Stats:
        """Counts, growth per day, sizes on disk and in memory against the budget."""
        self._uses.write()
        return stats_of(self.parts, self.settings, self.tenant)

    def reembed(self, progress: Progress | None = None) -> int:
        """Give every memory vectors of the present embedder; how many it did."""
        done = self.parts.writer.embed_missing(self.tenant, progress)
        self.parts.store.vectors.forget_embedders(self.tenant, self.parts.embedder.fingerprint)
        return done

    def reindex(self, progress: Progress | None = None) -> int:
        """Make the vector index anew from the store; how many vectors it has."""
        index = self.parts.recall.vectors()
        index.rebuild(progress)
        return index.stats().vectors

    def compact(self) -> int:
        """Rewrite the store: free space goes back, and no byte of what was erased stays in it."""
        store, fingerprint = self.parts.store, self.parts.fingerprint()
        before = store.upkeep.stats(self.tenant, fingerprint).bytes_on_disk
        store.upkeep.compact()
        return max(0, before - store.upkeep.stats(self.tenant, fingerprint).bytes_on_disk)

    def doctor(self, *, repair: bool = False) -> list[Finding]:
        """Check the store against itself, and the embedder; `repair` mends what can be mended."""
        fingerprint = self.parts.fingerprint()
        findings = self.parts.store.upkeep.doctor(repair=repair, fingerprint=fingerprint)
        if repair and self.parts.recall.index is not None:
            self.parts.recall.index.rebuild()
        return [*findings, self._examined_embedder()]

    def _examined_embedder(self) -> Finding:
        text = f"doctor {time.monotonic_ns()}"  # a text that no cache has
        try:
            self.parts.embedder.embed([text])
        except EmbedderError as error:
            return Finding(check=EMBEDDER, problems=1, detail=shown(str(error)))
        return Finding(check=EMBEDDER, problems=0, detail=str(self.parts.embedder.fingerprint))

    @classmethod
    def restore(
        cls,
        source: str | Path,
        database: str | Path,
        *,
        receipts: str | Path | None = None,
        **settings: Any,
    ) -> Self:
        """Put a backup in the place of a database, after checking that it is whole, and open it."""
        opened = {n: v for n, v in settings.items() if n not in ("config", "clock", "ids")}
        wanted = load_settings(opened | {"database": str(database)}, file=settings.get("config"))
        restore_store(Path(source), wanted, None if receipts is None else Path(receipts))
        return cls(database, **settings)

    def backup(
        self, target: str | Path, progress: Progress | None = None, *, overwrite: bool = False
    ) -> Path:
        """A consistent copy of everything in one file, made while the memory is in use."""
        path = Path(target)
        check_target(path, self.settings.database_url, overwrite)
        self._uses.write()
        self.parts.store.upkeep.backup(path, progress)
        return path

    def write_uses(self) -> None:
        """Write what was noted of uses; a store that cannot be written now loses no call by it."""
        write_quietly(self._uses)

    def close(self) -> None:
        """Finish what is queued and release everything; safe to call twice."""
        if self._closed:
            return
        try:
            if self._owner is None:
                self._dropped.detach()
                self._ending.release()
            else:
                with suppress(Closed):
                    self.write_uses()
        finally:
            self._closed = True

    @property
    def parts(self) -> Parts:
        """The working parts, for tools built on the memory; `Closed` after close()."""
        if self._closed or (self._owner is not None and self._owner._closed):
            raise Closed("This memory is closed; open a new one with Memory(…).")
        self.last_active = time.monotonic()
        return self._parts

    def _reach(self, user_id: str | None = None, **narrowed: Any) -> Reach:
        return Reach(tenant=self.tenant, user_id=user_id, **narrowed)


L = TypeVar("L")


class layer(Generic[L]):  # noqa: N801 - as `property` is written
    """A layer of a memory, made when it is first asked for; a closed memory says so."""

    def __init__(self, make: Callable[[Any], L]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, memory: OpenMemory, owner: type) -> L:
        memory.parts  # noqa: B018 - a closed memory says so
        made: L | None = memory._layers.get(self._name)
        return made or memory._layers.setdefault(self._name, self.make(memory))


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

    def look(self, tenant: str) -> None:
        """Have whoever runs schedules here look at a tenant's: they were changed."""
        if self.background is not None:
            self.background.worker.look(tenant)

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

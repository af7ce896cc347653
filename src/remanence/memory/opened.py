"""A memory that is open: its settings and parts, the care for its store, and its end."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from remanence.clock import Clock, IdMaker, SystemClock
from remanence.config import Settings, load_settings, shown
from remanence.errors import Closed, EmbedderError
from remanence.knowledge.graph import Graph
from remanence.layers.uses import Uses
from remanence.memory.ending import Ending, write_quietly
from remanence.model.scope import Reach, Scope
from remanence.model.stats import EMBEDDER, Finding, Stats
from remanence.ports.store import Progress
from remanence.sleep.sleep import Sleep
from remanence.wiring import Parts, assemble, check_target, measure_memory, restore_store
from remanence.wiring.erasures import settle_erasures


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
        self._graph: Graph | None = None
        self._sleep: Sleep | None = None
        self.last_active = time.monotonic()
        self._closed = False

    def for_tenant(self, tenant: str) -> Self:
        """The same store behind another tenant's wall; index, model and caches are shared.

        It ends with the memory it came from; closing it alone leaves that one open.
        """
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
        kept = self.parts.store.stats(self.tenant, self.parts.fingerprint())
        used = measure_memory(self.parts)
        return Stats(
            memories=kept.memories,
            by_kind=kept.by_kind,
            by_state=kept.by_state,
            by_day=kept.by_day,
            per_day=round(sum(kept.by_day.values()) / max(len(kept.by_day), 1), 2),
            associations=kept.associations,
            documents=kept.documents,
            entities=kept.entities,
            claims=kept.claims,
            pending=kept.pending,
            embedder=used.embedder,
            bytes_on_disk=kept.bytes_on_disk,
            bytes_by_part=kept.bytes_by_part,
            tiers=kept.tiers,
            bytes_used=kept.bytes_used,
            max_memories=self.settings.max_memories,
            max_bytes=self.settings.max_bytes,
            memory_mb=used.held_mb,
            budget_mb=self.settings.max_memory_mb,
            process_mb=used.process_mb,
            index=used.index,
            cache=used.cache,
        )

    def reembed(self, progress: Progress | None = None) -> int:
        """Give every memory vectors of the present embedder, while searches go on; how many it did.

        Stop it at any time: the next call goes on where this one stopped. When all is done, the
        vectors of former embedders are removed.
        """
        done = self.parts.writer.embed_missing(self.tenant, progress)
        self.parts.store.forget_embedders(self.tenant, self.parts.embedder.fingerprint)
        return done

    def reindex(self, progress: Progress | None = None) -> int:
        """Make the vector index anew from the store, while searches go on; how many vectors it has.

        An index in this process is read again by the next search, and 0 comes back.
        """
        index = self.parts.recall.vectors()
        index.rebuild(progress)
        return index.stats().vectors

    def compact(self) -> int:
        """Rewrite the store: free space goes back, and no byte of what was erased stays in it.

        Writers wait meanwhile. Gives the bytes that came free.
        """
        store, fingerprint = self.parts.store, self.parts.fingerprint()
        before = store.stats(self.tenant, fingerprint).bytes_on_disk
        store.compact()
        return max(0, before - store.stats(self.tenant, fingerprint).bytes_on_disk)

    def doctor(self, *, repair: bool = False) -> list[Finding]:
        """Check the store against itself, and the embedder; `repair` mends what can be mended."""
        fingerprint = self.parts.fingerprint()
        findings = self.parts.store.doctor(repair=repair, fingerprint=fingerprint)
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
        """Put a backup in the place of a database, after checking that it is whole, and open it.

        What the database held is replaced; nobody else may have it open. What was erased from it
        since is not brought back. Where the database itself was lost, give `receipts`: a file of
        those of its erasures.
        """
        opened = {n: v for n, v in settings.items() if n not in ("config", "clock", "ids")}
        wanted = load_settings(opened | {"database": str(database)}, file=settings.get("config"))
        restore_store(Path(source), wanted, None if receipts is None else Path(receipts))
        return cls(database, **settings)

    def backup(
        self, target: str | Path, progress: Progress | None = None, *, overwrite: bool = False
    ) -> Path:
        """A consistent copy of everything in one file, made while the memory is in use.

        A file that is there already is kept unless `overwrite`; the database itself always is.
        """
        path = Path(target)
        check_target(path, self.settings.database_url, overwrite)
        self._uses.write()
        self.parts.store.backup(path, progress)
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def parts(self) -> Parts:
        """The working parts, for tools built on the memory; `Closed` after close()."""
        if self._closed or (self._owner is not None and self._owner._closed):
            raise Closed("This memory is closed; open a new one with Memory(…).")
        self.last_active = time.monotonic()
        return self._parts

    def _reach(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        all_users: bool = False,
    ) -> Reach:
        return Reach(
            tenant=self.tenant,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            include_shared=include_shared,
            all_users=all_users,
        )

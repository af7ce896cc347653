"""Upkeep as a step of sleep: what has run out, vectors missing or stale, the store itself."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from datetime import datetime
from typing import Protocol

from remanence.errors import EmbedderError, InvalidInput
from remanence.model.embedding import Fingerprint
from remanence.model.sleep import Night, Plan, Step
from remanence.ports.store import Progress, Store
from remanence.sleep.steps import Done

EMBEDDED = 5_000  # memories that one run gives vectors to at most
REST_S = 3_600.0  # a store that several tenants share is tended once in this time

_tended: dict[str, float] = {}


class Cleaned(Protocol):
    """A layer whose documents run out."""

    def cleanup(self, *, now: datetime | None = None) -> int:
        """Remove what has run out; how many. `InvalidInput` if the clock is doubted."""


class Embeds(Protocol):
    """What gives vectors to memories that have none."""

    def embed_missing(self, tenant: str, progress: Progress | None = None) -> int:
        """See `Writer.embed_missing`."""


class Embedding(Protocol):
    """The embedder in use."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Its fingerprint; `EmbedderError` if it cannot be had."""


class _Enough(Exception):
    pass


class Upkeep:
    """A chore: nothing that it does is a memory, so there is nothing to undo."""

    step = Step.UPKEEP

    def __init__(
        self,
        store: Store,
        tenant: str,
        *,
        sessions: Cleaned,
        working: Cleaned,
        writer: Embeds,
        embedder: Embedding,
        embedded: int = EMBEDDED,
        rest_s: float = REST_S,
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._layers = {"sessions": sessions, "working": working}
        self._writer = writer
        self._embedder = embedder
        self._embedded = embedded
        self._rest_s = rest_s

    def foresee(self, night: Night) -> Plan:
        """How many memories wait for vectors; the rest is found on the way."""
        notes = ["Sessions and working memory that have run out are removed."]
        with suppress(EmbedderError):
            waiting = self._store.count_unembedded(self._tenant, self._embedder.fingerprint)
            notes.append(f"{min(waiting, self._embedded)} of {waiting} memories get vectors.")
        if self._rested():
            notes.append("The store is tended: text index, change feed, free space, statistics.")
        return Plan(step=self.step, notes=tuple(notes))

    def run(self, night: Night, progress: Progress | None = None) -> Done:
        """Do it; each part goes on where it was stopped."""
        counts = Counter[str]()
        for name, layer in self._layers.items():
            with suppress(InvalidInput):  # a clock that is doubted removes nothing
                counts[f"{name}_removed"] = layer.cleanup()
        with suppress(EmbedderError):
            counts["embedded"] = self._embed(progress)
            counts["stale_vectors"] = self._forget_stale()
        if self._rested():
            counts.update(self._store.tend(progress))
            _tended[self._store.identity] = time.monotonic()
        return Done(counts=dict(+counts))

    def undo(self, night: Night) -> int:
        """Nothing was taken that could come back."""
        return 0

    def _embed(self, progress: Progress | None) -> int:
        """Some of the memories without vectors of this embedder; how many."""
        seen = 0

        def told(done: int, total: int) -> None:
            nonlocal seen
            seen = done
            if progress is not None:
                progress(done, total)
            if done >= self._embedded:
                raise _Enough

        with suppress(_Enough):
            return self._writer.embed_missing(self._tenant, told)
        return seen

    def _forget_stale(self) -> int:
        """Vectors of former embedders, once nothing waits for this one; how many."""
        wanted = self._embedder.fingerprint
        if self._store.count_unembedded(self._tenant, wanted):
            return 0
        if all(one == wanted for one in self._store.embedders()):
            return 0
        return self._store.forget_embedders(self._tenant, wanted)

    def _rested(self) -> bool:
        last = _tended.get(self._store.identity)
        return last is None or time.monotonic() - last >= self._rest_s

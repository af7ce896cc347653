"""A whole memory: one that remembers, reads and sleeps, by itself if the settings say so."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import ref

from remanence.api.service.opened import layer
from remanence.api.service.remembering import RememberingMemory
from remanence.consolidation.chores import Compressing, LearningStep, UpkeepChore
from remanence.consolidation.conversation_summaries import Talks
from remanence.consolidation.merges.step import Merging
from remanence.consolidation.retention.steps import Erasing, Forgetting
from remanence.consolidation.schedules.worker import Background, SleepRunner, Worker
from remanence.consolidation.sleep import Sleep
from remanence.consolidation.steps import Chore, Planner
from remanence.consolidation.summaries.steps import Distilling, Reflecting
from remanence.errors import Closed
from remanence.model.clock import Clock
from remanence.model.sleep import Step


class MemoryService(RememberingMemory):
    """One tenant's memory, open: its layers, and the verbs that are no layer's."""

    def __init__(self, database: str | Path | None = None, **given: Any) -> None:
        super().__init__(database, **given)
        if self.settings.background:
            self._ending.background = background_of(self, self._clock)
            self._ending.background.start()

    @layer
    def sleep(self) -> Sleep:
        """Sleep: consolidate, forget, compress, learn; planned first, and undone in one call."""
        return Sleep(
            self.parts.store,
            self.tenant,
            self._clock,
            self._new_id,
            self._steps(),
            self.settings.sleep_policy,
            believed=self._believed_now,
            by=f"{socket.gethostname()}:{os.getpid()}",
            changed=self._slept,
            has_model=self.parts.model is not None,
        )

    def _slept(self, ids: list[str]) -> None:
        """Sessions that hold what a night changed read it anew."""
        self.sessions.drop(self.parts.store.archive.get(self.tenant, ids))

    def _steps(self) -> Mapping[Step, Planner | Chore]:
        """Every step there is."""
        parts, store = self.parts, self.parts.store
        told = (store, parts.fingerprint, parts.writer.insertion, self._new_id)
        single = self.settings.one_at_a_time
        return {
            Step.TALKS: Talks(self.conversations, store),
            Step.MERGE: Merging(store, parts.fingerprint, parts.model),
            Step.DISTIL: Distilling(*told, parts.model),
            Step.REFLECT: Reflecting(*told, parts.model, single),
            Step.FORGET: Forgetting(store),
            Step.ERASE: Erasing(store, lambda ids: self.forget(ids, erase=True)),
            Step.COMPRESS: Compressing(store, self.settings.text_codec),
            Step.LEARN: LearningStep(self.learn, store),
            Step.UPKEEP: UpkeepChore(
                store,
                self.tenant,
                sessions=self.sessions,
                working=self.working,
                writer=parts.writer,
                embedder=parts.embedder,
            ),
        }


def runner_of(memory: MemoryService) -> SleepRunner:
    """What runs the memory's schedules."""
    erases = memory.settings.erase_after_days > 0
    return SleepRunner(memory.sleep, () if erases else (Step.ERASE,))


def background_of(memory: MemoryService, clock: Clock) -> Background:
    """A thread that sleeps for the memory whenever that is due and nobody uses it.

    It ends when the memory is dropped, so it must not be what keeps it.
    """
    known, tenant = ref(memory), memory.tenant
    worker = Worker(
        memory.parts.store,
        lambda _: runner_of(_still_there(known)),
        clock=clock,
        tenants=lambda: [tenant],
        last_active=lambda: _still_there(known).last_active,
        idle_s=memory.settings.idle_s,
    )
    return Background(worker)


def _still_there(known: ref[MemoryService]) -> MemoryService:
    memory = known()
    if memory is None:
        raise Closed("This memory was dropped; open a new one with Memory(…).")
    return memory

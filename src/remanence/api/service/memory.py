"""A whole memory: one that remembers, reads and sleeps, by itself if the settings say so."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import ref

from remanence.api.service.opened import layer
from remanence.api.service.remembering import RememberingMemory
from remanence.consolidation.chores import Compressing, LearningStep, UpkeepChore
from remanence.consolidation.conversation_summaries import Talks
from remanence.consolidation.merges.step import Merging
from remanence.consolidation.retention.steps import Erasing, Forgetting
from remanence.consolidation.schedules.worker import (
    Background,
    Runner,
    ServedMoment,
    SleepRunner,
    Worker,
)
from remanence.consolidation.sleep import Sleep
from remanence.consolidation.steps import Chore, Planner
from remanence.consolidation.summaries.steps import Distilling, Reflecting
from remanence.errors import Closed
from remanence.model.sleep import Run, Step


class MemoryService(RememberingMemory):
    """One tenant's memory, open: its layers, and the verbs that are no layer's."""

    hear_of_runs: Callable[[Run], None] | None = None  # every run of a step that ended

    def __init__(self, database: str | Path | None = None, **given: Any) -> None:
        super().__init__(database, **given)
        if self.settings.background:
            self.sleep_by_itself(background_of(self, tenants=[self.tenant]))

    def sleep_by_itself(self, background: Background) -> None:
        """Have this run schedules until the memory is closed; it hears of those that change."""
        self._ending.background = background
        background.start()

    def runner(self) -> SleepRunner:
        """What runs the memory's schedules."""
        return SleepRunner(self.sleep, self._not_done)

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
            tell=self.hear_of_runs,
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


def background_of(
    memory: MemoryService,
    *,
    runner: Callable[[str], Runner] | None = None,
    tenants: Sequence[str] | None = None,
    last_active: Callable[[str], float] | None = None,
    alert: Callable[[ServedMoment], None] | None = None,
) -> Background:
    """A thread that sleeps for the memory whenever that is due and nobody uses it.

    It ends when the memory is dropped, so it must not be what keeps it.
    """
    known = ref(memory)
    return Background(
        Worker(
            memory.parts.store,
            runner or (lambda _: _still_there(known).runner()),
            clock=memory._clock,
            tenants=None if tenants is None else (lambda: tenants),
            last_active=last_active or (lambda _: _still_there(known).last_active),
            idle_s=memory.settings.idle_s,
            alert=alert,
        )
    )


def _still_there(known: ref[MemoryService]) -> MemoryService:
    memory = known()
    if memory is None:
        raise Closed("This memory was dropped; open a new one with Memory(…).")
    return memory

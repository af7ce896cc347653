"""What a memory sleeps with: the steps of a night, wired to its own layers."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID
from weakref import ref

from remanence.clock import Clock
from remanence.errors import Closed
from remanence.model.sleep import Step
from remanence.sleep.compressing import Compressing
from remanence.sleep.distilling import Distilling
from remanence.sleep.forgetting import Erasing, Forgetting
from remanence.sleep.learning import Learning
from remanence.sleep.merging import Merging
from remanence.sleep.reflecting import Reflecting
from remanence.sleep.schedule import Background, SleepRunner, Worker
from remanence.sleep.sleep import Sleep
from remanence.sleep.steps import Chore, Planner
from remanence.sleep.talks import Talks
from remanence.sleep.upkeep import Upkeep

if TYPE_CHECKING:
    from remanence.memory.facade import Memory


def sleep_of(
    memory: Memory, clock: Clock, new_id: Callable[[], UUID], believed: Callable[[], datetime]
) -> Sleep:
    """The memory's sleep, with every step. Sessions that hold what it changed read it anew."""

    def changed(ids: list[str]) -> None:
        memory.sessions.drop(memory.parts.store.get(memory.tenant, ids))

    return Sleep(
        memory.parts.store,
        memory.tenant,
        clock,
        new_id,
        steps_of(memory, new_id),
        memory.settings.sleep_policy,
        believed=believed,
        by=f"{socket.gethostname()}:{os.getpid()}",
        changed=changed,
        has_model=memory.parts.model is not None,
    )


def steps_of(memory: Memory, new_id: Callable[[], UUID]) -> Mapping[Step, Planner | Chore]:
    """Every step there is."""
    parts, store = memory.parts, memory.parts.store
    told = (store, parts.fingerprint, parts.writer.insertion, new_id)
    single = memory.settings.one_at_a_time
    return {
        Step.TALKS: Talks(memory.conversations, store),
        Step.MERGE: Merging(store, parts.fingerprint, parts.model),
        Step.DISTIL: Distilling(*told, parts.model),
        Step.REFLECT: Reflecting(*told, single, parts.model),
        Step.FORGET: Forgetting(store),
        Step.ERASE: Erasing(store, lambda ids: memory.forget(ids, erase=True)),
        Step.COMPRESS: Compressing(store, memory.settings.text_codec),
        Step.LEARN: Learning(memory.learn, store),
        Step.UPKEEP: Upkeep(
            store,
            memory.tenant,
            sessions=memory.sessions,
            working=memory.working,
            writer=parts.writer,
            embedder=parts.embedder,
        ),
    }


def runner_of(memory: Memory) -> SleepRunner:
    """What runs the memory's schedules."""
    erases = memory.settings.erase_after_days > 0
    return SleepRunner(memory.sleep, () if erases else (Step.ERASE,))


def background_of(memory: Memory, clock: Clock) -> Background:
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


def _still_there(known: ref[Memory]) -> Memory:
    memory = known()
    if memory is None:
        raise Closed("This memory was dropped; open a new one with Memory(…).")
    return memory

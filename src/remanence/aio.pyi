"""Signatures of AsyncMemory, made from Memory's by tools/make_stub.py; do not edit."""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from remanence.clock import Clock
from remanence.knowledge.extract.statement import Reading
from remanence.knowledge.graph.stating import THING
from remanence.layers.cleanup import Cleanup
from remanence.learn.lora.examples import Example
from remanence.learn.lora.finetuning import Finetuned
from remanence.learn.lora.registry import TunedAdapter
from remanence.memory import Memory
from remanence.model.block import Block, BlockVersion
from remanence.model.context import Context
from remanence.model.conversation import Conversation, Window
from remanence.model.erasure import Erasure, Forgotten
from remanence.model.graph import (
    Community,
    Likeness,
    Moment,
    Node,
    Relation,
    Resolved,
    Route,
    Subgraph,
)
from remanence.model.hit import Hit, Hits, WhyNot
from remanence.model.knowledge import Fact, Mention
from remanence.model.learning import AdapterVersion, Experience, LearnPolicy, LearnStatus, Trained
from remanence.model.memory import Association, Json, Kind, MemoryRecord, Related, Revision
from remanence.model.purge import Purged
from remanence.model.session import Session, WorkingItem
from remanence.model.sleep import Plan, Run, Shown, SleepPolicy
from remanence.model.snapshot import Restored, Snapshot, SnapshotDiff
from remanence.model.stats import Finding, Stats
from remanence.ports.store import Progress
from remanence.sleep.forgetting import Forecast
from remanence.sleep.schedule.state import ScheduleState
from remanence.text.tokens import CountTokens

SHELLS: dict[str, type[AsyncLayer]]

def verbs() -> dict[str, Callable[..., Any]]: ...

class AsyncLayer:
    memory: Memory

    def __init__(self, memory: Memory) -> None: ...

class AsyncBlocks(AsyncLayer):
    async def get(
        self,
        label: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Block: ...
    async def list(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> builtins.list[Block]: ...
    async def render(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        template: str | None = None,
    ) -> str: ...
    async def create(
        self,
        label: str,
        value: str = "",
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        description: str = "",
        read_only: bool = False,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block: ...
    async def append(
        self,
        label: str,
        text: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block: ...
    async def replace(
        self,
        label: str,
        old: str,
        new: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block: ...
    async def insert(
        self,
        label: str,
        text: str,
        *,
        version: int | None = None,
        line: int = -1,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block: ...
    async def rethink(
        self,
        label: str,
        value: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block: ...
    async def configure(
        self,
        label: str,
        *,
        version: int | None = None,
        limit: int | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block: ...
    async def delete(
        self,
        label: str,
        *,
        version: int | None = None,
        erase: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> None: ...
    async def history(
        self, label: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> builtins.list[BlockVersion]: ...
    async def diff(
        self,
        label: str,
        *,
        before: int | None = None,
        after: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> str: ...
    async def restore(
        self,
        label: str,
        version: int,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block: ...
    async def undo(
        self,
        label: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block: ...
    async def redo(
        self,
        label: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block: ...

class AsyncConversations(AsyncLayer):
    async def append(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        session_id: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        trust: float = 1.0,
        quarantined: bool = False,
        idempotency_key: str | None = None,
    ) -> builtins.list[MemoryRecord]: ...
    async def describe(
        self,
        session_id: str,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> Conversation: ...
    async def get(self, session_id: str, *, user_id: str | None = None) -> Conversation: ...
    async def list(
        self,
        *,
        user_id: str | None = None,
        all_users: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> builtins.list[Conversation]: ...
    async def messages(
        self,
        session_id: str,
        *,
        user_id: str | None = None,
        limit: int = 100,
        before: str | datetime | None = None,
    ) -> builtins.list[MemoryRecord]: ...
    async def window(
        self,
        session_id: str,
        *,
        user_id: str | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        min_trust: float | None = None,
    ) -> Window: ...
    async def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        within: str = "everywhere",
        limit: int = 10,
        since: datetime | None = None,
        until: datetime | None = None,
        min_trust: float | None = None,
    ) -> Hits: ...
    async def summarise(
        self, session_id: str, *, user_id: str | None = None, refine: bool = True
    ) -> builtins.list[MemoryRecord]: ...
    async def summary(
        self, session_id: str, *, user_id: str | None = None, min_trust: float | None = None
    ) -> str: ...
    async def day(
        self,
        day: date | str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        refine: bool = True,
        min_trust: float | None = None,
    ) -> MemoryRecord: ...
    async def week(
        self,
        day: date | str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        refine: bool = True,
        min_trust: float | None = None,
    ) -> MemoryRecord: ...
    async def month(
        self,
        day: date | str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        refine: bool = True,
        min_trust: float | None = None,
    ) -> MemoryRecord: ...
    async def forget(
        self, session_id: str, *, user_id: str | None = None, erase: bool = False
    ) -> builtins.list[MemoryRecord]: ...

class AsyncErasures(AsyncLayer):
    async def list(self, *, limit: int = 100, offset: int = 0) -> builtins.list[Erasure]: ...
    async def get(self, id: str) -> Erasure: ...
    async def verify(self, receipt: Erasure | Mapping[str, Any]) -> bool: ...

class AsyncFacts(AsyncLayer):
    async def extract(
        self,
        text: str,
        *,
        speaker: str | None = None,
        at: datetime | None = None,
        model: bool = False,
    ) -> Reading: ...
    async def learn(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        all_users: bool = False,
        model: bool = False,
        progress: Progress | None = None,
    ) -> int: ...
    async def refused(self) -> dict[str, int]: ...
    async def get(self, id: str, *, known_at: datetime | None = None) -> Fact: ...
    async def about(
        self,
        entity: str,
        *,
        predicate: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        standing: str | None = None,
        history: bool = False,
        limit: int = 100,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
    ) -> list[Fact]: ...
    async def timeline(
        self,
        entity: str,
        predicate: str | None = None,
        *,
        known_at: datetime | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
    ) -> list[Fact]: ...
    async def find(
        self,
        *,
        predicate: str | None = None,
        object: str | None = None,
        kind: str | None = None,
        standing: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
    ) -> list[Fact]: ...
    async def conflicts(
        self,
        *,
        known_at: datetime | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
    ) -> list[tuple[Fact, ...]]: ...
    async def add(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        text: str | None = None,
        kind: str | None = None,
        confidence: float = 1.0,
        trust: float = 1.0,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        observed_at: datetime | None = None,
        subject_type: str | None = None,
        object_type: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> Fact: ...
    async def confirm(
        self, id: str, *, confidence: float = 0.9, source: str | None = None
    ) -> Fact: ...
    async def correct(
        self,
        id: str,
        *,
        object: str | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        text: str | None = None,
        reason: str | None = None,
    ) -> Fact: ...
    async def retract(self, id: str, *, reason: str | None = None, erase: bool = False) -> Fact: ...

class AsyncGraph(AsyncLayer):
    async def get(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Node: ...
    async def entities(
        self,
        type: str | None = None,
        text: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Node]: ...
    async def mentions(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Mention]: ...
    async def neighbours(
        self,
        name: str,
        *,
        depth: int = 1,
        relations: str | Sequence[str] | None = None,
        together: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 50,
    ) -> Subgraph: ...
    async def paths(
        self,
        a: str,
        b: str,
        *,
        max_length: int = 4,
        relations: str | Sequence[str] | None = None,
        together: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 5,
    ) -> list[Route]: ...
    async def timeline(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 1000,
    ) -> list[Moment]: ...
    async def communities(
        self,
        *,
        together: bool = True,
        least: int = 2,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 50,
    ) -> list[Community]: ...
    async def alike(
        self,
        *,
        least: float = ...,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 20,
    ) -> list[Likeness]: ...
    async def export(
        self,
        format: str = "json",
        *,
        about: str | None = None,
        depth: int = 2,
        together: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = ...,
    ) -> str: ...
    async def plot(
        self,
        path: str | PathLike[str],
        *,
        about: str | None = None,
        depth: int = 2,
        together: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 60,
    ) -> Path: ...
    async def add(
        self,
        name: str,
        type: str = THING,
        *,
        observations: str | Sequence[str] = (),
        actor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> Node: ...
    async def observe(
        self,
        name: str,
        observations: str | Sequence[str],
        *,
        source: str | None = None,
        actor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> Node: ...
    async def unobserve(
        self,
        name: str,
        observations: str | Sequence[str],
        *,
        erase: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> int: ...
    async def relate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        confidence: float = 1.0,
        trust: float = 1.0,
        source_memory: str | None = None,
        actor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> Relation: ...
    async def unrelate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        erase: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> int: ...
    async def erase(self, name: str, *, user_id: str | None = None) -> int: ...
    async def merge(
        self, name: str, into: str, *, reason: str | None = None, user_id: str | None = None
    ) -> Node: ...
    async def unmerge(
        self, name: str, *, reason: str | None = None, user_id: str | None = None
    ) -> Node: ...
    async def resolve(
        self, *, dry_run: bool = True, threshold: float = ..., user_id: str | None = None
    ) -> Resolved: ...

class AsyncLearn(AsyncLayer):
    async def status(self, user_id: str | None = None) -> LearnStatus: ...
    async def versions(self, user_id: str | None = None) -> list[AdapterVersion]: ...
    async def replay(self, limit: int = 100, user_id: str | None = None) -> list[Experience]: ...
    async def outcome(
        self, query: str, *, useful: Iterable[str] = (), not_useful: Iterable[str] = ()
    ) -> int: ...
    async def train(
        self,
        user_id: str | None = None,
        *,
        policy: LearnPolicy | None = None,
        progress: Progress | None = None,
    ) -> Trained: ...
    async def trained(
        self, user_id: str | None, at: datetime, policy: LearnPolicy, progress: Progress | None
    ) -> Trained: ...
    async def rollback(self, user_id: str | None = None) -> LearnStatus: ...
    async def unlearn(
        self, ids: Iterable[str], users: Sequence[str | None] | None = None
    ) -> Mapping[str, int]: ...
    async def trim(self) -> int: ...

class AsyncSchedules(AsyncLayer):
    async def list(self) -> Sequence[ScheduleState]: ...
    async def get(self, name: str) -> ScheduleState: ...
    async def set(
        self,
        name: str,
        *,
        cron: str | None = None,
        steps: Sequence[str] | str | None = None,
        enabled: bool | None = None,
        zone: str | None = None,
        after_new: int | None = None,
        after_messages: int | None = None,
        idle_s: float | None = None,
        jitter_s: float | None = None,
    ) -> ScheduleState: ...
    async def remove(self, name: str) -> None: ...
    async def reset(self) -> Sequence[ScheduleState]: ...

class AsyncSessions(AsyncLayer):
    async def create(
        self,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        data: Mapping[str, Any] | None = None,
        ttl_s: float | None = None,
    ) -> Session: ...
    async def get(self, session_id: str, *, user_id: str | None = None) -> Session: ...
    async def update(
        self,
        session_id: str,
        changes: Mapping[str, Any],
        *,
        user_id: str | None = None,
        version: int | None = None,
    ) -> Session: ...
    async def end(self, session_id: str, *, user_id: str | None = None) -> Session: ...
    async def erase(self, session_id: str, *, user_id: str | None = None) -> bool: ...
    async def active(
        self,
        *,
        user_id: str | None = None,
        all_users: bool = False,
        since: datetime | None = None,
        limit: int = 100,
    ) -> list[Session]: ...
    async def cleanup(self, *, now: datetime | None = None) -> int: ...
    async def recent(
        self, session_id: str, *, user_id: str | None = None, limit: int = 100
    ) -> list[MemoryRecord]: ...
    async def push(
        self, session_id: str, messages: Sequence[MemoryRecord], *, user_id: str | None = None
    ) -> None: ...
    async def renew(self, sessions: Iterable[tuple[str, str | None]]) -> None: ...
    async def drop(self, messages: Iterable[MemoryRecord]) -> None: ...

class AsyncSleep(AsyncLayer):
    async def plan(
        self,
        steps: Sequence[str] | str | None = None,
        *,
        user_id: str | None = None,
        model: bool = False,
        policy: SleepPolicy | None = None,
        now: datetime | str | None = None,
        progress: Progress | None = None,
    ) -> list[Plan]: ...
    async def run(
        self,
        steps: Sequence[str] | str | None = None,
        *,
        user_id: str | None = None,
        model: bool = False,
        policy: SleepPolicy | None = None,
        now: datetime | str | None = None,
        schedule: str | None = None,
        progress: Progress | None = None,
    ) -> list[Run]: ...
    async def log(
        self, *, limit: int = 50, step: str | None = None, status: str | None = None
    ) -> list[Run]: ...
    async def show(self, id: str) -> Shown: ...
    async def undo(self, id: str) -> Run: ...
    async def undo_night(self) -> list[Run]: ...
    async def cancel(self, id: str) -> Run: ...
    async def resume(self) -> list[Run]: ...
    async def forecast(
        self,
        *,
        user_id: str | None = None,
        days: int = 90,
        limit: int = 20,
        policy: SleepPolicy | None = None,
        now: datetime | str | None = None,
    ) -> Forecast: ...
    async def plot(
        self,
        path: str | Path,
        *,
        user_id: str | None = None,
        days: int = 90,
        limit: int = 8,
        policy: SleepPolicy | None = None,
        now: datetime | str | None = None,
    ) -> None: ...

class AsyncSnapshots(AsyncLayer):
    async def take(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        all_users: bool = False,
        note: str | None = None,
    ) -> Snapshot: ...
    async def list(
        self, *, user_id: str | None = None, all_users: bool = False
    ) -> builtins.list[Snapshot]: ...
    async def get(self, name: str, *, user_id: str | None = None) -> Snapshot: ...
    async def diff(
        self, name: str, other: str | None = None, *, user_id: str | None = None
    ) -> SnapshotDiff: ...
    async def restore(
        self,
        name: str,
        *,
        user_id: str | None = None,
        dry_run: bool = False,
        actor: str | None = None,
    ) -> Restored: ...
    async def delete(self, name: str, *, user_id: str | None = None) -> None: ...

class AsyncTuning(AsyncLayer):
    async def examples(
        self, *, user_id: str | None = None, parts: Sequence[str] = ..., limit: int = 1000
    ) -> list[Example]: ...
    async def export_chat(
        self,
        path: str | PathLike[str],
        *,
        user_id: str | None = None,
        parts: Sequence[str] = ...,
        overwrite: bool = False,
    ) -> int: ...
    async def finetune(
        self,
        out: str | PathLike[str],
        *,
        base: str | PathLike[str],
        user_id: str | None = None,
        parts: Sequence[str] = ...,
        limit: int = 500,
        rank: int = 8,
        steps: int | None = None,
        replay: float = 0.5,
        seed: int = 0,
        device: str = "auto",
        resume: bool = True,
        progress: Progress | None = None,
    ) -> Finetuned: ...
    async def adapters(self, user_id: str | None = None) -> list[TunedAdapter]: ...
    async def unlearn(self, ids: Sequence[str]) -> dict[str, int]: ...

class AsyncWorking(AsyncLayer):
    async def set(
        self,
        key: str,
        value: Json,
        *,
        session_id: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        ttl_s: float | None = None,
        importance: float | None = None,
        trust: float = 1.0,
    ) -> WorkingItem: ...
    async def get(
        self, key: str, *, session_id: str, user_id: str | None = None, default: Any = ...
    ) -> Any: ...
    async def items(self, *, session_id: str, user_id: str | None = None) -> list[WorkingItem]: ...
    async def remove(self, key: str, *, session_id: str, user_id: str | None = None) -> bool: ...
    async def clear(self, *, session_id: str, user_id: str | None = None) -> int: ...
    async def promote(
        self,
        key: str,
        *,
        session_id: str,
        user_id: str | None = None,
        kind: str = Kind.SEMANTIC,
        importance: float | None = None,
    ) -> MemoryRecord: ...
    async def cleanup(self, *, now: datetime | None = None) -> int: ...

class AsyncMemory:
    memory: Memory
    working: AsyncWorking
    tuning: AsyncTuning
    snapshots: AsyncSnapshots
    sleep: AsyncSleep
    sessions: AsyncSessions
    schedules: AsyncSchedules
    learn: AsyncLearn
    graph: AsyncGraph
    facts: AsyncFacts
    erasures: AsyncErasures
    conversations: AsyncConversations
    blocks: AsyncBlocks

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def __init__(
        self,
        database: str | Path | None = None,
        *,
        tenant: str | None = None,
        config: str | Path | None = None,
        clock: Clock | None = None,
        ids: Callable[[], UUID] | None = None,
        **settings: Any,
    ) -> None: ...
    async def for_tenant(self, tenant: str) -> Self: ...
    async def stats(self) -> Stats: ...
    async def reembed(self, progress: Progress | None = None) -> int: ...
    async def reindex(self, progress: Progress | None = None) -> int: ...
    async def compact(self) -> int: ...
    async def doctor(self, *, repair: bool = False) -> list[Finding]: ...
    async def backup(
        self, target: str | Path, progress: Progress | None = None, *, overwrite: bool = False
    ) -> Path: ...
    async def write_uses(self) -> None: ...
    async def close(self) -> None: ...
    async def snapshot(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        all_users: bool = False,
        note: str | None = None,
    ) -> Snapshot: ...
    async def add(
        self,
        text: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        kind: str = Kind.EPISODIC,
        importance: float | None = None,
        happened_at: datetime | None = None,
        source: str | None = None,
        actor: str | None = None,
        origin: str | None = None,
        trust: float = 1.0,
        metadata: Mapping[str, Any] | None = None,
        pinned: bool = False,
        speaker: str | None = None,
        role: str | None = None,
        external_id: str | None = None,
        quarantined: bool = False,
        idempotency_key: str | None = None,
    ) -> MemoryRecord: ...
    async def add_many(
        self,
        memories: Iterable[str | Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> list[MemoryRecord]: ...
    async def add_messages(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        trust: float = 1.0,
        quarantined: bool = False,
        idempotency_key: str | None = None,
    ) -> list[MemoryRecord]: ...
    async def update(
        self, id: str, *, actor: str | None = None, reason: str | None = None, **changes: Any
    ) -> MemoryRecord: ...
    async def pin(self, id: str, pinned: bool = True) -> MemoryRecord: ...
    async def forget(
        self,
        id: str | Iterable[str] | None = None,
        *,
        filters: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        all_users: bool = False,
        erase: bool = False,
        dry_run: bool = False,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Forgotten: ...
    async def cleanup(
        self,
        *,
        max_age_days: float = 30,
        min_importance: float = 0.3,
        user_id: str | None = None,
        all_users: bool = False,
        dry_run: bool = True,
        now: datetime | None = None,
    ) -> Cleanup: ...
    async def purge(
        self,
        *,
        source: str | None = None,
        actor: str | None = None,
        origin: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        user_id: str | None = None,
        all_users: bool = True,
        erase: bool = False,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> Purged: ...
    async def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        limit: int = 10,
        kinds: str | Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        now: datetime | None = None,
        filters: Mapping[str, Any] | None = None,
        states: str | Iterable[str] | None = None,
        min_score: float | None = None,
        min_trust: float | None = None,
        time_weight: float | None = None,
        diversity: float = 0.0,
        include_shared: bool = False,
        all_users: bool = False,
    ) -> Hits: ...
    async def context(
        self,
        query: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        max_tokens: int = 1500,
        now: datetime | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        recall: bool = True,
        tokens: CountTokens | None = None,
    ) -> Context: ...
    async def why_not(self, query: str, id: str, **arguments: Any) -> WhyNot: ...
    async def get(self, id: str) -> MemoryRecord: ...
    async def find(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        kinds: str | Iterable[str] | None = None,
        states: str | Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
        newest_first: bool = True,
        include_shared: bool = False,
        all_users: bool = False,
    ) -> list[MemoryRecord]: ...
    async def count(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        kinds: str | Iterable[str] | None = None,
        states: str | Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        include_shared: bool = False,
        all_users: bool = False,
    ) -> int: ...
    async def history(self, id: str) -> list[Revision]: ...
    async def sources(self, id: str) -> list[MemoryRecord]: ...
    async def similarity(self, a: str, b: str) -> float: ...
    async def timezone(self, *, user_id: str | None = None) -> str: ...
    async def set_timezone(self, timezone: str | None = None, *, user_id: str) -> str: ...
    async def associate(
        self, a: str, b: str, type: str = "related_to", *, strength: float = 1.0
    ) -> Association: ...
    async def dissociate(self, a: str, b: str, type: str | None = None) -> int: ...
    async def related(
        self, id: str, *, type: str | None = None, direction: str = "both", limit: int = 100
    ) -> list[Related]: ...
    async def feedback(
        self, hit_or_id: Hit | str, *, useful: bool, query: str | None = None
    ) -> None: ...

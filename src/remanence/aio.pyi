"""Signatures of AsyncMemory, made from Memory's by tools/make_stub.py; do not edit."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from remanence.clock import Clock
from remanence.layers.cleanup import Cleanup
from remanence.memory import Memory
from remanence.model.hit import Hit, Hits, WhyNot
from remanence.model.memory import Association, Kind, MemoryRecord, Related, Revision
from remanence.model.stats import Finding, Stats
from remanence.ports.store import Progress

def verbs() -> dict[str, Callable[..., Any]]: ...

class AsyncMemory:
    memory: Memory

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
        trust: float = 1.0,
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
    ) -> list[MemoryRecord]: ...
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
        min_trust: float = 0.0,
        time_weight: float | None = None,
        diversity: float = 0.0,
        include_shared: bool = False,
        all_users: bool = False,
    ) -> Hits: ...
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
    async def similarity(self, a: str, b: str) -> float: ...
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
    async def stats(self) -> Stats: ...
    async def reembed(self, progress: Progress | None = None) -> int: ...
    async def reindex(self, progress: Progress | None = None) -> int: ...
    async def doctor(self, *, repair: bool = False) -> list[Finding]: ...
    async def backup(
        self, target: str | Path, progress: Progress | None = None, *, overwrite: bool = False
    ) -> Path: ...
    async def close(self) -> None: ...

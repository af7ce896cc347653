"""An erasure: what was asked for, what went, what may remain; the receipt that tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from remanence.model.memory import MemoryRecord, aware
from remanence.model.scope import Reach


class By(StrEnum):
    """How it was said what to erase."""

    IDS = "ids"
    FILTERS = "filters"
    SCOPE = "scope"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked to be erased. Filters are named, never told: their values may be a text.

    By scope, all that it holds goes: memories, documents, knowledge.
    """

    by: By
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    all_users: bool = False
    filters: tuple[str, ...] = ()

    def reach(self, tenant: str) -> Reach:
        """The scope, of a tenant."""
        return Reach(
            tenant=tenant,
            user_id=self.user_id,
            agent_id=self.agent_id,
            session_id=self.session_id,
            all_users=self.all_users,
        )


def asked_for(reach: Reach, *, ids: bool, filters: Mapping[str, Any] | None) -> Asked:
    """What was asked for, by ids or else in a reach, with filters or without."""
    if ids:
        return Asked(by=By.IDS)
    return Asked(
        by=By.FILTERS if filters else By.SCOPE,
        user_id=reach.user_id,
        agent_id=reach.agent_id,
        session_id=reach.session_id,
        all_users=reach.all_users,
        filters=tuple(sorted(filters or ())),
    )


class Stage(StrEnum):
    """How far an erasure is. One that was cut off is completed at the next opening or erasure."""

    BEGUN = "begun"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of an erasure; it holds ids, names and counts, never a text.

    `counts` are by part: memories asked for, derived, merged, versions, vectors and so on.
    `remains` says where bytes may stay and until when. `signature` is of the store, over all the
    rest.
    """

    id: str
    at: datetime
    tenant: str
    asked: Asked
    store: str
    identity: str
    status: Stage = Stage.COMPLETED
    counts: Mapping[str, int] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()
    signature: str | None = None

    def __post_init__(self) -> None:
        aware("at", self.at)


class Forgotten(list[MemoryRecord]):
    """The memories that were forgotten. Where they were erased, `receipt` tells of it."""

    def __init__(
        self, records: Iterable[MemoryRecord] = (), *, receipt: Erasure | None = None
    ) -> None:
        super().__init__(records)
        self.receipt = receipt

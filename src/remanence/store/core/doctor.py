"""Doctor: every part of a store checked against its rows, and mended where those say how."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from remanence.model.embedding import Fingerprint
from remanence.model.stats import Finding
from remanence.store.core.digests import Guard, damaged_dictionaries, mend_dictionaries
from remanence.store.core.session import Session
from remanence.store.documents import named
from remanence.store.rows import spelled_id

NAMED = 5  # of what is wrong, in a finding's detail
_LETTERS = 60
_BATCH = 200  # rows that are mended in one transaction

P = TypeVar("P")


class Check(NamedTuple):
    """What is wrong, as a list; and the mending of some of it, looked at again; how many were."""

    name: str
    look: Callable[[Any], Sequence[Any]]
    mend: Callable[[Any, Sequence[Any]], int]
    told: Callable[[Any], str] = str


class Count(NamedTuple):
    """How much is wrong, and the mending of all of it."""

    name: str
    look: Callable[[Any], int]
    mend: Callable[[Any], object]


def counting(name: str, count: str, *mends: str) -> Count:
    """A check by statements: one that counts, and those that mend."""

    def mend(session: Any) -> None:
        for one in mends:
            session.run(one)

    return Count(name, lambda session: int(session.value(count)), mend)


COUNTS = (
    counting("stray editions", "stray_editions", "delete_stray_editions"),
    counting("stray claims", "stray_claims", "delete_stray_claims"),
    counting("stray mentions", "stray_mentions", "delete_stray_mentions"),
    counting("resting claims", "wrong_rests", "mend_wrong_rests"),
)


class Doctor(ABC, Generic[P]):
    """One examination, place by place. It looks in snapshots; writers wait only for mending."""

    def __init__(self, guard: Guard, repair: bool, now: datetime) -> None:
        self._guard = guard
        self._repair = repair
        self._now = now
        self._places: Sequence[P] = ()

    @abstractmethod
    def _looking(self, place: P) -> AbstractContextManager[Any]:
        """A session that sees one snapshot."""

    @abstractmethod
    def _mending(self, place: P) -> AbstractContextManager[Any]:
        """A session that writes, in one transaction."""

    @abstractmethod
    def _pending(self, session: Any, fingerprint: Fingerprint) -> int:
        """How many memories have no pieces of that embedder."""

    def _of_memories(self) -> list[Check | Count]:
        """Dictionaries, without which texts cannot be read, then memories."""
        return [
            Check("dictionaries", damaged_dictionaries, mend_dictionaries, lambda one: str(one[0])),
            Check("digests", self._damaged, self._quarantine, lambda one: str(one[1])),
        ]

    def _of_others(self) -> list[Check | Count]:
        """Everything else that is signed."""
        own = self._guard
        return [
            Check("documents", own.documents, own.mend_documents, lambda row: named(row[1:6])),
            Check("editions", own.editions, own.remove_editions, lambda one: named(one[1][1:6])),
            Check("entities", own.entities, own.mend_entities, lambda row: str(row[3])[:_LETTERS]),
            Check("claims", own.claims, own.remove_claims, lambda row: str(row[8])[:_LETTERS]),
        ]

    def _damaged(self, session: Session) -> list[tuple[int, str]]:
        keys = self._guard.memories(session)
        return [(key, spelled_id(session.value("id_of", key=key))) for key in keys]

    def _quarantine(self, session: Session, wrong: Sequence[tuple[int, str]]) -> int:
        keys = self._guard.memories(session, [key for key, _ in wrong])
        return sum(self._guard.quarantine(session, key, self._now) for key in keys)

    def _run(self, check: Check | Count) -> Finding:
        return self._listed(check) if isinstance(check, Check) else self._counted(check)

    def _listed(self, check: Check) -> Finding:
        problems = mended = 0
        told: list[str] = []
        for place in self._places:
            with self._looking(place) as session:
                wrong = check.look(session)
            problems += len(wrong)
            told += map(check.told, wrong[: NAMED - len(told)])
            if self._repair:
                mended += self._mended(place, check, wrong)
        return finding(check.name, problems, mended, ", ".join(told))

    def _mended(self, place: P, check: Check, wrong: Sequence[Any]) -> int:
        mended = 0
        for at in range(0, len(wrong), _BATCH):
            with self._mending(place) as session:
                mended += check.mend(session, wrong[at : at + _BATCH])
        return mended

    def _counted(self, check: Count) -> Finding:
        problems = 0
        for place in self._places:
            with self._looking(place) as session:
                found = check.look(session)
            if found and self._repair:
                with self._mending(place) as session:
                    check.mend(session)
            problems += found
        return finding(check.name, problems, problems if self._repair else 0)

    def _embeddings(self, fingerprint: Fingerprint) -> Finding:
        pending = 0
        for place in self._places:
            with self._looking(place) as session:
                pending += self._pending(session, fingerprint)
        return finding("embeddings", 0, detail=f"{pending} pending")


def finding(check: str, problems: int, repaired: int = 0, detail: str = "") -> Finding:
    """What a check came to."""
    return Finding(check=check, problems=problems, repaired=repaired, detail=detail)

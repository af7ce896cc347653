"""Doctor: every part of a store checked against rows and digests, mended where those say how."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from remanence.model.embedding import Fingerprint
from remanence.model.stats import Finding
from remanence.store.claims import is_whole_claim, is_whole_entity, mended_entity
from remanence.store.core.database import Session
from remanence.store.core.learning import erase_silent, spoken_of
from remanence.store.documents import is_whole, is_whole_edition, mended, named
from remanence.store.packing import damaged
from remanence.store.rows import Owner, Row, spelled_id

_DOCUMENTS = 50
_KNOWN = 500
_NOBODY: Owner = ("", None)
_OF_A_DOCUMENT = ("version", "created", "updated", "expires", "value", "digest")


class Guard(ABC):
    """Looks for rows that are not what was signed: for all of them, or among those of some keys.

    A dialect knows the key of the digests, whose rows are, and how to rewrite some.
    """

    @abstractmethod
    def memories(self, session: Any, keys: Sequence[int] | None = None) -> list[int]:
        """Keys of memories that are not what was signed."""

    @abstractmethod
    def quarantine(self, session: Any, key: int, now: datetime) -> bool:
        """Sign a damaged row as it is now readable, in the state that keeps it out of recall.

        Not if only its dictionary is lost: that may still come back from a backup.
        """

    @abstractmethod
    def _key(self, session: Any) -> bytes:
        """The key that all digests of the store are made with."""

    @abstractmethod
    def _tenant(self, session: Any, row: Row) -> str:
        """Whose a document is."""

    @abstractmethod
    def _owners(self, session: Any) -> Mapping[int, Owner]:
        """Whose every partition is."""

    @abstractmethod
    def _rewrite_entity(self, session: Any, row: Row, values: Row) -> None:
        """Put `ENTITY_COLUMNS` in the place of those of a row."""

    def documents(self, session: Any, keys: Sequence[int] | None = None) -> list[Row]:
        """Rows of documents that are not what was signed."""
        key = self._key(session)
        rows = self._every(session, "guarded_documents", _DOCUMENTS, keys)
        return [row for row in rows if not is_whole(row, self._tenant(session, row), key)]

    def editions(self, session: Any, keys: Sequence[int] | None = None) -> list[tuple[Row, Row]]:
        """Editions that are not what was signed, of documents that are, each with its document."""
        found, key = [], self._key(session)
        for row in self._every(session, "guarded_documents", _DOCUMENTS, keys):
            tenant = self._tenant(session, row)
            if is_whole(row, tenant, key):
                editions = self._editions(session, row)
                wrong = (
                    one for one in editions if not is_whole_edition(one, row[1:6], tenant, key)
                )
                found += [(edition, row) for edition in wrong]
        return found

    def entities(self, session: Any, keys: Sequence[int] | None = None) -> list[Row]:
        """Rows of entities that are not what was signed."""
        key, whose = self._key(session), self._owners(session)
        rows = self._every(session, "guarded_entities", _KNOWN, keys)
        return [row for row in rows if not is_whole_entity(row, whose.get(row[1], _NOBODY), key)]

    def claims(self, session: Any, keys: Sequence[int] | None = None) -> list[Row]:
        """Rows of claims that are not what was signed."""
        key, whose = self._key(session), self._owners(session)
        rows = self._every(session, "guarded_claims", _KNOWN, keys)
        return [row for row in rows if not is_whole_claim(row, whose.get(row[1], _NOBODY), key)]

    def damage(self, session: Any, *, documents: bool = True, knowledge: bool = True) -> str:
        """How much is not what was signed; '' if all of it is, as far as it has these tables."""
        if memories := len(self.memories(session)):
            return f"{memories} damaged memories"
        if documents and (count := len(self.documents(session)) + len(self.editions(session))):
            return f"{count} damaged documents"
        if knowledge and (count := len(self.entities(session)) + len(self.claims(session))):
            return f"{count} damaged entities and claims"
        return ""

    def mend_documents(self, session: Any, wrong: Sequence[Row]) -> int:
        """Give documents the values that their editions have, where there are some; how many."""
        done, key = 0, self._key(session)
        for row in self.documents(session, _keys_of(wrong)):
            values = mended(row, self._editions(session, row), self._tenant(session, row), key)
            if values is not None:
                told = dict(zip(_OF_A_DOCUMENT, values, strict=True))
                session.run("rewrite_document", key=row[0], before=row[11], **told)
                done += 1
        return done

    def remove_editions(self, session: Any, wrong: Sequence[tuple[Row, Row]]) -> int:
        """Give up editions that cannot be read as they were put; how many."""
        wanted = [edition for edition, _ in wrong]
        again = self.editions(session, sorted({row[0] for _, row in wrong}))
        gone = [edition for edition, _ in again if edition in wanted]
        for one in gone:
            asked = {"document": one[0], "version": one[1], "digest": one[7]}
            session.run("delete_edition", **asked)
        return len(gone)

    def mend_entities(self, session: Any, wrong: Sequence[Row]) -> int:
        """Sign entities anew under the names that their ids stand for, where one does."""
        done, key, whose = 0, self._key(session), self._owners(session)
        for row in self.entities(session, _keys_of(wrong)):
            values = mended_entity(row, whose.get(row[1], _NOBODY), key)
            if values is not None:
                self._rewrite_entity(session, row, values)
                done += 1
        return done

    def remove_claims(self, session: Session, wrong: Sequence[Row]) -> int:
        """Give up claims that cannot be read as they were made; memories can be read again."""
        rows = self.claims(session, _keys_of(wrong))
        partitions = {row[1] for row in rows}
        session.hold_partitions(partitions)
        gone = session.rows("erase_claims_by_key", keys=session.array_of(_keys_of(rows)))
        erase_silent(session, spoken_of(gone))
        session.announce_knowledge(partitions)
        return len(rows)

    def _editions(self, session: Session, row: Row) -> list[Row]:
        rows = session.rows("guarded_editions", keys=session.array_of([row[0]]))
        return [self._readable("guarded_editions", one) for one in rows]

    def _every(
        self, session: Session, name: str, most: int, keys: Sequence[int] | None
    ) -> Iterator[Row]:
        """What a statement gives that takes a key and how many rows are wanted after it: all in
        order of key, which stands first, or the rows of these keys."""
        every = rows_after(session, name, most) if keys is None else _these(session, name, keys)
        for rows in every:
            yield from (self._readable(name, row) for row in rows)

    def _readable(self, name: str, row: Row) -> Row:
        """The row as it can be read, whatever stands in it."""
        return row


def damaged_dictionaries(session: Session) -> list[tuple[int, bytes | None]]:
    """Dictionaries of which a copy is damaged, each with the copy that is whole, if one is."""
    return damaged(session.rows("every_dictionary"))


def mend_dictionaries(session: Session, wrong: Sequence[tuple[int, bytes | None]]) -> int:
    """Put whole copies in the place of damaged ones; how many there are."""
    again = [one for one in damaged_dictionaries(session) if one in wrong]
    whole = [(number, body) for number, body in again if body is not None]
    for number, body in whole:
        session.run("mend_dictionary", id=number, body=body)
    return len(whole)


def rows_after(session: Session, name: str, most: int) -> Iterator[list[Row]]:
    """What a statement gives that takes a key and how many are wanted after it, key by key."""
    after = 0
    while rows := session.rows(name, after=after, most=most):
        yield rows
        after = rows[-1][0]


def _these(session: Session, name: str, keys: Sequence[int]) -> Iterator[list[Row]]:
    for key in keys:
        rows = session.rows(name, after=key - 1, most=1)
        yield [row for row in rows if row[0] == key]


def _keys_of(rows: Sequence[Row]) -> list[int]:
    return [row[0] for row in rows]


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

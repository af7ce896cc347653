"""The digests that guard rows: which are damaged; quarantine for memories, mending for others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from remanence.store.claims import is_whole_claim, is_whole_entity, mended_entity
from remanence.store.core.learning import erase_silent, spoken_of
from remanence.store.core.session import Session
from remanence.store.documents import is_whole, is_whole_edition, mended
from remanence.store.packing import damaged
from remanence.store.rows import Owner, Row

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
        for rows in _chunks(session, name, most) if keys is None else _these(session, name, keys):
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


def _chunks(session: Session, name: str, most: int) -> Iterator[list[Row]]:
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

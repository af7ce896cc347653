"""What a snapshot is made of: sections, each of which can take, keep and restore itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from remanence.errors import Conflict, NotFound
from remanence.model.document import Address, Document, Shelf
from remanence.model.memory import Metadata
from remanence.model.scope import Reach
from remanence.ports.store import Documents

P = TypeVar("P")
C = TypeVar("C")

# What the addresses of snapshots and of their parts have for a session, so that snapshots are
# listed without reading what they hold; no session is named so.
HEADS = "snapshots/9f2c41d7"
PARTS = "snapshot-parts/9f2c41d7"
NAMED_BY_SESSION = (Shelf.SESSION, Shelf.CONVERSATION)
TRIES = 50
PAGE = 10_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where one snapshot's documents stand."""

    name: str
    user_id: str | None

    @property
    def head(self) -> Address:
        """The document that says what the snapshot is."""
        return Address(shelf=Shelf.SNAPSHOT, name=self.name, user_id=self.user_id, session_id=HEADS)

    def part(self, section: str, number: int) -> Address:
        """One of the documents that hold a section."""
        name = f"{self._key()}.{section}.{number}"
        return Address(shelf=Shelf.SNAPSHOT, name=name, user_id=self.user_id, session_id=PARTS)

    def copy(self, of: Address) -> Address:
        """The copy of a document. It belongs to the document's own user, agent and session.

        So whoever erases all that one of them has finds the copies too.
        """
        return Address(
            shelf=Shelf.SNAPSHOT,
            name=f"{self._key()}.{_digest(of.shelf, of.name)}",
            user_id=of.user_id,
            agent_id=of.agent_id,
            session_id=session_of(of),
        )

    def _key(self) -> str:
        return _digest(self.name, self.user_id or "")


class Changes(NamedTuple, Generic[C]):
    """What differs, and how much of it was erased and cannot be told."""

    found: tuple[C, ...]
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoring:
    """Who restores which snapshot, and when."""

    name: str
    at: datetime
    actor: str | None

    @property
    def reason(self) -> str:
        """What the histories of the things restored say."""
        return f"snapshot {self.name}"


class Section(Protocol[P, C]):
    """A section. `P` is its picture: what a scope holds of it at a moment."""

    name: str

    def now(self, reach: Reach) -> P:
        """The picture of what is there now."""

    def before(self, present: P, wanted: P) -> P:
        """The present, with all that is needed to undo a restore of `wanted` exactly."""

    def counts(self, picture: P) -> dict[str, int]:
        """How much the picture holds, by what people call it."""

    def parts(self, picture: P) -> list[dict[str, Any]]:
        """The picture as values of documents, each of a size that every store takes."""

    def copied(self, place: Place, picture: P) -> list[tuple[Address, dict[str, Any]]]:
        """What is kept beside the parts, at addresses that the parts lead to."""

    def copies(self, place: Place, parts: Sequence[Metadata]) -> list[Address]:
        """Where that is."""

    def picture(self, place: Place, parts: Sequence[Metadata]) -> P:
        """The picture that the parts and what is beside them show."""

    def changes(self, before: P, after: P, names: tuple[str, str]) -> Changes[C]:
        """What differs between two pictures of one scope."""

    def restore(self, wanted: P, present: P, by: Restoring) -> None:
        """Make what is there what the picture shows; doing it again changes nothing more."""


def session_of(address: Address) -> str | None:
    """The session that a document belongs to, by its address or by its name."""
    return address.name if address.shelf in NAMED_BY_SESSION else address.session_id


def everything(store: Documents, reach: Reach, shelf: Shelf) -> list[Document]:
    """All of a shelf's documents in reach, the one last put first."""
    found: list[Document] = []
    while page := store.shelved(reach, shelf, limit=PAGE, offset=len(found)):
        found += page
        if len(page) < PAGE:
            break
    return found


def settled(act: Callable[[], None]) -> None:
    """Act, and again while others change what it read."""
    for _ in range(TRIES - 1):
        try:
            return act()
        except (Conflict, NotFound):
            continue
    return act()


def address_fields(address: Address) -> list[str | None]:
    """An address as JSON."""
    owner = [address.user_id, address.agent_id, address.session_id]
    return [str(address.shelf), address.name, *owner]


def address_from(fields: Sequence[Any]) -> Address:
    """The address of such JSON."""
    shelf, name, user, agent, session = fields
    return Address(shelf=Shelf(shelf), name=name, user_id=user, agent_id=agent, session_id=session)


def union(before: Mapping[Address, object], after: Mapping[Address, object]) -> list[Address]:
    """The addresses in either, in a fixed order."""
    return sorted({*before, *after}, key=lambda one: [field or "" for field in address_fields(one)])


def _digest(*names: str) -> str:
    told = "\0".join(names).encode()
    return blake2b(told, digest_size=16).hexdigest()

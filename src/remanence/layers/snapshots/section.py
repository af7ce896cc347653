"""What a snapshot is made of: sections that take, keep and restore; references, packed."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from remanence.errors import Conflict, NotFound
from remanence.model.document import Address, Document, Shelf
from remanence.model.memory import Metadata
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach

NAMED_BY_SESSION = (Shelf.SESSION, Shelf.CONVERSATION)
ID_BYTES = 16
NUMBER_BYTES = 4
# What the addresses of snapshots and of their parts have for a session, so that snapshots are
# listed without reading what they hold, and each one's parts are found; no session is named so.
HEADS = "snapshots/9f2c41d7"
PARTS = "snapshot-parts/9f2c41d7/"
TRIES = 50

T = TypeVar("T")
P = TypeVar("P")
C = TypeVar("C")
R = TypeVar("R")


def session_of(address: Address) -> str | None:
    """The session that a document belongs to, by its address or by its name."""
    return address.name if address.shelf in NAMED_BY_SESSION else address.session_id


def agent_of(document: Document) -> str | None:
    """The agent that a document belongs to, by its address or by what its value says."""
    name = "agent_id" if document.address.shelf is Shelf.CONVERSATION else "agent"
    agent = document.address.agent_id or document.value.get(name)
    return agent if isinstance(agent, str) else None


def within(document: Document, reach: Reach) -> bool:
    """Whether it is of the reach's agent and session; its user is not asked about."""
    of_session = reach.session_id in (None, session_of(document.address))
    return of_session and reach.agent_id in (None, agent_of(document))


def packed(versions: Mapping[str, int]) -> str:
    """Ids and their versions as text. Apart from the ids, versions compress to almost nothing."""
    ids = bytes.fromhex("".join(versions).replace("-", ""))
    numbers = np.fromiter(versions.values(), "<u4", len(versions)).tobytes()
    return b64encode(zlib.compress(ids + numbers)).decode("ascii")


def unpacked(text: str, most: int) -> dict[str, int]:
    """What `packed` packed, in order; `ValueError` if that it is not, or more than `most`."""
    raw = _unpressed(b64decode(text, validate=True), most * (ID_BYTES + NUMBER_BYTES))
    count, rest = divmod(len(raw), ID_BYTES + NUMBER_BYTES)
    if rest:
        raise ValueError("The references are cut off.")
    digits = raw[: count * ID_BYTES].hex()
    numbers = np.frombuffer(raw, "<u4", count, count * ID_BYTES).tolist()
    return {_id(digits, n): number for n, number in enumerate(numbers)}


def _unpressed(data: bytes, most: int) -> bytes:
    """Few bytes can unpack to very many, so only so many are unpacked."""
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(raw) > most or not unpacking.eof:
        raise ValueError("The references are cut off, or more than there can be.")
    return raw


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in runs of at most `size`."""
    return (items[n : n + size] for n in range(0, len(items), size))


def _id(digits: str, number: int) -> str:
    """The id of that number, spelled as ids are."""
    h = digits[number * 32 : number * 32 + 32]
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


@dataclass(frozen=True, slots=True)
class SectionPlace:
    """Where one snapshot's documents stand."""

    name: str
    user_id: str | None

    @property
    def head(self) -> Address:
        """The document that says what the snapshot is."""
        return Address(shelf=Shelf.SNAPSHOT, name=self.name, user_id=self.user_id, session_id=HEADS)

    @property
    def parts(self) -> str:
        """What the parts have for a session."""
        return PARTS + self._key()

    def part(self, section: str, mark: str, user_id: str | None) -> Address:
        """One of the documents that hold a section. It belongs to the user it tells of.

        So whoever erases all that a user has finds what everybody's snapshot says of the user.
        """
        name = f"{section}.{mark}"
        return Address(shelf=Shelf.SNAPSHOT, name=name, user_id=user_id, session_id=self.parts)

    def copy(self, of: Address) -> Address:
        """The copy of a document. It belongs to the document's own user, agent and session.

        So whoever erases all that one of them has finds the copies too.
        """
        return Address(
            shelf=Shelf.SNAPSHOT,
            name=f"{self._key()}.{digest_of(of)}",
            user_id=of.user_id,
            agent_id=of.agent_id,
            session_id=session_of(of),
        )

    def _key(self) -> str:
        return _digest(self.name, self.user_id or "")


class SectionPart(NamedTuple):
    """Some of a section, and the user it tells of."""

    user_id: str | None
    value: Metadata


class Changes(NamedTuple, Generic[C]):
    """What differs, and how much of it was erased and cannot be told."""

    found: tuple[C, ...]
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoring:
    """Who restores which snapshot, and when; `undo` keeps what the restore replaces."""

    name: str
    at: datetime
    actor: str | None
    undo: SectionPlace

    @property
    def reason(self) -> str:
        """What the histories of the things restored say."""
        return f"snapshot {self.name}"


class SnapshotSection(ABC, Generic[P, C]):
    """A section. `P` is its picture: what a scope holds of it at a moment."""

    name: ClassVar[str]

    @abstractmethod
    def now(self, reach: Reach) -> P:
        """The picture of what is there now."""

    def before(self, present: P, wanted: P) -> P:
        """The present, with all that is needed to undo a restore of `wanted` exactly."""
        return present

    @abstractmethod
    def counts(self, picture: P) -> dict[str, int]:
        """How much the picture holds, by what people call it."""

    @abstractmethod
    def parts(self, place: SectionPlace, picture: P) -> list[SectionPart]:
        """The picture as values of documents, each of a size that every store takes."""

    @abstractmethod
    def picture(self, place: SectionPlace, parts: Sequence[SectionPart]) -> P:
        """The picture that the parts and what is beside them show."""

    def copied(self, place: SectionPlace, picture: P) -> list[tuple[Address, dict[str, Any]]]:
        """What is kept beside the parts, at addresses that the parts lead to."""
        return []

    def copies(self, place: SectionPlace, parts: Sequence[SectionPart]) -> list[Address]:
        """Where that is."""
        return []

    def recheck(self, place: SectionPlace, picture: P) -> None:
        """Drop what was copied of things that were erased meanwhile."""

    @abstractmethod
    def changes(self, before: P, after: P, names: tuple[str, str]) -> Changes[C]:
        """What differs between two pictures of one scope."""

    @abstractmethod
    def restore(self, wanted: P, present: P, by: Restoring) -> None:
        """Make what is there what the picture shows; doing it again changes nothing more."""


def everything(store: Documents, reach: Reach, shelf: Shelf) -> list[Document]:
    """All of a shelf's documents in reach, the one last put first."""
    found = list(store.walk_shelf(reach, shelf))
    found.sort(key=lambda one: (one.address.user_id or "", one.address.name))
    return sorted(found, key=lambda one: one.updated_at, reverse=True)


def settled(items: Sequence[T], size: int, act: Callable[[Sequence[T]], None]) -> None:
    """Act on runs of the items, each again while others change what was read of it."""
    for some in chunks(items, size):
        for last in range(TRIES):
            try:
                act(some)
                break
            except (Conflict, NotFound):
                if last == TRIES - 1:
                    raise


def address_fields(address: Address) -> list[str | None]:
    """An address as JSON, but for the user."""
    return [str(address.shelf), address.name, address.agent_id, address.session_id]


def address_from(fields: Sequence[Any], user_id: str | None) -> Address:
    """The address of such JSON."""
    shelf, name, agent, session = fields
    owner = {"user_id": user_id, "agent_id": agent, "session_id": session}
    return Address(shelf=Shelf(shelf), name=name, **owner)


def by_user(
    rows: Iterable[tuple[str | None, R]], size: int
) -> Iterator[tuple[str | None, Sequence[R]]]:
    """The rows of each user, in runs of at most `size`."""
    sorted_out: dict[str | None, list[R]] = {}
    for user_id, row in rows:
        sorted_out.setdefault(user_id, []).append(row)
    for user_id, some in sorted_out.items():
        for run in chunks(some, size):
            yield user_id, run


def is_copy(address: Address, original: Address) -> bool:
    """Whether a snapshot keeps a copy of the document there, as far as the name tells."""
    return address.name.endswith(f".{digest_of(original)}")


def digest_of(original: Address) -> str:
    """What the copies of a document are known by, among those of its user and session."""
    return _digest(original.shelf, original.name)


def union(before: Mapping[Address, object], after: Mapping[Address, object]) -> list[Address]:
    """The addresses in either, in a fixed order."""
    return sorted({*before, *after}, key=_order)


def _order(address: Address) -> list[str]:
    return [field or "" for field in (*address_fields(address), address.user_id)]


def _digest(*names: str) -> str:
    told = "\0".join(names).encode()
    return blake2b(told, digest_size=16).hexdigest()

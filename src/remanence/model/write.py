"""What one transaction does to a store: insert, revise, remove; and the vectors that go with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, TypeAlias

from remanence.model.document import Shelving
from remanence.model.embedding import Fingerprint
from remanence.model.knowledge import Learnt
from remanence.model.memory import Association, MemoryRecord, Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One embedded stretch of a memory's text: `text[start:stop]`, inside passage `passage`.

    `vector` is packed by `quantised`; `codes` holds 16 bytes per content token.
    """

    part: int
    passage: int
    start: int
    stop: int
    vector: bytes
    codes: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """All pieces of one memory, made by one embedder."""

    fingerprint: Fingerprint
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """A new memory. Without pieces it is found by its words until it is embedded.

    `history` are the changes it went through elsewhere, after its insertion; it comes with
    memories that are imported.
    """

    record: MemoryRecord
    pieces: Pieces | None = None
    history: tuple[Revision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """New values for some fields of a memory; its old ones go into the history.

    With `expected`, the change happens only if the memory still has that version (`Conflict`).
    When `changes` holds a new text, `pieces` replace the old ones, and words like "yesterday" in
    it are meant in `zone`.
    """

    id: str
    changes: Mapping[str, Any]
    verb: str
    at: datetime
    actor: str | None = None
    reason: str | None = None
    pieces: Pieces | None = None
    expected: int | None = None
    zone: tzinfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Erase a memory and all that was stored with it."""

    id: str


Action: TypeAlias = Insert | Revise | Remove


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Uses that a memory gains (or, below 0, gives back), and when the last of them was.

    A count never falls below 0; `used_at` only moves forward, and None leaves it. Only where the
    last use is exactly `instead_of` does `used_at`, or None, take its place.
    """

    id: str
    uses: int
    used_at: datetime | None = None
    instead_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """An idempotency key and the digest of the request that used it."""

    key: str
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Actions of one tenant that happen together or not at all.

    `links` and what was `learnt` are put after the actions, so they may speak of memories that the
    batch inserts; a memory that is not there is passed over in `learnt`. A repeated batch learns
    nothing. `documents` are shelved in the same transaction, as `Documents.put` does it: a version
    that is not the expected one is a `Conflict`, and nothing of the batch happens. `moved` uses
    come after the actions; those of memories that are not there are passed over. `unlinked` are
    links to remove (source, target, type), before any are put; what is not there is passed over.
    With `beside`, the batch is a `Conflict` if a memory that is not named there has a link to a
    target of `links`, of its type: somebody else was at work on it.
    """

    tenant: str
    at: datetime
    actions: tuple[Action, ...]
    receipt: Receipt | None = None
    links: tuple[Association, ...] = ()
    learnt: tuple[Learnt, ...] = ()
    documents: tuple[Shelving, ...] = ()
    moved: tuple[Moved, ...] = ()
    unlinked: tuple[tuple[str, str, str], ...] = ()
    beside: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The records as they now stand, in the order of the actions (removed ones left out).

    `repeated` is true when the receipt was known: nothing was written, the earlier records came.
    """

    records: tuple[MemoryRecord, ...]
    repeated: bool = False

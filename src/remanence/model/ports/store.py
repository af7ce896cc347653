"""The Store port: a backend is the sum of several parts, each a small contract of its own.

Everything is bounded by a tenant. A *partition* is a number that stands for one (tenant, user_id);
a *key* is a number that stands for one memory, never used twice. Keys and partitions never leave
the process; ids do. A partition is known once `partitions` or `key_of` has named it. Failures are
`StoreError`s; a failed write has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.model.document import Address, Document, Edition, Shelf, Shelving
from remanence.model.embedding import Fingerprint
from remanence.model.filter import Filter
from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.memory import Association, Feedback, MemoryRecord, Related, Revision
from remanence.model.ports.pieces import StoredPieces
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.stats import Finding, StoreStats
from remanence.model.tier import Packed, Tier, TierUse
from remanence.model.write import Batch, Pieces, Written

Keys = NDArray[np.int64]


class Trait(NamedTuple):
    """The small facts recall needs of a memory, without its text."""

    key: int
    partition: int
    session: str | None
    agent: str | None
    speaker: str | None
    role: str | None
    kind: str
    state: str
    happened: int  # microseconds since 1970, UTC
    created: int
    terms: int  # length in index terms
    characters: int
    flags: int  # remanence.language.traits of the text
    importance: float
    trust: float
    said_from: (
        int  # days since 1970 of the time it speaks of (remanence.language.traits); 0, 0 for none
    )
    said_to: int  # the day after the last


class Change(NamedTuple):
    """One entry of a partition's change feed: look at this memory again."""

    seq: int
    key: int


class Span(NamedTuple):
    """A conversation as its messages show it."""

    session_id: str
    user_id: str | None
    messages: int
    first: datetime
    last: datetime


class Name(NamedTuple):
    """An entity as recall sees it; `number` stands for it inside the store."""

    number: int
    id: str
    name: str
    type: str


class Tie(NamedTuple):
    """A claim that joins two entities, by number; `key` is the memory that says so, 0 for none."""

    subject: int
    predicate: str
    object: int
    key: int
    trust: float = 1.0


class Archive(Protocol):
    """Memories: written in transactions, read by id or by condition."""

    def write(self, batch: Batch) -> Written:
        """Do all of it in one durable transaction: rows, words, vectors, history, links, feed.

        `NotFound` if a revised or removed id is not this tenant's; `Conflict` if a receipt's key
        was used for another request or an expected version has passed. A known receipt repeats
        the earlier answer and writes nothing.
        """

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemoryRecord]:
        """The tenant's memories with these ids, in that order, in any state; unknown left out."""

    def find(
        self,
        reach: Reach,
        where: Filter | None = None,
        *,
        limit: int = 100,
        offset: int = 0,
        newest_first: bool = True,
    ) -> list[MemoryRecord]:
        """Memories that satisfy the filter, ordered by `happened_at`, then by insertion."""

    def walk(self, reach: Reach, where: Filter | None = None) -> Iterator[MemoryRecord]:
        """Memories that satisfied the filter when the walk began, in order of key, streamed.

        Each comes once, as it is when it is read, whatever others write or remove meanwhile; those
        that are gone by then are left out. To page by an offset is no substitute: it passes over
        some when others remove.
        """

    def count(self, reach: Reach, where: Filter | None = None) -> int:
        """How many `find` would give without a limit."""

    def history(self, tenant: str, id: str) -> list[Revision]:
        """Every change of a memory, oldest first, beginning with its insertion; else `NotFound`."""

    def holdings(self, tenant: str, ids: Sequence[str]) -> dict[str, int]:
        """How much is stored with these memories: versions, vectors, links, claims, mentions,
        feedback. Ids that are not the tenant's are passed over."""

    def note_uses(self, tenant: str, uses: Sequence[tuple[str, datetime]]) -> None:
        """Add to the use counts of memories; ids that are gone are passed over."""

    def note_feedback(
        self, tenant: str, id: str, *, useful: bool, query: str | None, at: datetime
    ) -> None:
        """Record whether a memory helped; `NotFound` if it is not this tenant's."""

    def feedback(self, tenant: str, partition: int | None = None) -> Iterator[Feedback]:
        """All that `note_feedback` recorded for the tenant, oldest first within a memory.

        With a partition, only what was recorded of its memories.
        """

    def trim_feedback(self, tenant: str, keep: int) -> int:
        """Remove feedback past the `keep` on each user's memories; how much was removed.

        First what was said again later of the same memory, question and use, then the oldest.
        """

    def scan(self, tenant: str, after: int = 0) -> Iterator[tuple[int, MemoryRecord]]:
        """Every memory of the tenant in order of key, in any state, streamed with its key."""

    def spans(self, reach: Reach, *, limit: int = 100, offset: int = 0) -> list[Span]:
        """Sessions that hold active messages (kind `message`), the one last spoken in first."""

    def versions(self, reach: Reach) -> Iterator[tuple[str, int]]:
        """Id and version of every active memory in reach, in order of key, streamed."""


class Links(Protocol):
    """Typed associations between memories of one tenant."""

    def associate(self, tenant: str, link: Association) -> Association:
        """Add the link, or give an existing one of that type the new strength."""

    def related(
        self, tenant: str, id: str, *, type: str | None, direction: str, limit: int
    ) -> list[Related]:
        """Linked memories that are active, strongest first; direction out, in or both."""

    def strengthen(
        self,
        tenant: str,
        pairs: Sequence[tuple[str, str]],
        type: str,
        at: datetime,
        *,
        gain: float,
        daily: float,
    ) -> int:
        """Draw memories closer that were used together, in one transaction; how many links.

        A link fades by `daily` each day since it was last strengthened, then moves by `gain` of
        what is left up to 1; a new one begins at `gain`. Pairs of which one is gone are passed
        over.
        """

    def dissociate(self, tenant: str, source: str, target: str, type: str | None) -> int:
        """Remove links from source to target; how many there were."""

    def scan(self, tenant: str) -> Iterator[Association]:
        """Every association of the tenant, for export."""

    def pointing(self, tenant: str, targets: Sequence[str], type: str) -> list[str]:
        """Ids of the memories, in any state, with a link of that type to one of `targets`.

        Each once, in order of key; targets that are not the tenant's are passed over.
        """

    def pointed(self, tenant: str, sources: Sequence[str], type: str) -> list[str]:
        """Ids of the memories, in any state, that one of `sources` has a link of that type to.

        Each once, in order of key; sources that are not the tenant's are passed over.
        """


class Documents(Protocol):
    """Named, versioned values of the layers. Time runs out only when `expire` is called."""

    def put(
        self,
        tenant: str,
        shelvings: Sequence[Shelving],
        *,
        vacant: tuple[Reach, Filter | None] | None = None,
    ) -> list[Document]:
        """Do all of it in one durable transaction; the documents put, in that order.

        `Conflict` when an expected version does not hold: nothing is changed then. Two puts that
        expect the same version never both succeed. With `vacant`, `Conflict` too while a memory
        there satisfies the filter; nobody can add one before the documents are put.
        """

    def get(self, tenant: str, addresses: Sequence[Address]) -> list[Document]:
        """The documents at these addresses, in that order; those that are not there left out."""

    def shelved(
        self,
        reach: Reach,
        shelf: Shelf,
        *,
        agents: Sequence[str | None] | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Document]:
        """A shelf's documents in reach, the one last put first; ties by address.

        Agent and session left out of the reach mean any, as with memories. `agents` are the only
        ones whose documents are wanted besides; None among them stands for no agent.
        """

    def walk_shelf(
        self, reach: Reach, shelf: Shelf, *, agents: Sequence[str | None] | None = None
    ) -> Iterator[Document]:
        """A shelf's documents that were in reach when the walk began, streamed, as `walk` does."""

    def editions(self, tenant: str, address: Address) -> list[Edition]:
        """Every version that was put with `keep`, oldest first; none if there are none."""

    def expire(self, tenant: str, shelf: Shelf, now: datetime, limit: int = 1000) -> list[Address]:
        """Erase a shelf's documents whose time has run out by `now`, oldest expiry first."""

    def scan(self, tenant: str) -> Iterator[tuple[Document, tuple[Edition, ...]]]:
        """Every document of the tenant with its editions, by address, streamed."""

    def adopt(
        self,
        tenant: str,
        documents: Sequence[tuple[Document, tuple[Edition, ...]]],
        expected: Mapping[Address, int] | None = None,
    ) -> None:
        """Take documents over as they are, versions, times and editions, in one transaction.

        What stood at their addresses is replaced. `expected` says for addresses which version
        stands there now, 0 for none; `Conflict` if another does, and nothing is changed then.
        """


class Knowledge(Protocol):
    """Entities, claims and mentions. What is found in memories is written with them (`Batch`).

    Entities belong to a user; agent and session of a reach narrow claims and mentions. When a
    memory is removed, its claims and mentions go in the same transaction, and so does every entity
    that is not `given` and that nothing is said of any more. A memory that leaves the active state
    takes its claims and mentions along (`rested_at`), and brings them back when it returns. One
    that is archived with `superseded_by` set, as merging does, takes along its mentions alone: its
    claims stay evidence, as the memory in its place says the same but not when. That a
    memory is read anew (`Learnt`) retires or removes only what was found in it: a claim of origin
    "caller" that names it as its source stays, though it rests with it and goes with it. What was
    found in a former text stays too, retired, until the memory is removed.
    """

    def know(
        self,
        tenant: str,
        entities: Sequence[Entity] = (),
        claims: Sequence[Claim] = (),
        mentions: Sequence[Mention] = (),
    ) -> None:
        """Add what callers state, or what comes from elsewhere, in one durable transaction.

        An entity that is there keeps its name and creation, takes a type that is not `thing`, and
        becomes `given` if one of them is. A claim or mention that is there is passed over;
        `NotFound` if one names an entity or a memory that is not this user's. Moves the feed of
        the partitions.
        """

    def unknow(self, tenant: str, claims: Sequence[str], entities: Sequence[str] = ()) -> int:
        """Erase claims by id, and entities with all claims and mentions of them; how many rows.

        Entities that nothing is said of any more go too, unless they are `given`.
        """

    def forget(self, reach: Reach) -> int:
        """Erase all knowledge in reach, found or given; entities only if the reach is no agent's
        or session's, or nothing is said of them any more. How many claims went."""

    def entities(
        self,
        reach: Reach,
        ids: Sequence[str] | None = None,
        *,
        prefix: str | None = None,
        limit: int = 1000,
        offset: int = 0,
    ) -> list[Entity]:
        """Entities in reach by folded name, ties by id; all of the users' own if no agent or
        session is asked for, else those that a claim or a mention in reach speaks of. Where a
        trust is asked for, those, and whatever is `given`.

        `prefix` is how the folded name begins, letter by letter (no pattern)."""

    def claims(
        self,
        reach: Reach,
        *,
        about: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        predicate: str | Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        memories: Sequence[str] | None = None,
        limit: int = 1000,
        offset: int = 0,
        newest_first: bool = False,
    ) -> list[Claim]:
        """Claims in reach, resting and retired ones too, in order of recording, ties by insertion.

        `about` are entities of which one must be subject or object, `subjects` those of which one
        must be subject, `predicate` is the one wanted or several. Conditions hold together.
        """

    def mentions(
        self, reach: Reach, entities: Sequence[str], *, limit: int = 1000, offset: int = 0
    ) -> list[Mention]:
        """Active memories in reach that speak of one of these entities, the latest first."""

    def mention_counts(self, reach: Reach) -> dict[str, int]:
        """How many active memories in reach speak of each entity."""

    def scan(self, tenant: str) -> Iterator[Entity | Claim | Mention]:
        """Everything of the tenant, streamed: entities, then claims, then mentions, in any state.

        Memories are named by id; resting claims and mentions are among them.
        """


class RecallSource(Protocol):
    """What recall and the indexes read. All of it is by partition or key, never across tenants.

    Of knowledge, only what is active.
    """

    def partitions(self, reach: Reach) -> list[int]:
        """The partitions a read may see; those that do not exist yet are left out."""

    def position(self, partition: int) -> int:
        """The newest `seq` of the partition's feed; cheap enough for every search.

        It never falls, and no entry up to it comes later: what was read up to a position is all.
        """

    def changes(self, partition: int, after: int, limit: int) -> list[Change]:
        """The partition's feed entries after `after`, in order."""

    def traits(self, partition: int, keys: Sequence[int] | None = None) -> Iterator[Trait]:
        """Traits of a partition's memories, or of the given keys that are in it, streamed."""

    def keys(self, partition: int, where: Filter) -> Keys:
        """Keys in the partition that satisfy the filter, ascending."""

    def postings(self, partition: int, terms: Sequence[str], most: int) -> list[Keys | None]:
        """For each term the keys of the memories that hold it, ascending, once per occurrence.

        A term that occurs more than `most` times hardly tells memories apart: None comes back.
        """

    def records(self, partition: int, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """Whole records by key; keys that are gone, or of another partition, are left out."""

    def watch(self, timeout_s: float) -> list[int]:
        """Partitions written to since the last call, by any process; waits for one if need be.

        A wake-up call, not a feed: it may name too many and, after a failure, miss some. What must
        be exact compares positions. One thread of a process watches at a time.
        """

    def key_of(self, tenant: str, id: str) -> tuple[int, int] | None:
        """(partition, key) of a tenant's memory."""

    def names(self, partition: int) -> Iterator[Name]:
        """The partition's entities in order of number, streamed."""

    def mentioned(
        self, partition: int, keys: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int]]:
        """(memory key, entity number) of the partition's mentions, by key, or of the given keys."""

    def ties(self, partition: int) -> Iterator[Tie]:
        """Claims of the partition whose object is an entity and that are neither resting, retired
        nor denials, in order of insertion."""


class Vectors(Protocol):
    """Stored pieces, by the embedder that made them."""

    def embedders(self) -> list[Fingerprint]:
        """Every embedder whose pieces are, or are to be, in the store; oldest first."""

    def pieces(self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]) -> StoredPieces:
        """All pieces by that embedder of memories that are in the partition, by key and part."""

    def scan(self, fingerprint: Fingerprint, partition: int) -> Iterator[tuple[int, int, bytes]]:
        """(key, part, vector) of a whole partition, by key and part."""

    def unembedded(
        self, tenant: str, fingerprint: Fingerprint, limit: int
    ) -> list[tuple[int, MemoryRecord]]:
        """The tenant's memories that have no pieces from that embedder yet, oldest first."""

    def count_unembedded(self, tenant: str, fingerprint: Fingerprint) -> int:
        """How many those are."""

    def put(self, tenant: str, made: Sequence[tuple[int, str, Pieces]]) -> int:
        """Store pieces for (key, text they were made from) and announce them in the feed.

        A memory that is gone or whose text changed meanwhile is passed over; how many were kept.
        """

    def forget_embedders(self, tenant: str, keep: Fingerprint) -> int:
        """Remove the tenant's pieces of every other embedder, in small transactions; how many."""


class Tiers(Protocol):
    """Less room for what is old. Reads are the same from every tier, only vectors are coarser.

    Nothing here moves the change feed: signs of vectors never change, and an index may keep the
    finer ones it has. What is written anew (text, vectors) is hot again by itself.
    """

    def pack(
        self,
        reach: Reach,
        tier: Tier,
        *,
        before: datetime,
        codec: str = "zstd",
        limit: int = 10_000,
    ) -> Packed:
        """Move memories to a tier that happened, were made and last used before that time.

        Those that are not active go at once, whatever their age; those in quarantine stay. At most
        `limit`, in small transactions; no memories in the answer means that none are left.
        """

    def unpack(self, reach: Reach, *, limit: int = 10_000) -> Packed:
        """Make memories hot again. Their texts come back; of pieces that lost bits the memories
        wait to be embedded anew (`unembedded`), and are found by the coarse ones meanwhile."""

    def packable(self, reach: Reach, tier: Tier, *, before: datetime) -> int:
        """How many memories `pack` would move to that tier."""

    def renew_dictionaries(self, tenant: str) -> int:
        """Repack what was packed with snippets of memories that are erased; how many texts.

        `write` does so when it removes memories; this goes on with what a crash left.
        """

    def uses(self, tenant: str) -> list[TierUse]:
        """What each tier of a tenant holds; tiers without a memory are left out."""


class Upkeep(Protocol):
    """Care of the whole store."""

    @property
    def identity(self) -> str:
        """A name that is unique to this store and changes when it is restored."""

    @property
    def kind(self) -> str:
        """What it is: "sqlite", "postgresql"."""

    @property
    def schema(self) -> int:
        """The number of the newest migration that it has seen."""

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Where bytes of what is removed may stay, and until when, for a person to read."""

    def sign(self, data: bytes) -> bytes:
        """A signature that only this store, and a store restored from its backups, can make."""

    def tenants(self) -> list[str]:
        """Every tenant that ever wrote, for care of the whole store."""

    def alone(self, name: str) -> AbstractContextManager[bool]:
        """Whether this caller alone, of all processes, is now at what `name` stands for.

        Never waits. The death of the process that was alone ends it.
        """

    def bulk(self) -> AbstractContextManager[None]:
        """Many writes are coming: what can be built after them is. Reads stay right meanwhile."""

    def backup(self, target: Path, progress: Progress | None = None) -> None:
        """A consistent copy, made while others read and write; appears whole or not at all."""

    def doctor(self, *, repair: bool, fingerprint: Fingerprint | None) -> list[Finding]:
        """Check file, digests, text index and vectors against the rows; mend what can be mended."""

    def compact(self) -> None:
        """Rewrite the store: no byte of what was removed stays, free space goes back.

        Removal itself erases rows, words, vectors and the log; only this also clears what the
        database left unused between live rows. Writers wait meanwhile.
        """

    def tend(self, progress: Progress | None = None) -> Mapping[str, int]:
        """Keep the store in shape, in small transactions while others read and write.

        No reader, follower or answer notices. `progress` is called between transactions; an error
        it raises ends the work there, harmlessly. What was done, in counts; nothing if another
        process is at it.
        """

    def stats(self, tenant: str, fingerprint: Fingerprint | None = None) -> StoreStats:
        """Counts and sizes; `pending` are those that embedder (else the newest) has not seen."""


class Store(Protocol):
    """What a backend is: the sum of these parts."""

    archive: Archive
    links: Links
    documents: Documents
    knowledge: Knowledge
    recall: RecallSource
    vectors: Vectors
    tiers: Tiers
    upkeep: Upkeep

    def close(self) -> None:
        """Release everything; safe to call twice."""


# Called with the store that a restore replaces (None if it cannot be read), gives what is to be
# done to the restored one before it takes its place; that tells whether it removed anything.
Inherit: TypeAlias = Callable[[Store | None], Callable[[Store], bool]]

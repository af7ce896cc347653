"""Writing memories: records in, one transaction out, with or without an embedder at hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from remanence.errors import Conflict, DeadlineExceeded, EmbedderError, NotFound, StoreError
from remanence.memories import lineage
from remanence.memories.embedding import embedded, recognised
from remanence.memories.merges import bring_back, part
from remanence.memories.removal import remove
from remanence.model.clock import Clock
from remanence.model.knowledge import Learnt
from remanence.model.memory import Association, MemoryRecord, State
from remanence.model.ports.embedder import Embedder
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.query import ALL
from remanence.model.scope import Reach
from remanence.model.validation import text_of
from remanence.model.write import Action, Batch, Insert, Pieces, Receipt, Revise, Written

CHUNK = 256
INSTALMENT = 16
MAX_RECEIPT = 256
FORGOT = "forgot"
TRIES = 5
RACES = 50  # others that remove what is being changed, one after another
_SPOKEN = {"text", "speaker"}  # what vectors are made of
# What a memory's knowledge is made of.
_TELLING = _SPOKEN | {"role", "kind", "happened_at", "trust", "agent_id", "session_id"}

Learn: TypeAlias = Callable[[Sequence[MemoryRecord]], Sequence[Learnt]]


def unmoved(record: MemoryRecord) -> MemoryRecord:
    """For writers that take every memory to be where its time says."""
    return record


def nothing_learnt(records: Sequence[MemoryRecord]) -> Sequence[Learnt]:
    """For writers that only store."""
    return ()


class Writer:
    """Turns records and changes into batches. An embedder that fails delays vectors, not writes.

    What was summarised from a memory that changes or goes is archived or erased along with it.
    What `learn` finds in new memories and new texts is stored in the same transaction; both are
    read with the times that `local` gives them, on the clocks of whoever they belong to.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        learn: Learn = nothing_learnt,
        local: Callable[[MemoryRecord], MemoryRecord] = unmoved,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._learn = learn
        self._local = local
        self._settled: set[str] = set()  # tenants whose every memory has vectors

    def insert(
        self, tenant: str, records: Sequence[MemoryRecord], request: object, key: str | None
    ) -> list[MemoryRecord]:
        """Store new records together. With a key, asking again gives the first answer again."""
        pieces, placed = self._pieces(records), [self._local(record) for record in records]
        actions = [
            Insert(record=record, pieces=made) for record, made in zip(placed, pieces, strict=True)
        ]
        receipt = None if key is None else _receipt(key, request)
        written = self._write(tenant, actions, receipt, learnt=self._learn(placed))
        self._pay_some(tenant)
        return written

    def change_all(
        self,
        records: Sequence[MemoryRecord],
        changes: Mapping[str, Any],
        *,
        verb: str,
        actor: str | None = None,
        reason: str | None = None,
        unchanged: bool = False,
        leave_summaries: bool = False,
    ) -> list[MemoryRecord]:
        """Give several records the same new values (not a new text), together; those changed.

        Those that have gone since they were read are passed over; with `unchanged`, also those
        that somebody changed. With `leave_summaries`, what was made of them stays.
        """
        now = self._clock.now()

        def revise(record: MemoryRecord) -> Revise:
            expected = record.version if unchanged else None
            return Revise(
                id=record.id,
                changes=changes,
                verb=verb,
                at=now,
                actor=actor,
                reason=reason,
                expected=expected,
            )

        leave = _All() if leave_summaries else ()
        return self._of_those_there(records, revise, leave, versions=unchanged)

    def put_away(
        self,
        records: Sequence[MemoryRecord],
        *,
        alone: bool,
        actor: str | None = None,
        reason: str | None = None,
    ) -> list[MemoryRecord]:
        """Archive records with what was made of them; what came back, none unless `alone`.

        With `alone`, what was merged into them comes back unless it is among them: first, so that
        nothing is hidden by what is cut off, and again after, if it was merged meanwhile.
        """
        by: dict[str, Any] = {"verb": FORGOT, "actor": actor, "reason": reason}
        back = bring_back(self._store, self._clock, records) if alone else []
        resting = [record for record in records if record.state == State.ARCHIVED]
        standing = [record for record in records if record.state != State.ARCHIVED]
        self.change_all(standing, {"state": State.ARCHIVED}, **by)
        part(self._store, self._clock, resting, **by)
        self.outdate(resting)
        return [*back, *(bring_back(self._store, self._clock, records) if alone else [])]

    def outdate(self, records: Sequence[MemoryRecord]) -> None:
        """Archive the summaries that still tell of these records, which are themselves left alone.

        For records that are archived already, and whose summaries were left standing then.
        """
        if records:
            ids = [record.id for record in records]
            self._outdate(records[0].tenant, ids, {*ids}, ())

    def revise_all(
        self,
        changed: Sequence[tuple[MemoryRecord, Mapping[str, Any]]],
        *,
        verb: str,
        actor: str | None = None,
        reason: str | None = None,
        leave: Container[str] = (),
        links: Sequence[Association] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
    ) -> list[MemoryRecord]:
        """Give several records of a tenant new values, to each its own, together.

        Summaries in `leave` stay what they are, though what they were made of changes. `links` come
        and `unlinked` ones go in the same transaction.
        """
        if not changed:
            return []
        after = [replace(record, **new) for record, new in changed]
        spoken = [one for one, (_, new) in zip(after, changed, strict=True) if new.keys() & _SPOKEN]
        made = dict(zip((r.id for r in spoken), self._pieces(spoken), strict=True))
        now = self._clock.now()
        actions = [
            Revise(
                id=record.id,
                changes=new,
                verb=verb,
                at=now,
                actor=actor,
                reason=reason,
                pieces=made.get(record.id),
                expected=record.version,
                zone=self._local(one).happened_at.tzinfo,
            )
            for one, (record, new) in zip(after, changed, strict=True)
        ]
        tenant, learnt = after[0].tenant, self._relearnt(actions, after)
        written = self._write(
            tenant, actions, links=links, leave=leave, learnt=learnt, unlinked=unlinked
        )
        self._pay_some(tenant)
        return written

    def learn_again(self, records: Sequence[MemoryRecord], learn: Learn) -> int:
        """Read records anew that have not changed; how many statements were found in them."""
        versions = {record.id: record.version for record in records}
        placed = [self._local(record) for record in records]
        read = [replace(one, afresh=True, version=versions[one.memory]) for one in learn(placed)]
        learnt = self._recognised(records[0].tenant, read) if read else []
        if learnt:
            self._batch(records[0].tenant, [], learnt=learnt)
        return sum(len(one.claims) for one in learnt)

    def _relearnt(
        self, actions: Sequence[Revise], after: Sequence[MemoryRecord]
    ) -> Sequence[Learnt]:
        """What memories say after these changes, though it be nothing; only of those that changed
        what they say."""
        told = [
            replace(self._local(record), updated_at=action.at, version=record.version + 1)
            for action, record in zip(actions, after, strict=True)
            if action.changes.keys() & _TELLING
        ]
        if not told:
            return ()
        learnt = {one.memory: one for one in self._learn(told)}
        read = [learnt.get(one.id, Learnt(memory=one.id)) for one in told]
        return self._recognised(told[0].tenant, read)

    def _recognised(self, tenant: str, learnt: Sequence[Learnt]) -> list[Learnt]:
        """With the ids of claims that the same memories have made already."""
        reach = Reach(tenant=tenant, all_users=True)
        ids = [one.memory for one in learnt]
        return recognised(learnt, self._store.knowledge.claims(reach, memories=ids, limit=ALL))

    def remove(self, records: Sequence[MemoryRecord]) -> None:
        """Erase records and everything stored with them, together; what has gone is passed over."""
        remove(self._store, self._clock, records)

    def insertion(self, record: MemoryRecord) -> Insert:
        """What `derive` stores of a new summary, embedded if that can be done now."""
        return Insert(record=record, pieces=self._pieces([record])[0])

    def derive(
        self,
        new: Insert,
        sources: Sequence[MemoryRecord],
        key: str,
        beside: frozenset[str] | None = None,
    ) -> Written:
        """Store a summary with links to what it was made of; once for each key.

        `NotFound` if a source is gone; `Conflict` if what the key wrote was erased since, or if
        one of the sources has a summary that is not among those known `beside` this one.
        """
        record = new.record
        receipt, links = _receipt(key, key), _links(record, sources)
        written = self._batch(record.tenant, [new], receipt, links, beside=beside)
        self._pay_some(record.tenant)
        return written

    def rederive(
        self, record: MemoryRecord, changes: Mapping[str, Any], sources: Sequence[MemoryRecord]
    ) -> MemoryRecord:
        """Give a summary new values, and links to what it is also made of now."""
        after = replace(record, **changes)
        now = self._clock.now()
        change = Revise(
            id=record.id,
            changes=changes,
            verb="summarised",
            at=now,
            pieces=self._pieces([after])[0] if changes.keys() & _SPOKEN else None,
            expected=record.version,
        )
        return self._write(record.tenant, [change], links=_links(record, sources))[0]

    def embed_missing(self, tenant: str, progress: Progress | None = None) -> int:
        """Embed what has no vectors of the present embedder yet; stop and go on at any time."""
        fingerprint = self._embedder.fingerprint
        total = self._store.vectors.count_unembedded(tenant, fingerprint)
        done = 0
        for step in self._missing(tenant):
            done += step
            if progress:
                progress(min(done, total), total)
        self._settled.add(tenant)
        return done

    def _missing(self, tenant: str) -> Iterator[int]:
        while found := self._store.vectors.unembedded(tenant, self._embedder.fingerprint, CHUNK):
            yield self._embed_stored(tenant, found)

    def _embed_stored(self, tenant: str, found: Sequence[tuple[int, MemoryRecord]]) -> int:
        made = embedded([record for _, record in found], self._embedder)
        self._store.vectors.put(
            tenant,
            [(key, record.text, pieces) for (key, record), pieces in zip(found, made, strict=True)],
        )
        return len(found)

    def _pieces(self, records: Sequence[MemoryRecord]) -> Sequence[Pieces | None]:
        try:
            return embedded(records, self._embedder)
        except EmbedderError:
            self._settled -= {record.tenant for record in records}
            return [None] * len(records)

    def _pay_some(self, tenant: str) -> None:
        """Once the embedder works again, catch up a little with every write, which is done."""
        if tenant in self._settled:
            return
        with suppress(EmbedderError, StoreError, DeadlineExceeded):
            found = self._store.vectors.unembedded(tenant, self._embedder.fingerprint, INSTALMENT)
            if not found or self._embed_stored(tenant, found) < INSTALMENT:
                self._settled.add(tenant)

    def _of_those_there(
        self,
        records: Sequence[MemoryRecord],
        action: Callable[[MemoryRecord], Action],
        leave: Container[str] = (),
        *,
        versions: bool = False,
    ) -> list[MemoryRecord]:
        """Do something to each record that is (with `versions`, unchanged) when it is done."""
        for _ in range(RACES):
            if not records:
                return []
            try:
                return self._write(records[0].tenant, list(map(action, records)), leave=leave)
            except (NotFound, Conflict):
                records = self._still(records, versions)
        raise Conflict("What is to be changed keeps changing; try again.")

    def _still(self, records: Sequence[MemoryRecord], versions: bool) -> list[MemoryRecord]:
        found = self._store.archive.get(records[0].tenant, [record.id for record in records])
        now = {record.id: record.version for record in found}
        return [
            record
            for record in records
            if record.id in now and (not versions or now[record.id] == record.version)
        ]

    def _write(
        self,
        tenant: str,
        actions: Sequence[Action],
        receipt: Receipt | None = None,
        links: Sequence[Association] = (),
        leave: Container[str] = (),
        learnt: Sequence[Learnt] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
    ) -> list[MemoryRecord]:
        """Do the actions and what follows from them for summaries; the actions' own records."""
        for last in range(TRIES):
            also = self._outdated(tenant, _changed(actions), _revised(actions), leave)
            try:
                written = self._batch(tenant, [*actions, *also], receipt, links, learnt, unlinked)
                break
            except NotFound:  # perhaps a summary that another process has just removed
                if not also or last == TRIES - 1:
                    raise
        self._outdate(tenant, _changed(actions), _revised(actions), leave)
        return list(written.records)[: len(actions)]

    def _outdate(
        self, tenant: str, changed: Sequence[str], handled: set[str], leave: Container[str]
    ) -> None:
        """Archive what still tells of what was changed, whoever wrote it at that very moment."""
        for _ in range(RACES):
            missed = self._outdated(tenant, changed, handled, leave)
            if not missed:
                return
            with suppress(NotFound):  # one of them has gone: look again
                self._batch(tenant, missed)

    def _outdated(
        self, tenant: str, changed: Sequence[str], handled: set[str], leave: Container[str]
    ) -> list[Action]:
        now = self._clock.now()
        found = lineage.derived(self._store, tenant, changed) if changed else []
        return [
            Revise(id=r.id, changes={"state": State.ARCHIVED}, verb="outdated", at=now)
            for r in lineage.standing(found)
            if r.id not in handled and r.id not in leave
        ]

    def _batch(
        self,
        tenant: str,
        actions: Sequence[Action],
        receipt: Receipt | None = None,
        links: Sequence[Association] = (),
        learnt: Sequence[Learnt] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
        beside: frozenset[str] | None = None,
    ) -> Written:
        return self._store.archive.write(
            Batch(
                tenant=tenant,
                at=self._clock.now(),
                actions=tuple(actions),
                receipt=receipt,
                links=tuple(links),
                learnt=tuple(learnt),
                unlinked=tuple(unlinked),
                beside=beside,
            )
        )


class _All:
    """A container that holds whatever it is asked for."""

    def __contains__(self, item: object) -> bool:
        return True


def _changed(actions: Sequence[Action]) -> list[str]:
    return [a.id for a in actions if isinstance(a, Revise) and lineage.shows(a.changes)]


def _revised(actions: Sequence[Action]) -> set[str]:
    return {action.id for action in actions if isinstance(action, Revise)}


def _links(record: MemoryRecord, sources: Sequence[MemoryRecord]) -> list[Association]:
    return [
        Association(
            source=record.id,
            target=source.id,
            type=lineage.SUMMARISES,
            strength=1.0,
            created_at=record.updated_at,
        )
        for source in sources
    ]


def _receipt(key: str, request: object) -> Receipt:
    canonical = json.dumps(request, sort_keys=True, default=_text, ensure_ascii=False)
    digest = hashlib.blake2b(canonical.encode(), digest_size=16).digest()
    return Receipt(key=text_of("idempotency_key", key, MAX_RECEIPT), digest=digest)


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)

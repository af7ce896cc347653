"""The audit log: each tenant's deeds in a chain of hashes that shows whatever was changed later."""

from __future__ import annotations

import builtins
import hmac
import json
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from remanence.errors import Conflict, InvalidInput, StoreCorrupt, StoreError
from remanence.model.clock import Clock
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.ports.store import Store
from remanence.model.query import check_limit, check_offset
from remanence.model.validation import json_of, moment_of
from remanence.server.access import chain
from remanence.server.access.caller import KEYS, Caller, request_id

EVERY_S = 60.0  # refusals of one kind are written down no more often than this
LONGEST = 1_024  # characters of a text that are written down
MOST = 100  # items of a list that are written down
CUT = "audit.cut"
_TRIES = 200  # somebody else's entry goes before on each; a chain that is whole never needs as many


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """Entries, the newest first."""

    entries: tuple[chain.AuditEntry, ...]


@dataclass(slots=True)
class _Refusals:
    count: int = 0
    told_at: float | None = None
    threads: list[threading.Thread] = field(default_factory=list)


class Audit:
    """The logs of a store. Thread-safe; any number of processes append to one chain."""

    def __init__(
        self, store: Store, clock: Clock, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._clock = clock
        self._monotonic = monotonic
        self._appending = threading.Lock()
        self._counting = threading.Lock()
        self._refusals: dict[str, _Refusals] = {}

    def record(self, caller: Caller, deed: str, about: Mapping[str, Any]) -> None:
        """Write down what a caller does, in the log of their tenant."""
        self.append(caller.tenant, caller.name, deed, about)

    def append(
        self, tenant: str, who: str, deed: str, about: Mapping[str, Any], *with_it: Put
    ) -> chain.AuditEntry:
        """Add an entry to the tenant's log, and in one transaction `with_it` what it tells of.

        Once it is back, the entry is durable.
        """
        told = {name: _brief(value) for name, value in about.items()}
        plain, request = json_of("about", told), request_id.get()
        with self._appending:
            for _ in range(_TRIES):
                head, sealed = self._ends(tenant)
                if sealed is not None and not sealed.same_end(head):
                    break
                entry = chain.entry_of(
                    tenant,
                    seq=head.seq + 1,
                    at=moment_of("at", self._clock.now()),
                    who=who,
                    deed=deed,
                    about=plain,
                    request_id=request,
                    previous=head.hash,
                )
                with suppress(Conflict):
                    self._store.documents.put(tenant, [*chain.puts(entry, head, sealed), *with_it])
                    return entry
        raise StoreCorrupt(
            f"The audit log of {tenant!r} cannot be continued; look at it with "
            "`rem audit --verify`."
        )

    def refused(self, reason: str) -> None:
        """Count a request that was not let in; it never waits for the store and never fails."""
        with self._counting:
            refusals = self._refusals.setdefault(reason, _Refusals())
            refusals.count += 1
            now = self._monotonic()
            if refusals.told_at is not None and now - refusals.told_at < EVERY_S:
                return
            count, refusals.count, refusals.told_at = refusals.count, 0, now
            thread = threading.Thread(target=self._tell, args=(reason, count), daemon=True)
            refusals.threads = [one for one in refusals.threads if one.is_alive()] + [thread]
            thread.start()

    def close(self) -> None:
        """Write down the refusals that were only counted so far."""
        with self._counting:
            ended, self._refusals = self._refusals, {}
        for reason, refusals in ended.items():
            for thread in refusals.threads:
                thread.join()
            if refusals.count:
                self._tell(reason, refusals.count)

    def list(
        self, tenant: str, limit: int = 100, offset: int = 0
    ) -> builtins.list[chain.AuditEntry]:
        """The tenant's entries, the latest first."""
        check_limit(limit)
        check_offset(offset)
        last, before = self._head(tenant).seq - offset, start_of(self._store, tenant).since - 1
        wanted = [chain.place(seq) for seq in range(last, max(before, last - limit), -1)]
        return [chain.entry_in(one) for one in self._store.documents.get(tenant, wanted)]

    def anchor(self, tenant: str) -> chain.Anchor:
        """Where the log ends now, for `verify` to hold against it later."""
        head = self._head(tenant)
        return chain.Anchor(tenant=tenant, seq=head.seq, hash=head.hash, at=self._clock.now())

    def verify(self, tenant: str, against: chain.Anchor | None = None) -> chain.AuditCheck:
        """Walk the whole chain, and say where it is broken first.

        It must end where its seal says and, with an anchor, lead through that. `InvalidInput` if
        the log is whole, but was cut after the anchor was made.
        """
        if against is not None and against.tenant != tenant:
            raise InvalidInput(
                f"The anchor is of the log of {against.tenant!r}, not of {tenant!r}."
            )
        while True:
            try:
                start = start_of(self._store, tenant)
                checked = self._verified(tenant, start, against)
                if checked.intact or start_of(self._store, tenant) == start:
                    break
            except (StoreCorrupt, InvalidInput):
                return chain.AuditCheck(tenant=tenant, entries=0, intact=False, first_bad=0)
        if checked.intact and against is not None:
            check_reaches(start, against.seq)
        return checked

    def cut(self, tenant: str, before: datetime, who: str) -> Cut:
        """Erase the oldest entries, up to the first one made at `before` or later.

        That it was done is an entry itself, durable together with a signed statement of where the
        log begins now, before any entry goes. If that is interrupted, the next cut goes on with it.
        A log that is broken is not cut (`StoreCorrupt`): the cut would hide it.
        """
        limit = moment_of("before", before)
        with self._store.upkeep.alone(f"cut of {tenant}") as mine:
            if not mine:
                raise Conflict(f"The audit log of {tenant!r} is being cut; try again later.")
            if not self.verify(tenant).intact:
                raise StoreCorrupt(
                    f"The audit log of {tenant!r} is broken, and a cut would hide that; look at "
                    "it with `rem audit --verify`."
                )
            since = self._begun_at(tenant, limit, who)
            removed = discard_before(self._store, tenant, since)
        return Cut(tenant=tenant, since=since, removed=removed)

    def _begun_at(self, tenant: str, limit: datetime, who: str) -> int:
        """The number that the log begins with, once it begins with the first entry to be kept."""
        old, head, at = start_of(self._store, tenant), self._head(tenant), self._clock.now()
        since, previous = old.since, old.previous
        for seq, entry in chain.Walk(self._store.documents, tenant, old, head).entries():
            if entry is None or entry.at >= limit:
                break
            since, previous = seq + 1, entry.hash
        if since > old.since:
            new = replace(old, since=since, previous=previous, at=at.isoformat(), who=who)
            told = {"since": since, "entries": since - old.since}
            self.append(tenant, who, CUT, told, statement(self._store, tenant, new, at))
        return since

    def _verified(
        self, tenant: str, start: chain.Start, against: chain.Anchor | None
    ) -> chain.AuditCheck:
        head, sealed = self._ends(tenant)
        known = [(one.seq, one.hash) for one in (against, sealed) if one is not None]
        bad = chain.Walk(self._store.documents, tenant, start, head).first_bad(known)
        entries = max(head.seq - start.since + 1, 0)
        return chain.AuditCheck(
            tenant=tenant, entries=entries, intact=bad is None, first_bad=bad, since=start.since
        )

    def _ends(self, tenant: str) -> tuple[chain.ChainHead, chain.ChainHead | None]:
        """Where the chain ends, and where its seal says it does; seen at one moment."""
        for _ in range(_TRIES):
            head, sealed = self._head(tenant), self._sealed(tenant)
            if sealed is None or sealed.same_end(head) or self._head(tenant) == head:
                break
        return head, sealed

    def _sealed(self, tenant: str) -> chain.ChainHead | None:
        """None where nothing was appended since logs are sealed."""
        found = self._store.documents.get(tenant, [chain.SEAL])
        return chain.head_in(tenant, found[0]) if found else None

    def _head(self, tenant: str) -> chain.ChainHead:
        found = self._store.documents.get(tenant, [chain.place(chain.HEAD)])
        return chain.head_in(tenant, found[0]) if found else chain.ChainHead()

    def _tell(self, reason: str, count: int) -> None:
        with suppress(StoreError):
            self.append(KEYS, "server", "refused", {"reason": reason, "count": count})


def _brief(value: Any) -> Any:
    """What is said of a value: no text without end, and no list."""
    if isinstance(value, str):
        return value[:LONGEST]
    if isinstance(value, list | tuple) and len(value) > MOST:
        return {"first": [_brief(one) for one in value[:MOST]], "count": len(value)}
    if isinstance(value, list | tuple):
        return [_brief(one) for one in value]
    return value


BATCH = 500
# The store signs receipts of erasures too: what is signed says which of them it is.
_WHAT = "audit cut"
_STATEMENT = Address(shelf=Shelf.SEAL, name=_WHAT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What a cut did: the number that the log begins with now, and how many entries went."""

    tenant: str
    since: int
    removed: int


def start_of(store: Store, tenant: str) -> chain.Start:
    """Where the log begins; `StoreCorrupt` if that is not said by this store."""
    found = store.documents.get(tenant, [_STATEMENT])
    if not found:
        return chain.Start()
    start = _start_in(tenant, found[0])
    wanted = _signature(store, tenant, start)
    told = str(found[0].value.get("signature"))
    if not hmac.compare_digest(wanted.encode(), told.encode()):
        raise _damaged(tenant)
    return start


def statement(store: Store, tenant: str, start: chain.Start, at: datetime) -> Put:
    """What puts another beginning in the place of the one with that version."""
    told = start.told() | {"signature": _signature(store, tenant, start)}
    return Put(address=_STATEMENT, value=told, at=at, expected=start.version)


def discard_before(store: Store, tenant: str, since: int) -> int:
    """Erase what stands before the beginning, the oldest first, in small transactions; how many.

    So what a crash left lies together right before the beginning, and is found by halving.
    """
    oldest = bisect_left(range(since), True, lo=1, key=lambda seq: _stands(store, tenant, seq))
    for at in range(oldest, since, BATCH):
        batch = range(at, min(at + BATCH, since))
        store.documents.put(tenant, [Discard(address=chain.place(seq)) for seq in batch])
    return since - oldest


def _stands(store: Store, tenant: str, seq: int) -> bool:
    try:
        return bool(store.documents.get(tenant, [chain.place(seq)]))
    except StoreCorrupt:
        return True


def _start_in(tenant: str, document: Document) -> chain.Start:
    since, *texts = (document.value.get(name) for name in ("since", "previous", "at", "who"))
    if not isinstance(since, int) or since < 1 or not all(isinstance(one, str) for one in texts):
        raise _damaged(tenant)
    previous, at, who = map(str, texts)
    return chain.Start(since=since, previous=previous, at=at, who=who, version=document.version)


def _signature(store: Store, tenant: str, start: chain.Start) -> str:
    told = start.told() | {"tenant": tenant, "what": _WHAT}
    return store.upkeep.sign(json.dumps(told, sort_keys=True).encode()).hex()


def _damaged(tenant: str) -> StoreCorrupt:
    return StoreCorrupt(f"It cannot be told where the audit log of {tenant!r} begins.")


def check_reaches(start: chain.Start, seq: int) -> None:
    """Refuse to hold a log against an anchor of an entry that was cut away since."""
    if seq < start.since - 1:
        raise InvalidInput(
            f"The anchor is of entry {seq}, and the log was cut on {start.at[:10]} by {start.who}: "
            f"it begins with entry {start.since} and is whole from there on, but nothing in it can "
            "be held against this anchor any more. Use one that was written later."
        )

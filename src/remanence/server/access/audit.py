"""The audit log: each tenant's deeds in a chain of hashes that shows whatever was changed later."""

from __future__ import annotations

import builtins
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import datetime
from hashlib import sha256
from typing import Any

from remanence.clock import Clock
from remanence.errors import Conflict, InvalidInput, StoreCorrupt, StoreError
from remanence.model.accept import json_of, moment_of
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.query import check_limit
from remanence.ports.store import Documents
from remanence.server.access.caller import Caller
from remanence.server.access.names import KEYS
from remanence.server.access.request import request_id

EVERY_S = 60.0  # refusals of one kind are written down no more often than this
LONGEST = 1_024  # characters of a text that are written down
MOST = 100  # items of a list that are written down
FIRST = "0" * 64  # what the first entry follows
HEAD = "head"
_PAGE = 500
# A second place that says where the chain ends, apart from the log itself.
_SEAL = Address(shelf=Shelf.SEAL, name="audit")
_TRIES = 200  # somebody else's entry goes before on each; a chain that is whole never needs as many


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One deed. `hash` covers all the rest, the tenant, and by `previous` every entry before."""

    seq: int
    at: datetime
    who: str
    deed: str
    about: Mapping[str, Any]
    request_id: str
    previous: str
    hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Whether a log is whole. `first_bad` is the number of the first entry that is changed,
    missing or too many; 0 if it cannot be read how many there should be."""

    tenant: str
    entries: int
    intact: bool
    first_bad: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Where a log ended once. Kept outside the database, it shows whatever is changed before it."""

    tenant: str
    seq: int
    hash: str
    at: datetime


@dataclass(frozen=True, slots=True)
class _Head:
    """Where the chain ends; `version` is that of its document."""

    seq: int = 0
    hash: str = FIRST
    version: int = 0

    def same_end(self, other: _Head) -> bool:
        """Whether both say that the chain ends in the same entry."""
        return (self.seq, self.hash) == (other.seq, other.hash)


@dataclass(slots=True)
class _Refusals:
    count: int = 0
    told_at: float | None = None
    threads: list[threading.Thread] = field(default_factory=list)


class Audit:
    """The logs of a store. Thread-safe; any number of processes append to one chain."""

    def __init__(
        self,
        store: Documents,
        clock: Clock,
        *,
        monotonic: Callable[[], float] = time.monotonic,
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

    def append(self, tenant: str, who: str, deed: str, about: Mapping[str, Any]) -> Entry:
        """Add an entry to the tenant's log; once it is back, the entry is durable."""
        told = {name: _brief(value) for name, value in about.items()}
        plain, request = json_of("about", told), request_id.get()
        with self._appending:
            for _ in range(_TRIES):
                head, sealed = self._ends(tenant)
                if sealed is not None and not sealed.same_end(head):
                    break
                entry = _entry(
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
                    self._store.put(tenant, _puts(entry, head, sealed))
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

    def list(self, tenant: str, limit: int = 100, offset: int = 0) -> builtins.list[Entry]:
        """The tenant's entries, the latest first."""
        check_limit(limit)
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise InvalidInput(f"offset must be 0 or more; got {offset!r}.")
        last = self._head(tenant).seq - offset
        wanted = [_place(seq) for seq in range(last, max(0, last - limit), -1)]
        return [_read(one) for one in self._store.documents(tenant, wanted)]

    def anchor(self, tenant: str) -> Anchor:
        """Where the log ends now, for `verify` to hold against it later."""
        head = self._head(tenant)
        return Anchor(tenant=tenant, seq=head.seq, hash=head.hash, at=self._clock.now())

    def verify(self, tenant: str, against: Anchor | None = None) -> Verified:
        """Walk the whole chain, and say where it is broken first.

        It must end where its seal says and, with an anchor, lead through that.
        """
        if against is not None and against.tenant != tenant:
            raise InvalidInput(
                f"The anchor is of the log of {against.tenant!r}, not of {tenant!r}."
            )
        try:
            head, sealed = self._ends(tenant)
        except (StoreCorrupt, InvalidInput):
            return Verified(tenant=tenant, entries=0, intact=False, first_bad=0)
        known = [] if against is None else [(against.seq, against.hash)]
        if sealed is not None:
            known.append((sealed.seq, sealed.hash))
        bad = self._first_bad(tenant, head, known)
        return Verified(tenant=tenant, entries=head.seq, intact=bad is None, first_bad=bad)

    def _ends(self, tenant: str) -> tuple[_Head, _Head | None]:
        """Where the chain ends, and where its seal says it does; seen at one moment."""
        for _ in range(_TRIES):
            head, sealed = self._head(tenant), self._sealed(tenant)
            if sealed is None or sealed.same_end(head) or self._head(tenant) == head:
                break
        return head, sealed

    def _sealed(self, tenant: str) -> _Head | None:
        """None where nothing was appended since logs are sealed."""
        found = self._store.documents(tenant, [_SEAL])
        return _head_in(tenant, found[0]) if found else None

    def _first_bad(
        self, tenant: str, head: _Head, known: Sequence[tuple[int, str]] = ()
    ) -> int | None:
        """The first entry that is wrong; `known` are hashes that entries of these numbers have."""
        bad = self._first_broken(tenant, head, dict(known))
        missing = [seq for seq, _ in known if seq > head.seq]
        return head.seq + 1 if bad is None and missing else bad

    def _first_broken(self, tenant: str, head: _Head, known: Mapping[int, str]) -> int | None:
        last = FIRST
        for start in range(1, head.seq + 1, _PAGE):
            page = range(start, min(start + _PAGE, head.seq + 1))
            found = self._page(tenant, page)
            for seq in page:
                if not _follows(found.get(seq), tenant, seq, last):
                    return seq
                last = found[seq].hash
                if known.get(seq, last) != last:
                    return seq
        if last != head.hash:
            return head.seq
        return head.seq + 1 if self._goes_on(tenant, head) else None

    def _goes_on(self, tenant: str, head: _Head) -> bool:
        """Whether there are entries that the head does not know, as after it was put back."""
        try:
            standing = self._store.documents(tenant, [_place(HEAD), _place(head.seq + 1)])
        except StoreCorrupt:
            return True
        beyond = any(one.address == _place(head.seq + 1) for one in standing)
        versions = [one.version for one in standing if one.address == _place(HEAD)]
        return beyond and versions == ([head.version] if head.version else [])

    def _page(self, tenant: str, page: range) -> dict[int, Entry]:
        """The entries that can be read; when one is damaged, the others one by one."""
        try:
            standing = self._store.documents(tenant, [_place(seq) for seq in page])
            return {entry.seq: entry for entry in map(_read, standing)}
        except (StoreCorrupt, InvalidInput):
            if len(page) == 1:
                return {}
            half = len(page) // 2
            return self._page(tenant, page[:half]) | self._page(tenant, page[half:])

    def _head(self, tenant: str) -> _Head:
        found = self._store.documents(tenant, [_place(HEAD)])
        return _head_in(tenant, found[0]) if found else _Head()

    def _tell(self, reason: str, count: int) -> None:
        with suppress(StoreError):
            self.append(KEYS, "server", "refused", {"reason": reason, "count": count})


def _head_in(tenant: str, document: Document) -> _Head:
    seq, hash = document.value.get("seq"), document.value.get("hash")
    if not isinstance(seq, int) or not isinstance(hash, str):
        raise StoreCorrupt(f"The head of the audit log of {tenant!r} is damaged.")
    return _Head(seq, hash, document.version)


def _entry(tenant: str, **told: Any) -> Entry:
    entry = Entry(**told)
    return Entry(**told, hash=_hash(tenant, entry))


def _hash(tenant: str, entry: Entry) -> str:
    told = {name: value for name, value in _plain(entry).items() if name != "hash"}
    text = json.dumps(told | {"tenant": tenant}, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _plain(entry: Entry) -> dict[str, Any]:
    values = {each.name: getattr(entry, each.name) for each in fields(entry)}
    return values | {"at": entry.at.isoformat(), "about": dict(entry.about)}


def _read(document: Document) -> Entry:
    told = dict(document.value)
    try:
        return Entry(**told | {"at": moment_of("at", told["at"])})
    except (KeyError, TypeError) as error:
        raise StoreCorrupt(f"The audit entry {document.address.name} is damaged.") from error


def _puts(entry: Entry, head: _Head, sealed: _Head | None) -> list[Put]:
    ends = {"seq": entry.seq, "hash": entry.hash}
    return [
        Put(address=_place(entry.seq), value=_plain(entry), at=entry.at, expected=0),
        Put(address=_place(HEAD), value=ends, at=entry.at, expected=head.version),
        Put(address=_SEAL, value=ends, at=entry.at, expected=sealed.version if sealed else 0),
    ]


def _follows(entry: Entry | None, tenant: str, seq: int, previous: str) -> bool:
    if entry is None or (entry.seq, entry.previous) != (seq, previous):
        return False
    return entry.hash == _hash(tenant, entry)


def _place(name: int | str) -> Address:
    return Address(shelf=Shelf.AUDIT, name=f"{name:012}" if isinstance(name, int) else name)


def _brief(value: Any) -> Any:
    """What is said of a value: no text without end, and no list."""
    if isinstance(value, str):
        return value[:LONGEST]
    if isinstance(value, list | tuple) and len(value) > MOST:
        return {"first": [_brief(one) for one in value[:MOST]], "count": len(value)}
    if isinstance(value, list | tuple):
        return [_brief(one) for one in value]
    return value

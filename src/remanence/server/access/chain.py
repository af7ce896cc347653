"""The chain that an audit log is: its entries, its ends, and a walk along it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import sha256
from typing import Any

from remanence.errors import InvalidInput, StoreCorrupt
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.ports.store import Documents
from remanence.model.validation import moment_of

FIRST = "0" * 64  # what the first entry follows
HEAD = "head"
# A second place that says where the chain ends, apart from the log itself.
SEAL = Address(shelf=Shelf.SEAL, name="audit")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
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
class AuditCheck:
    """Whether a log is whole. `first_bad` is the number of the first entry that is changed,
    missing or too many; 0 if it cannot be read where the log begins or ends. `since` is the number
    that it begins with: above 1 once older entries were cut away."""

    tenant: str
    entries: int
    intact: bool
    first_bad: int | None = None
    since: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Where a log ended once. Kept outside the database, it shows whatever is changed before it."""

    tenant: str
    seq: int
    hash: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ChainHead:
    """Where the chain ends; `version` is that of its document."""

    seq: int = 0
    hash: str = FIRST
    version: int = 0

    def same_end(self, other: ChainHead) -> bool:
        """Whether both say that the chain ends in the same entry."""
        return (self.seq, self.hash) == (other.seq, other.hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The first entry that is kept, and the hash of the one before it; who cut there, and when."""

    since: int = 1
    previous: str = FIRST
    at: str = ""
    who: str = ""
    version: int = 0  # of its document

    def told(self) -> dict[str, Any]:
        """What is signed, without the tenant."""
        return {"since": self.since, "previous": self.previous, "at": self.at, "who": self.who}


def entry_of(tenant: str, **told: Any) -> AuditEntry:
    """An entry with its hash."""
    return AuditEntry(**told, hash=_hash(tenant, AuditEntry(**told)))


def entry_in(document: Document) -> AuditEntry:
    """The entry that stands there, or `StoreCorrupt`."""
    told = dict(document.value)
    try:
        return AuditEntry(**told | {"at": moment_of("at", told["at"])})
    except (KeyError, TypeError) as error:
        raise StoreCorrupt(f"The audit entry {document.address.name} is damaged.") from error


def head_in(tenant: str, document: Document) -> ChainHead:
    """The end that is told there, or `StoreCorrupt`."""
    seq, hash = document.value.get("seq"), document.value.get("hash")
    if not isinstance(seq, int) or not isinstance(hash, str):
        raise StoreCorrupt(f"The head of the audit log of {tenant!r} is damaged.")
    return ChainHead(seq, hash, document.version)


def puts(entry: AuditEntry, head: ChainHead, sealed: ChainHead | None) -> list[Put]:
    """What appends an entry to the chain that ends there, unless it goes on by then."""
    ends = {"seq": entry.seq, "hash": entry.hash}
    return [
        Put(address=place(entry.seq), value=_plain(entry), at=entry.at, expected=0),
        Put(address=place(HEAD), value=ends, at=entry.at, expected=head.version),
        Put(address=SEAL, value=ends, at=entry.at, expected=sealed.version if sealed else 0),
    ]


def follows(entry: AuditEntry | None, tenant: str, seq: int, previous: str) -> bool:
    """Whether it is the entry of that number, unchanged, after the one with that hash."""
    if entry is None or (entry.seq, entry.previous) != (seq, previous):
        return False
    return entry.hash == _hash(tenant, entry)


def place(name: int | str) -> Address:
    """Where an entry of that number stands, or the head."""
    return Address(shelf=Shelf.AUDIT, name=f"{name:012}" if isinstance(name, int) else name)


def _hash(tenant: str, entry: AuditEntry) -> str:
    told = {name: value for name, value in _plain(entry).items() if name != "hash"}
    text = json.dumps(told | {"tenant": tenant}, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _plain(entry: AuditEntry) -> dict[str, Any]:
    values = {each.name: getattr(entry, each.name) for each in fields(entry)}
    return values | {"at": entry.at.isoformat(), "about": dict(entry.about)}


PAGE = 500


class Walk:
    """One walk along a tenant's chain."""

    def __init__(self, store: Documents, tenant: str, start: Start, head: ChainHead) -> None:
        self._store = store
        self._tenant = tenant
        self._start = start
        self._head = head

    def first_bad(self, known: Collection[tuple[int, str]]) -> int | None:
        """The first entry that is wrong; `known` are hashes that entries of these numbers have."""
        told: dict[int, set[str]] = {}
        for seq, hash in known:
            told.setdefault(seq, set()).add(hash)
        bad = self._first_broken(told)
        missing = any(seq > self._head.seq for seq in told)
        return max(self._head.seq + 1, self._start.since) if bad is None and missing else bad

    def entries(self) -> Iterator[tuple[int, AuditEntry | None]]:
        """Every number that there should be, with its entry if that can be read."""
        for start in range(self._start.since, self._head.seq + 1, PAGE):
            page = range(start, min(start + PAGE, self._head.seq + 1))
            found = self._page(page)
            yield from ((seq, found.get(seq)) for seq in page)

    def _first_broken(self, known: Mapping[int, set[str]]) -> int | None:
        since, last = self._start.since, self._start.previous
        if since > 1 and known.get(since - 1, {last}) != {last}:
            return since
        for seq, entry in self.entries():
            if entry is None or not follows(entry, self._tenant, seq, last):
                return seq
            last = entry.hash
            if known.get(seq, {last}) != {last}:
                return seq
        if last != self._head.hash:
            return max(self._head.seq, since)
        return self._head.seq + 1 if self._goes_on() else None

    def _goes_on(self) -> bool:
        """Whether there are entries that the head does not know, as after it was put back."""
        head, beyond = place(HEAD), place(self._head.seq + 1)
        try:
            standing = self._store.get(self._tenant, [head, beyond])
        except StoreCorrupt:
            return True
        versions = [one.version for one in standing if one.address == head]
        there = any(one.address == beyond for one in standing)
        return there and versions == ([self._head.version] if self._head.version else [])

    def _page(self, page: range) -> dict[int, AuditEntry]:
        """The entries that can be read; when one is damaged, the others one by one."""
        try:
            standing = self._store.get(self._tenant, [place(seq) for seq in page])
            return {entry.seq: entry for entry in map(entry_in, standing)}
        except (StoreCorrupt, InvalidInput):
            if len(page) == 1:
                return {}
            half = len(page) // 2
            return self._page(page[:half]) | self._page(page[half:])

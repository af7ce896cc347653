"""Erasing: what goes and in which order, so that what is cut off anywhere can be completed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TypeAlias
from uuid import UUID

from remanence.errors import Conflict, Stopped
from remanence.layers.erasure.receipts import Tombstones, begun, shelving, signed
from remanence.layers.sessions import Sessions
from remanence.layers.snapshots.section import NAMED_BY_SESSION, is_copy, session_of, within
from remanence.memories.removal import remove
from remanence.model import deadline
from remanence.model.clock import Clock
from remanence.model.document import Address, Discard, Document, Shelf, Shelving
from remanence.model.erasure import By, Erasure, ErasureRequest, Forgotten, Stage
from remanence.model.filter import Compare, Filter
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Documents, Store
from remanence.model.scope import Reach

# Snapshots come last: one that is being taken looks again whether what it copied is still there.
SHELVES = (
    *(Shelf.BLOCK, Shelf.USER, Shelf.CONVERSATION, Shelf.SESSION),
    *(Shelf.WORKING, Shelf.SNAPSHOT),
)


CHUNK = 500


def erase_documents(
    store: Documents, sessions: Sessions | None, reach: Reach, until: datetime | None = None
) -> int:
    """Erase every document in reach, in small transactions; sessions leave their cache too.

    With `until`, those made later stay. How many went.
    """
    gone = 0
    for shelf in SHELVES:
        while erased := _erase(store, sessions, reach, shelf, until):
            gone += erased
    one_session = reach.session_id is not None and not reach.agent_id and not reach.all_users
    if sessions is not None and one_session and until is None:
        sessions.erase(str(reach.session_id), user_id=reach.user_id)
    return gone


def erase_copies(store: Documents, tenant: str, originals: Iterable[Address]) -> None:
    """Erase what snapshots keep of sessions, items and notes that were erased themselves.

    Blocks are not copied. Call it after the originals are gone, also when they were gone before.
    """
    for original in originals:
        reach = Reach(tenant=tenant, user_id=original.user_id, session_id=session_of(original))
        while found := _copies(store, reach, original):
            store.put(tenant, [Discard(address=address) for address in found])


def _copies(store: Documents, reach: Reach, original: Address) -> list[Address]:
    found = store.walk_shelf(reach, Shelf.SNAPSHOT)
    return [one.address for one in found if is_copy(one.address, original)]


def _erase(
    store: Documents,
    sessions: Sessions | None,
    reach: Reach,
    shelf: Shelf,
    until: datetime | None,
) -> int:
    """Erase what a shelf holds of the reach; how many documents."""
    erased, found = 0, _among(store, reach, shelf)
    old = (one for one in found if until is None or one.created_at <= until)
    mine = (one.address for one in old if within(one, reach))
    while some := list(islice(mine, CHUNK)):
        _discard(store, sessions, reach.tenant, some)
        erased += len(some)
    return erased


def _among(store: Documents, reach: Reach, shelf: Shelf) -> Iterable[Document]:
    """Documents among which are the reach's: agent and session are not all in addresses."""
    named = shelf in NAMED_BY_SESSION
    if named and reach.session_id is not None and not reach.all_users:
        address = Address(shelf=shelf, name=reach.session_id, user_id=reach.user_id)
        return store.get(reach.tenant, [address])
    wide = replace(
        reach,
        agent_id=reach.agent_id if shelf is Shelf.BLOCK else None,
        session_id=None if named else reach.session_id,
    )
    return store.walk_shelf(wide, shelf)


def _discard(
    store: Documents, sessions: Sessions | None, tenant: str, addresses: Sequence[Address]
) -> None:
    if addresses:
        store.put(tenant, [Discard(address=address) for address in addresses])
    for address in addresses:
        if sessions is not None and address.shelf is Shelf.SESSION:
            sessions.erase(address.name, user_id=address.user_id)


PAGE = 1_000
UNMERGED = "unmerged"  # in a receipt's counts: what had been merged into it and came back

ANSWERS = 1_000
LOOKS = 20  # at a scope that others fill while it is erased
Clean: TypeAlias = Callable[[Collection[Reach]], Sequence[str]]
Look: TypeAlias = Callable[[], Sequence[MemoryRecord]]
Unlearn: TypeAlias = Callable[[Sequence[str]], Mapping[str, int]]


def left_of(store: Store, receipt: Erasure) -> list[MemoryRecord]:
    """What a store still has of the memories that an erasure took, or was to take.

    By scope these are also the memories in it that were made before the erasure.
    """
    found = {record.id: record for record in _by_id(store, receipt)}
    if receipt.asked.by is By.SCOPE:
        found |= {record.id: record for record in _in_scope(store, receipt)}
    return list(found.values())


class ErasureTally:
    """What has gone so far: told in the same transaction in which it goes."""

    def __init__(self, store: Store, receipt: Erasure) -> None:
        self.receipt = receipt
        self.gone: dict[str, MemoryRecord] = {}
        self.back: dict[str, MemoryRecord] = {}
        self._next = receipt, self.gone, self.back
        self._store = store
        self._asked: set[str] = set()

    def ask(self, records: Sequence[MemoryRecord]) -> None:
        """These are asked for; what else goes was derived from them or merged into them."""
        self._asked |= {one.id for one in records}

    def told(
        self,
        records: Sequence[MemoryRecord],
        derived: Sequence[MemoryRecord],
        merged: Sequence[MemoryRecord],
        back: Sequence[MemoryRecord],
    ) -> Sequence[Shelving]:
        """The receipt as it will be once these are gone, or back, too; each is counted once."""
        counts = Counter(self.receipt.counts)
        known = {*self.receipt.ids, *self.gone}
        new = [one for one in (*records, *derived, *merged) if one.id not in known]
        into = {one.id for one in merged}
        counts.update(self._part(one.id, into) for one in new)
        counts.update(UNMERGED for one in back if one.id not in self.back)
        counts.update(self._store.archive.holdings(self.receipt.tenant, [one.id for one in new]))
        ids = (*self.receipt.ids, *(one.id for one in new))
        receipt = signed(self._store, replace(self.receipt, ids=ids, counts=dict(counts)))
        self._next = (
            receipt,
            self.gone | {one.id: one for one in new},
            self.back | {one.id: one for one in back},
        )
        return shelving(receipt)

    def done(self) -> None:
        """They are gone."""
        self.receipt, self.gone, self.back = self._next

    def add(self, **counts: int) -> None:
        """Count what went besides memories."""
        self.receipt = replace(
            self.receipt, counts=dict(Counter(self.receipt.counts) + Counter(counts))
        )

    def _part(self, id: str, merged: set[str]) -> str:
        return "memories" if id in self._asked else "merged" if id in merged else "derived"


def _by_id(store: Store, receipt: Erasure) -> Iterator[MemoryRecord]:
    for at in range(0, len(receipt.ids), PAGE):
        yield from store.archive.get(receipt.tenant, receipt.ids[at : at + PAGE])


def _in_scope(store: Store, receipt: Erasure) -> Iterator[MemoryRecord]:
    reach = receipt.asked.reach(receipt.tenant)
    made_before = Compare("created_at", "lte", receipt.at, field=True)
    return store.archive.walk(reach, made_before)


def nothing_unlearnt(ids: Sequence[str]) -> Mapping[str, int]:
    """For memories that nothing was learnt from."""
    return {}


@dataclass(eq=False)
class Eraser:
    """Erases memories of a tenant with all that tells of them, and gives the receipt.

    `clean` clears what is kept outside the store for a scope (indexes, caches), and tells where it
    could not; `unlearn` takes
    erased memories out of what was trained on them, and counts that; `remains` are places outside
    the store where a trace may stay. The rows go in one transaction
    with the note that they do; what follows it is done again if it was cut off, by `settle`.
    """

    store: Store
    sessions: Sessions
    tenant: str
    clock: Clock
    new_id: Callable[[], UUID]
    _: KW_ONLY
    clean: Clean
    unlearn: Unlearn = nothing_unlearnt
    tombstones: Tombstones | None = None
    remains: Sequence[str] = ()

    def erase(self, look: Look, asked: ErasureRequest) -> Forgotten:
        """Erase what `look` finds, and by scope all else that it holds; with the receipt.

        By ids, what was merged into them goes along; by filters or scope only what they name goes,
        and what was merged into it from elsewhere comes back. By these it looks again until nothing
        is left, also of what others write meanwhile; the receipt is signed in the transaction that
        finds a scope empty. Where others never stop, what came after the last look stays, and the
        receipt says so.
        """
        records = look()
        self.settle()
        receipt = self._begun(asked)
        if asked.by is By.IDS:
            return self._carried_out(receipt, records, lambda: ())
        if asked.by is By.FILTERS:
            return self._carried_out(receipt, records, look)
        with self.store.upkeep.alone(_named(receipt)):
            self.store.documents.put(self.tenant, shelving(signed(self.store, receipt)))
            return self._carried_out(receipt, records, look)

    def erase_these(self, records: Sequence[MemoryRecord], asked: ErasureRequest) -> Erasure:
        """Erase these records, found by filters; the receipt."""
        left = iter([records])
        done = self.erase(lambda: next(left, ()), asked)
        assert done.receipt is not None
        return done.receipt

    def settle(self) -> int:
        """Complete erasures that were cut off; how many."""
        settled = 0
        for receipt in begun(self.store, self.tenant):
            with self.store.upkeep.alone(_named(receipt)) as free:
                if free:
                    look = partial(left_of, self.store, receipt)
                    self._carried_out(receipt, look(), look, until=receipt.at)
                    settled += 1
        return settled

    def _begun(self, asked: ErasureRequest) -> Erasure:
        at = self.clock.now().astimezone(UTC)
        copies = f"Backups, exports and snapshots of the disk made before {at:%Y-%m-%d %H:%M} UTC."
        return Erasure(
            id=str(self.new_id()),
            at=at,
            tenant=self.tenant,
            asked=asked,
            store=self.store.upkeep.kind,
            identity=self.store.upkeep.identity,
            status=Stage.BEGUN,
            remains=(*self.store.upkeep.leftovers, *self.remains, copies),
        )

    def _carried_out(
        self,
        receipt: Erasure,
        records: Sequence[MemoryRecord],
        look: Look,
        until: datetime | None = None,
    ) -> Forgotten:
        account = ErasureTally(self.store, receipt)
        try:
            return self._until_nothing_is_left(account, records, look, until)
        except Stopped:
            if until is None:
                with deadline.unlimited():
                    self._leave(account.receipt)
            raise

    def _leave(self, receipt: Erasure) -> None:
        """Called off: the receipt asks no longer for more than what has gone by now."""
        less = replace(receipt, asked=ErasureRequest(by=By.IDS))
        self.store.documents.put(self.tenant, shelving(signed(self.store, less)))

    def _until_nothing_is_left(
        self,
        account: ErasureTally,
        records: Sequence[MemoryRecord],
        look: Look,
        until: datetime | None,
    ) -> Forgotten:
        asked, bound = dict[str, MemoryRecord](), until
        for tried in range(2 * LOOKS):
            asked |= {one.id: one for one in records}
            self._remove(account, records, until)
            if tried >= LOOKS and bound is None:
                bound = self.clock.now()
            records = _made_by(look(), bound)
            if records:
                continue
            done = self._completed(account, until, bound)
            if done is not None:
                return Forgotten(asked.values(), receipt=done)
            records = _made_by(look(), bound)
        raise Conflict("Others write there faster than it can be erased; hold them back.")

    def _remove(
        self, account: ErasureTally, records: Sequence[MemoryRecord], until: datetime | None
    ) -> None:
        asked = account.receipt.asked
        account.ask(records)
        remove(self.store, self.clock, records, account, alone=asked.by is not By.IDS)
        self.store.tiers.renew_dictionaries(self.tenant)  # what a crash left of them
        if asked.by is By.SCOPE:
            account.add(**swept(self.store, self.sessions, account.receipt, until))

    def _completed(
        self, account: ErasureTally, until: datetime | None, bound: datetime | None
    ) -> Erasure | None:
        """The signed receipt; None if somebody has written to the scope meanwhile."""
        _forget_answers(self.store, self.tenant)
        behind = self.clean(_reaches(account, until))
        self.sessions.drop([*account.gone.values(), *account.back.values()])
        account.add(**self.unlearn(account.receipt.ids))
        remains = (*account.receipt.remains, *behind)
        if bound is not None and until is None:
            remains = (*remains, f"What others wrote after {bound.astimezone(UTC):%H:%M:%S} UTC.")
        done = replace(account.receipt, status=Stage.COMPLETED, remains=remains)
        done = signed(self.store, done)
        try:
            if self.tombstones is not None:
                self.tombstones.add(done)
            self.store.documents.put(self.tenant, shelving(done), vacant=_vacant(done, bound))
        except Conflict:
            return None
        return done


def _forget_answers(store: Store, tenant: str) -> None:
    """Let go of what servers keep for calls that are repeated, and for jobs that nobody waits for.

    What is at work meanwhile finds its place gone, and keeps no answer.
    """
    reach = Reach(tenant=tenant)
    while found := store.documents.shelved(reach, Shelf.ANSWER, limit=ANSWERS):
        store.documents.put(tenant, [Discard(address=one.address) for one in found])


def _made_by(records: Sequence[MemoryRecord], bound: datetime | None) -> Sequence[MemoryRecord]:
    return [one for one in records if bound is None or one.created_at <= bound]


def _vacant(receipt: Erasure, bound: datetime | None) -> tuple[Reach, Filter | None] | None:
    """Where no memory may be left, if it is a scope; with a bound, none made up to then."""
    if receipt.asked.by is not By.SCOPE:
        return None
    old = None if bound is None else Compare("created_at", "lte", bound, field=True)
    return receipt.asked.reach(receipt.tenant), old


def swept(
    store: Store, sessions: Sessions | None, receipt: Erasure, until: datetime | None
) -> dict[str, int]:
    """Erase what a scope holds besides memories, up to a moment if one is given; how much."""
    reach = receipt.asked.reach(receipt.tenant)
    documents = erase_documents(store.documents, sessions, reach, until)
    if until is None or not _known_since(store, reach, until):
        return {"documents": documents, "claims": store.knowledge.forget(reach)}
    return {"documents": documents, "claims": _unknown(store, reach, until)}


def _known_since(store: Store, reach: Reach, moment: datetime) -> bool:
    latest = store.knowledge.claims(reach, limit=1, newest_first=True)
    return bool(latest) and latest[0].recorded_at > moment


def _unknown(store: Store, reach: Reach, until: datetime) -> int:
    """Erase the claims of a scope that were recorded up to a moment; how many."""
    gone = 0
    while page := [
        one for one in store.knowledge.claims(reach, limit=1_000) if one.recorded_at <= until
    ]:
        store.knowledge.unknow(reach.tenant, [one.id for one in page])
        gone += len(page)
    return gone


def _reaches(account: ErasureTally, until: datetime | None) -> set[Reach]:
    """Whose partitions were touched; anyone's, where it is not known any more."""
    tenant = account.receipt.tenant
    if until is not None:
        return {Reach(tenant=tenant, all_users=True)}
    return {Reach(tenant=tenant, user_id=one.user_id) for one in account.gone.values()}


def _named(receipt: Erasure) -> str:
    return f"erasure {receipt.id}"

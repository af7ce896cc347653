"""The journal: every run and what each of its batches did, as documents; ids, never a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from math import inf
from typing import Any, NamedTuple

from msgspec import convert, to_builtins

from remanence.consolidation.leases import NOBODY, Lease
from remanence.errors import NotFound, RemanenceError
from remanence.model.clock import Clock
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.memory import Revision
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach
from remanence.model.sleep import ForgetPolicy, Night, Run, SleepPolicy, Status, Step
from remanence.model.write import Moved

KEEP_DAYS = 90
UNDONE, _RUN = "undone", "run "  # in the history of a memory: the verb, and what names the run
_FORMER = timedelta(minutes=10)  # a lease, where versions before this one look for it

_PAGES = "journal"  # stands where an agent would, so that runs are listed without their pages
_CHUNK = 20
_NEVER = "never"  # stands for an infinity of days, which JSON has not
_SPARE = timedelta(days=1)
_TODAY = timedelta(hours=20)  # a nightly run comes a little earlier or later than the last one
_UNREADABLE = (KeyError, TypeError, ValueError, RemanenceError)
_MOVED = tuple(one.name for one in fields(Moved))  # as a page has them in a row
_TAKEN_BACK = (Status.UNDONE, Status.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A run as its document has it: what was asked, how far it came, who writes it down.

    `room` is how many memories it may still take out of recall. `taking_back` is the status it
    will have once all it did is undone; while it is set, undoing is under way.
    """

    run: Run
    night: Night
    owner: str
    room: int = 0
    cancel: bool = False
    taking_back: Status | None = None
    version: int = 0

    @property
    def under_way(self) -> bool:
        """Whether somebody is at it, or was when it stopped."""
        return self.run.status is Status.RUNNING or self.taking_back is not None


class Given(NamedTuple):
    """A version that a batch gave a memory; without a verb it inserted it."""

    id: str
    version: int
    verb: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """What one batch did: the memories and the versions it gave them, and links it made.

    `returned` are moves that take its moves back, in the order in which they must happen.
    """

    number: int
    inserted: tuple[tuple[str, int], ...] = ()
    revised: tuple[tuple[str, int, str], ...] = ()
    removed: tuple[str, ...] = ()
    links: tuple[tuple[str, str, str], ...] = ()
    returned: tuple[Moved, ...] = ()
    undone: bool = False
    version: int = 0

    @property
    def given(self) -> tuple[Given, ...]:
        """Every version it gave, in order."""
        made = (Given(id, version, None) for id, version in self.inserted)
        return (*made, *(Given(*one) for one in self.revised))


@dataclass(eq=False)
class Journal:
    """The documents of a tenant's runs, kept for `keep_days` after each began."""

    store: Documents
    tenant: str
    clock: Clock
    keep_days: float = KEEP_DAYS

    def __post_init__(self) -> None:
        self._kept = timedelta(days=self.keep_days)

    def account(self, id: str) -> Account:
        """The run with that id; else `NotFound`."""
        found = self.store.get(self.tenant, [_run_at(id)])
        account = self._account(found[0]) if found else None
        if account is None:
            raise NotFound(
                f"There is no run {id[:60]!r} here; `sleep.log()` lists those that are kept."
            )
        return account

    def accounts(self) -> Iterator[Account]:
        """Every run, the one that moved last first."""
        found = list(self.store.walk_shelf(Reach(tenant=self.tenant), Shelf.RUN, agents=[None]))
        found.sort(key=lambda one: one.updated_at, reverse=True)
        yield from (one for one in map(self._account, found) if one is not None)

    def pages(self, account: Account) -> Iterator[RunPage]:
        """What the run's batches did, in order; those that cannot be read are left out."""
        numbers = range(1, account.run.batches + 1)
        for at in range(0, len(numbers), _CHUNK):
            asked = [_page_at(account.run.id, number) for number in numbers[at : at + _CHUNK]]
            found = self.store.get(self.tenant, asked)
            yield from (one for one in map(_page_or_none, found) if one is not None)

    def taken(self, user_id: str | None, now: datetime) -> int:
        """How many memories runs took out of recall in the last day, for all or one user."""
        total = 0
        for run in (account.run for account in self.accounts()):
            if run.status not in _TAKEN_BACK and (run.ended_at or now) <= now - _TODAY:
                break  # they come by when they moved last, which is when these ended
            near = run.status not in _TAKEN_BACK and abs(now - run.started_at) < _TODAY
            if near and user_id in (None, run.user_id):
                total += run.counts.get("taken", 0)
        return total

    def undone(self, besides: str) -> dict[tuple[str, int], str | None]:
        """The versions given by batches that were undone while others' changes stood on them.

        With the verb of each, None for what was inserted; without those of one run.
        """
        return {
            (one.id, one.version): one.verb
            for account in self.accounts()
            if account.run.counts.get("left") and account.run.id != besides
            for page in self.pages(account)
            if page.undone
            for one in page.given
        }

    def latest(self, step: Step) -> tuple[int, Account | None]:
        """The version of the document that runs of a step pass on, and the run that has it."""
        found = self.store.get(self.tenant, [step_at(step)])
        if not found:
            return 0, None
        held = self.store.get(self.tenant, [_run_at(str(found[0].value.get("run")))])
        return found[0].version, self._account(held[0]) if held else None

    def lease(self, account: Account) -> Lease:
        """Who was at a run last; versions before this one have it in the run's own document."""
        addresses = [step_at(account.run.step), _run_at(account.run.id)]
        found = {one.address: one.value for one in self.store.get(self.tenant, addresses)}
        passed = found.get(addresses[0], {})
        if passed.get("run") == account.run.id and "lease" in passed:
            return convert(passed["lease"], Lease)
        told = found.get(addresses[1])
        if told is None:
            return Lease(owner=NOBODY, until=self.clock.now())
        return convert({**told, "process": account.owner.partition(" ")[2]}, Lease)

    def pass_on(self, account: Account, version: int, lease: Lease) -> Put:
        """What makes a run the one that its step is at, if `version` still holds."""
        return Put(
            address=step_at(account.run.step),
            value={"run": account.run.id, "lease": to_builtins(lease)},
            at=self.clock.now(),
            expected=version,
        )

    def put(self, account: Account) -> Put:
        """What writes a run down, if its version still holds."""
        return Put(
            address=_run_at(account.run.id),
            value=_value(account) | {"until": (self.clock.now() + _FORMER).isoformat()},
            at=self.clock.now(),
            expected=account.version,
            expires_at=account.run.started_at + self._kept,
        )

    def put_page(self, account: Account, page: RunPage) -> Put:
        """What writes a batch down, if its version still holds."""
        return Put(
            address=_page_at(account.run.id, page.number),
            value=_page_value(page),
            at=self.clock.now(),
            expected=page.version,
            expires_at=account.run.started_at + self._kept + _SPARE,
        )

    def expire(self, now: datetime) -> int:
        """Erase what is past its time; how many documents."""
        gone = 0
        while found := self.store.expire(self.tenant, Shelf.RUN, now):
            gone += len(found)
        return gone

    def _account(self, document: Document) -> Account | None:
        """None for a document of which nothing can be made."""
        with suppress(*_UNREADABLE):
            return _account_of(document, self.tenant)
        return None


def reason_of(id: str) -> str:
    """What the history of a memory says where the undoing of a run changed it."""
    return f"{_RUN}{id}"


def failed_by(store: Documents, tenant: str, undone: Revision) -> bool:
    """Whether a run that failed took this back itself, so that it says nothing of its owner."""
    found = store.get(tenant, [_run_at((undone.reason or "").removeprefix(_RUN))])
    told = found[0].value if found else {}
    return Status.FAILED in (told.get("status"), told.get("taking_back"))


def _run_at(id: str) -> Address:
    return Address(shelf=Shelf.RUN, name=id)


def _page_at(id: str, number: int) -> Address:
    return Address(shelf=Shelf.RUN, name=f"{id}/{number:06}", agent_id=_PAGES)


def step_at(step: Step) -> Address:
    """Where it stands which run a step is at, and under whose lease."""
    return Address(shelf=Shelf.RUN, name=f"step/{step}", agent_id=_PAGES)


def _value(account: Account) -> dict[str, Any]:
    night, told = account.night, to_builtins(account.run)
    del told["id"]
    policy = asdict(night.policy, dict_factory=_plain)
    asked = {"now": night.now.isoformat(), "model": night.use_model, "policy": policy}
    held = {"owner": account.owner, "cancel": account.cancel, "room": account.room}
    return {**told, **asked, **held, "taking_back": account.taking_back}


def _account_of(document: Document, tenant: str) -> Account:
    value = document.value
    run = convert({**value, "id": document.address.name}, Run)
    back = value["taking_back"]
    return Account(
        run=run,
        night=Night(
            reach=reach_of(tenant, run.user_id),
            now=datetime.fromisoformat(value["now"]),
            policy=_policy(value["policy"]),
            use_model=value["model"],
        ),
        owner=value["owner"],
        cancel=value["cancel"],
        room=value["room"],
        taking_back=None if back is None else Status(back),
        version=document.version,
    )


def reach_of(tenant: str, user_id: str | None) -> Reach:
    """What a run sees: one user's memories, or the whole tenant's."""
    return Reach(tenant=tenant, user_id=user_id, all_users=user_id is None)


def _policy(value: Mapping[str, Any]) -> SleepPolicy:
    """The policy as it was; what this version does not know is left out."""
    forget = ForgetPolicy(**_known(ForgetPolicy, value.get("forget", {})))
    return SleepPolicy(**_known(SleepPolicy, {**value, "forget": forget}))


def _known(kind: type[Any], value: Mapping[str, Any]) -> dict[str, Any]:
    told = {one.name: value[one.name] for one in fields(kind) if one.name in value}
    return {name: inf if one == _NEVER else one for name, one in told.items()}


def _plain(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: _NEVER if value == inf else value for name, value in items}


def _page_value(page: RunPage) -> dict[str, Any]:
    told: dict[str, Any] = to_builtins(page)
    del told["number"], told["version"]
    return told | {"returned": [list(one.values()) for one in told["returned"]]}


def _page_of(document: Document) -> RunPage:
    value = document.value
    moves = [dict(zip(_MOVED, one, strict=True)) for one in value["returned"]]
    number = int(document.address.name.rpartition("/")[2])
    return convert(
        {**value, "returned": moves, "number": number, "version": document.version}, RunPage
    )


def _page_or_none(document: Document) -> RunPage | None:
    with suppress(*_UNREADABLE):
        return _page_of(document)
    return None

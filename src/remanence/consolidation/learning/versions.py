"""Versions of a user's adapter as documents: a head says which are in use, each has its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from msgspec import convert

from remanence.consolidation.learning.trainer import Taught
from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.document import Discard, Document, Put, Shelf
from remanence.model.embedding import Fingerprint
from remanence.model.learning import AdapterVersion, TrainingScores
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach
from remanence.model.validation import moment_of
from remanence.recall.adapter import packed
from remanence.recall.adapters import NAME, head_of, version_of
from remanence.recall.ranker import Ranker

# Of the versions that are not in use, so many are kept; of those that were, so many to go back to.
KEPT = 10
WAYS_BACK = 3


@dataclass(frozen=True, slots=True)
class Head:
    """What stands over a user's versions. `used` are those put to use, the active one last."""

    used: tuple[int, ...] = ()
    known: tuple[int, ...] = ()
    last: int = 0
    trained_to: datetime | None = None
    version: int = 0  # of the document; 0 where there is none

    @property
    def active(self) -> int | None:
        """The version in use."""
        return self.used[-1] if self.used else None


class Versions:
    """One tenant's adapters on their shelf. Of two trainings at once the later is a `Conflict`."""

    def __init__(self, store: Documents, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def head(self, user_id: str | None) -> Head:
        """What stands over the user's versions; an empty one where nothing was trained yet."""
        found = self._store.get(self._tenant, [head_of(user_id)])
        return _head(found[0]) if found else Head()

    def listed(self, user_id: str | None) -> list[AdapterVersion]:
        """The user's versions, the newest first."""
        head = self.head(user_id)
        found = self._documents(user_id, head.known)
        return [_version(number, found[number].value, head) for number in reversed(list(found))]

    def shelve(
        self,
        user_id: str | None,
        head: Head,
        taught: Taught,
        at: datetime,
        *,
        plain: Ranker,
        by: Fingerprint,
    ) -> int:
        """Keep a training's outcome, and put it to use if it was accepted; its number.

        `Conflict` if another training came first since the head was read.
        """
        number, adapter = head.last + 1, taught.adapter
        value = _told(taught, at)
        value["adapter"] = None if adapter is None else packed(adapter, plain, by)
        used = head.used if adapter is None else (*head.used, number)[-WAYS_BACK:]
        idle = [one for one in (*head.known, number) if one not in used]
        known = tuple(sorted({*used, *idle[-KEPT:]}))
        after = Head(used, known, number, taught.trained_to or at, head.version)
        gone = [one for one in head.known if one not in known]
        self._store.put(
            self._tenant,
            [
                _headed(user_id, after, at),
                Put(address=version_of(user_id, number), value=value, at=at, expected=0),
                *(Discard(address=version_of(user_id, one)) for one in gone),
            ],
        )
        return number

    def roll_back(self, user_id: str | None, at: datetime) -> Head:
        """Put the version before to use, or none; `NotFound` if none is in use."""
        head = self.head(user_id)
        if head.active is None:
            raise NotFound("No adapter is in use here; there is nothing to roll back.")
        before = replace(head, used=head.used[:-1])
        self._store.put(self._tenant, [_headed(user_id, before, at)])
        return before

    def unlearn(
        self, ids: Collection[str], at: datetime, users: Collection[str | None] | None = None
    ) -> dict[str | None, int]:
        """Remove every version that learned from one of these memories; how many, by user."""
        wanted = frozenset(ids)
        found: defaultdict[str | None, list[int]] = defaultdict(list)
        for document in self._every(users):
            number = _number(document)
            if number and not wanted.isdisjoint(_learned_from(document)):
                found[document.address.user_id].append(number)
        for user_id, numbers in found.items():
            self._remove(user_id, numbers, at)
        return {user_id: len(numbers) for user_id, numbers in found.items()}

    def _remove(self, user_id: str | None, numbers: Sequence[int], at: datetime) -> None:
        """Take versions away, however many trainings end meanwhile."""
        gone = [Discard(address=version_of(user_id, one)) for one in numbers]
        while True:
            head = self.head(user_id)
            used = tuple(one for one in head.used if one not in numbers)
            known = tuple(one for one in head.known if one not in numbers)
            left = replace(head, used=used, known=known)
            headed = [_headed(user_id, left, at)] if head.version else []
            with suppress(Conflict):
                self._store.put(self._tenant, [*headed, *gone])
                return

    def _every(self, users: Collection[str | None] | None) -> Iterator[Document]:
        if users is not None:
            for user_id in users:
                yield from self._documents(user_id, self.head(user_id).known).values()
            return
        yield from self._store.walk_shelf(Reach(tenant=self._tenant, all_users=True), Shelf.ADAPTER)

    def _documents(self, user_id: str | None, numbers: Sequence[int]) -> dict[int, Document]:
        addresses = [version_of(user_id, number) for number in numbers]
        found = self._store.get(self._tenant, addresses) if addresses else []
        return {_number(one): one for one in found}


def _headed(user_id: str | None, head: Head, at: datetime) -> Put:
    trained = None if head.trained_to is None else head.trained_to.isoformat()
    numbers = {"used": list(head.used), "known": list(head.known), "last": head.last}
    value = numbers | {"trained_to": trained}
    return Put(address=head_of(user_id), value=value, at=at, expected=head.version)


def _told(taught: Taught, at: datetime) -> dict[str, Any]:
    adapter = taught.adapter
    return {
        "accepted": adapter is not None,
        "at": at.isoformat(),
        "why": taught.why,
        "judged": asdict(taught.judged),
        "experiences": taught.experiences,
        "questions": taught.questions,
        "words": 0 if adapter is None else len(adapter.bridges),
        "learned_from": sorted(taught.learned_from),
    }


def _head(document: Document) -> Head:
    value = document.value
    trained = value.get("trained_to")
    used, known = _numbers(value.get("used")), _numbers(value.get("known"))
    last = max([0, *used, *known, *_numbers([value.get("last")])])
    at = None
    with suppress(InvalidInput):
        at = moment_of("trained_to", trained)
    return Head(used, known, last, at, document.version)


def _numbers(value: object) -> tuple[int, ...]:
    found = value if isinstance(value, list) else []
    return tuple(n for n in found if isinstance(n, int) and not isinstance(n, bool) and n > 0)


def _number(document: Document) -> int:
    """The number of a version's document; 0 for any other."""
    prefix, _, number = document.address.name.rpartition("-")
    return int(number) if prefix == NAME and number.isascii() and number.isdigit() else 0


def _learned_from(document: Document) -> Sequence[str]:
    found = document.value.get("learned_from")
    return [id for id in found if isinstance(id, str)] if isinstance(found, list) else []


def _version(number: int, value: Mapping[str, Any], head: Head) -> AdapterVersion:
    """A version's figures; one that is damaged shows as such."""
    stands: dict[str, Any] = {"number": number, "active": number == head.active}
    with suppress(KeyError, TypeError, ValueError):
        learned = {"learned_from": len(value["learned_from"])}
        return convert({**value, **learned, **stands}, AdapterVersion)
    return AdapterVersion(
        **stands,
        accepted=False,
        at=datetime.fromtimestamp(0, UTC),
        why="its document is damaged; train again or roll back",
        judged=TrainingScores(),
        experiences=0,
        questions=0,
    )

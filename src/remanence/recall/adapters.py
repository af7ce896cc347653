"""The adapters in use: read when a search needs one, noticed anew when another process trains."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from remanence.errors import EmbedderError
from remanence.model.document import Address, Shelf
from remanence.model.ports.embedder import Embedder
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.recall.adapter import Adapter, Unusable, unpacked
from remanence.recall.ranker import Ranker

NAME = "retrieval"
EVERY_S = 2.0
HELD = 256


def head_of(user_id: str | None) -> Address:
    """Where it stands which version a user's searches use."""
    return Address(shelf=Shelf.ADAPTER, name=NAME, user_id=user_id)


def version_of(user_id: str | None, number: int) -> Address:
    """Where a version stands."""
    return Address(shelf=Shelf.ADAPTER, name=f"{NAME}-{number}", user_id=user_id)


@dataclass(frozen=True, slots=True, eq=False)
class Adapted:
    """The adapters of one search by partition, and why others cannot be used.

    `mark` differs whenever they do.
    """

    adapters: Mapping[int, Adapter] = field(default_factory=dict)
    mark: tuple[tuple[int, int], ...] = ()
    troubles: tuple[str, ...] = ()


PLAIN = Adapted()


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    adapter: Adapter | None
    trouble: str
    head: int  # the version of the head document; 0 where there is none
    looked_at: float


@dataclass(eq=False)
class Adapters:
    """Gives each partition the adapter of its owner. Thread-safe.

    An adapter belongs to the memories of one user: what was said about them changes how they are
    ranked, and nobody else's. A search over all users uses none, so that all compete alike. What
    another process changed is noticed `every_s` seconds later at most.
    """

    source: Store
    embedder: Embedder
    ranker: Ranker
    every_s: float = EVERY_S
    seconds: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str | None], _Held] = OrderedDict()

    def of(self, reach: Reach) -> Adapted:
        """The adapters for what a search may see."""
        if reach.all_users:
            return PLAIN
        users = dict.fromkeys([reach.user_id, None] if reach.include_shared else [reach.user_id])
        held = {user: self._current(reach.tenant, user) for user in users}
        if not any(one.adapter or one.trouble for one in held.values()):
            return PLAIN
        found = {
            partition: one.adapter
            for user, one in held.items()
            if one.adapter is not None
            for partition in self.source.recall.partitions(Reach(tenant=reach.tenant, user_id=user))
        }
        return Adapted(
            found,
            tuple((partition, one.version) for partition, one in sorted(found.items())),
            tuple(dict.fromkeys(one.trouble for one in held.values() if one.trouble)),
        )

    def trouble(self, tenant: str, user_id: str | None) -> str | None:
        """Why a user's active adapter cannot be used, None if it can or there is none."""
        return self._current(tenant, user_id).trouble or None

    def look_again(self, tenant: str, user_id: str | None) -> None:
        """The user's adapter has changed: the next search reads it."""
        with self._lock:
            self._known.pop((tenant, user_id), None)

    def _current(self, tenant: str, user: str | None) -> _Held:
        now = self.seconds()
        with self._lock:
            held = self._known.get((tenant, user))
            if held is not None:
                self._known.move_to_end((tenant, user))
        if held is not None and now - held.looked_at < self.every_s:
            return held
        held = self._looked(tenant, user, held, now)
        with self._lock:
            self._known[tenant, user] = held
            while len(self._known) > HELD:
                self._known.popitem(last=False)
        return held

    def _looked(self, tenant: str, user: str | None, before: _Held | None, now: float) -> _Held:
        heads = self.source.documents.get(tenant, [head_of(user)])
        version = heads[0].version if heads else 0
        if before is not None and before.head == version:
            return replace(before, looked_at=now)
        number = active_number(heads[0].value) if heads else None
        adapter, trouble = None, ""
        try:
            adapter = None if number is None else self._read(tenant, user, number)
        except EmbedderError:
            version = -1  # the search itself says what is wrong
        except Unusable as error:
            trouble = f"adapter: version {number} is not used, {error}; train again or roll back"
        return _Held(adapter, trouble, version, now)

    def _read(self, tenant: str, user: str | None, number: int) -> Adapter:
        documents = self.source.documents.get(tenant, [version_of(user, number)])
        if not documents:
            raise Unusable("it is not there")
        value = documents[0].value.get("adapter")
        if not isinstance(value, Mapping):
            raise Unusable("it is damaged")
        return unpacked(value, number, self.ranker, self.embedder.fingerprint)


def active_number(head: Mapping[str, Any]) -> int | None:
    """The version a head names as active: the last of those that were put to use."""
    used = head.get("used")
    last = used[-1] if isinstance(used, list) and used else None
    return last if isinstance(last, int) and not isinstance(last, bool) and last > 0 else None

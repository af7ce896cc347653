"""Whose calendar is where: a user's own time zone, else the one of the settings."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from remanence.model.document import Address, Put, Shelf
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Documents
from remanence.model.zones import known_zone, own_zone, placed, says_no_zone, zone_of

NAME = "timezone"
EVERY_S = 2.0
HELD = 4_096


class Zones:
    """Gives the zone that a user's days, and words like "yesterday", are meant in. Thread-safe.

    A moment that carries a zone of its own keeps it. What another process changed is noticed
    `every_s` seconds later at most.
    """

    def __init__(
        self,
        documents: Documents,
        usual: tzinfo = UTC,
        *,
        every_s: float = EVERY_S,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._documents = documents
        self._every_s = every_s
        self._seconds = seconds
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], tuple[float, str]] = OrderedDict()
        self.usual = usual

    def of(self, tenant: str, user_id: str | None) -> tzinfo:
        """The zone of a user; of nobody, the usual one."""
        name = self.named(tenant, user_id)
        return known_zone(name) if name else self.usual

    def here(self, tenant: str, user_id: str | None, now: datetime | None = None) -> tzinfo:
        """The zone of `now` if it says one, else the user's."""
        if now is None or says_no_zone(now):
            return self.of(tenant, user_id)
        return own_zone(now)

    def named(self, tenant: str, user_id: str | None) -> str:
        """What the user's own zone is called; empty without one."""
        if user_id is None:
            return ""
        now, key = self._seconds(), (tenant, user_id)
        with self._lock:
            looked_at, name = self._known.get(key, (float("-inf"), ""))
        if now - looked_at >= self._every_s:
            name = self._read(tenant, user_id)
            self._hold(key, name)
        return name

    def give(self, tenant: str, user_id: str, name: str | None, at: datetime) -> None:
        """Give a user a zone of their own, or take it away."""
        if name is not None:
            zone_of(name)
        value = {"name": name or ""}  # kept, as to erase it takes more than to write
        self._documents.put(tenant, [Put(address=address_of(user_id), value=value, at=at)])
        self._hold((tenant, user_id), name or "")

    def local(self, record: MemoryRecord) -> MemoryRecord:
        """A memory whose time is told by the clocks of whoever it belongs to."""
        zone = self.of(record.tenant, record.user_id)
        return replace(record, happened_at=placed(record.happened_at, zone))

    def _read(self, tenant: str, user_id: str) -> str:
        found = self._documents.get(tenant, [address_of(user_id)])
        return str(found[0].value.get("name", "")) if found else ""

    def _hold(self, key: tuple[str, str], name: str) -> None:
        with self._lock:
            self._known[key] = (self._seconds(), name)
            self._known.move_to_end(key)
            while len(self._known) > HELD:
                self._known.popitem(last=False)


def address_of(user_id: str) -> Address:
    """Where a user's zone stands."""
    return Address(shelf=Shelf.USER, name=NAME, user_id=user_id)

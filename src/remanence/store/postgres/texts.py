"""Texts as rows hold them: packed, or in UTF-8 after a zero."""

from __future__ import annotations

import threading

from remanence.errors import StoreCorrupt
from remanence.store.packing import Dictionary, lost, unpacked, whole
from remanence.store.postgres.session import Session

_AS_IT_IS = b"\x00"
_KEPT = 64


def stored_dictionary(session: Session, number: int) -> Dictionary:
    """The tenant's dictionary of that number; `StoreCorrupt` if it is not whole."""
    row = session.row("dictionary", id=number)
    if row is None:
        raise lost(number)
    return whole(number, *row)


class Texts:
    """Reads texts of any tenant. Dictionaries are kept by thread; no number is given out twice."""

    def __init__(self) -> None:
        self._own = threading.local()

    def opened(self, session: Session, stored: bytes | str) -> str:
        """The text of the block `text`; `StoreCorrupt` if it is not whole."""
        if isinstance(stored, str):
            return stored
        if not stored.startswith(_AS_IT_IS):
            return unpacked(stored, lambda number: self._dictionary(session, number))
        try:
            return stored[1:].decode()
        except UnicodeDecodeError as error:
            raise StoreCorrupt("A stored text is damaged; run `rem doctor`.") from error

    def readable(self, session: Session, stored: bytes) -> str:
        """The same, but nothing of a text that cannot be read."""
        try:
            return self.opened(session, stored)
        except StoreCorrupt:
            return ""

    def _dictionary(self, session: Session, number: int) -> Dictionary:
        known: dict[tuple[int, int], Dictionary] = self._own.__dict__.setdefault("known", {})
        at = (session.tenant, number)
        if at not in known:
            if len(known) >= _KEPT:
                known.clear()
            known[at] = stored_dictionary(session, number)
        return known[at]

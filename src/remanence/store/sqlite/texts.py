"""Packed texts as SQL and Python read them: a connection's own dictionaries."""

from __future__ import annotations

import apsw

from remanence.errors import StoreCorrupt
from remanence.store.dictionaries import Dictionary, lost, whole
from remanence.store.packing import unpacked
from remanence.store.sqlite.statements import run


class Opener:
    """Reads texts on one connection, which one thread has at a time."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._known: dict[int, Dictionary] = {}
        # A number that was given out in a transaction that never was will be given out again.
        connection.set_rollback_hook(self._known.clear)

    def text(self, stored: str | bytes) -> str:
        """The text of the column, packed or not."""
        return unpacked(stored, self.dictionary) if isinstance(stored, bytes) else stored

    def readable(self, stored: bytes) -> bytes:
        """The text of a packed column in UTF-8, nothing if it cannot be read."""
        try:
            return self.text(stored).encode()
        except StoreCorrupt:
            return b""

    def dictionary(self, number: int) -> Dictionary:
        """The dictionary of that number; `StoreCorrupt` if it is not whole."""
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = stored_dictionary(self._connection, number)
        return known


def stored_dictionary(connection: apsw.Connection, number: int) -> Dictionary:
    """The dictionary of that number; `StoreCorrupt` if it is not whole."""
    row = run(connection, "dictionary", (number,)).fetchone()
    if row is None:
        raise lost(number)
    return whole(number, *row)

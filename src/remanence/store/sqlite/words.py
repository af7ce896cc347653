"""The Python functions that SQL calls: packed texts opened, words for the text index, filters."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import apsw

from remanence.errors import StoreCorrupt
from remanence.language.languages import length_of
from remanence.language.traits import flags
from remanence.store.conditions import any_long_text
from remanence.store.packing import Dictionary, lost, unpacked, whole
from remanence.store.sqlite.session import run
from remanence.store.words import Words, prefixed, said


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


def register(connection: apsw.Connection, words: Words) -> None:
    """Give a connection the functions that the schema and the filters call."""

    opener = Opener(connection)
    opened = opener.text

    def indexed(partition: int, text: str | bytes) -> str:
        return " ".join(prefixed(partition, words.terms(opened(text))))

    def contains(text: str | bytes, folded: str) -> bool:
        return folded in opened(text).casefold()

    # Asked for both ends in turn: the second time it is remembered.
    @lru_cache(maxsize=1)
    def days(text: str | bytes, happened: int) -> tuple[int, int]:
        return said(opened(text), happened, words.zone)

    functions: list[tuple[str, Callable[..., str | int | bytes], int]] = [
        ("remanence_text", opened, 1),
        ("remanence_readable", opener.readable, 1),
        ("remanence_words", indexed, 2),
        ("remanence_length", lambda text: length_of(words.terms(opened(text))), 1),
        ("remanence_flags", lambda text: flags(opened(text)), 1),
        ("remanence_said_from", lambda text, happened: days(text, happened)[0], 2),
        ("remanence_said_to", lambda text, happened: days(text, happened)[1], 2),
        ("remanence_contains", contains, 2),
        ("remanence_any_long_text", any_long_text, 4),
    ]
    for name, function, arguments in functions:
        connection.create_scalar_function(
            name, function, arguments, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
        )


def rebuild(connection: apsw.Connection) -> None:
    """Make the text index again from the rows, inside the caller's transaction."""
    run(connection, "recount_words")
    run(connection, "rebuild_words")

"""The Python functions that SQL calls for the text index and the filters."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import apsw

from remanence.store.labels import any_long_text
from remanence.store.sqlite.statements import run
from remanence.store.sqlite.texts import Opener
from remanence.store.words import Words, prefixed, said
from remanence.text.flags import flags


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
        ("remanence_length", lambda text: len(words.terms(opened(text))), 1),
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

"""The text index's words: which terms a text has, and the Python functions SQL calls for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import apsw

from remanence.store.sqlite.labels import any_long_text
from remanence.store.sqlite.statements import run
from remanence.text.flags import flags
from remanence.text.words import TERMS_VERSION, terms


@dataclass(frozen=True, slots=True)
class Words:
    """How texts become terms. Another `version` makes the store rebuild its text index."""

    terms: Callable[[str], list[str]] = terms
    version: str = TERMS_VERSION

    def analysed(self, text: str) -> tuple[list[str], tuple[int, int, int]]:
        """A text's terms; and what its row keeps: how many, its characters, its flags."""
        found = self.terms(text)
        return found, (len(found), len(text), flags(text))


def prefixed(partition: int, terms: Iterable[str]) -> list[str]:
    """Terms as they stand in the index: no two partitions share one."""
    return [f"{partition}x{term}" for term in terms]


def register(connection: apsw.Connection, words: Words) -> None:
    """Give a connection the functions that the schema and the filters call."""

    def indexed(partition: int, text: str) -> str:
        return " ".join(prefixed(partition, words.terms(text)))

    def contains(text: str, folded: str) -> bool:
        return folded in text.casefold()

    functions: list[tuple[str, Callable[..., str | int], int]] = [
        ("remanence_words", indexed, 2),
        ("remanence_length", lambda text: len(words.terms(text)), 1),
        ("remanence_flags", flags, 1),
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

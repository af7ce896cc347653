"""PostgreSQL's errors in Remanence's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from remanence.errors import (
    Conflict,
    InvalidInput,
    RemanenceError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from remanence.model import deadline

# Codes or classes of codes (postgresql.org/docs/current/errcodes-appendix.html), most exact first.
_MEANINGS: list[tuple[tuple[str, ...], type[RemanenceError], str]] = [
    (
        ("53100",),
        StoreFull,
        "No space left on {where}: the write was rolled back, reads go on. "
        "Free space and try again.",
    ),
    (("53300",), StoreUnavailable, "{where} takes no more connections ({error}); lower pool_size."),
    (("53",), StoreUnavailable, "{where} lacks resources ({error}); try again later."),
    (("40001", "40P01", "55P03"), StoreBusy, "{where} is held by another writer; try again."),
    (
        ("57014",),
        StoreBusy,
        "{where} took longer than statement_timeout_s; ask for less, or raise it.",
    ),
    (
        ("25006",),
        StoreUnavailable,
        "{where} only reads now, as a standby does; connect to the primary.",
    ),
    (
        ("08", "57P", "58"),
        StoreUnavailable,
        "{where} does not answer ({error}); see that the server runs, then try again.",
    ),
    (
        ("28", "3D000"),
        StoreUnavailable,
        "{where} refuses the connection ({error}); check the role, its password and the database.",
    ),
    (
        ("42501",),
        StoreUnavailable,
        "The role of {where} lacks a right ({error}); the store's tables must be its own.",
    ),
    (
        ("XX001", "XX002"),
        StoreCorrupt,
        "{where} is damaged ({error}); run `rem doctor`, or restore a backup.",
    ),
    (("23505",), Conflict, "An id in the batch is that of another memory; use a new id."),
    (("22", "54"), InvalidInput, "{where} cannot hold the value ({error}); change it."),
]
_STOPPED = ("57014", "55P03")  # what waited too long, or was called off
_NUL = "Text holds a NUL character, which PostgreSQL cannot store; remove it."
_RETRIED = frozenset({"40001", "40P01"})
_GONE = ("08", "57P")
_NO_STATEMENT = "26000"
_NOT_SUPPORTED = "0A000"  # "cached plan must not change result type" has no code of its own


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise what PostgreSQL raises inside as an error of ours that names the store."""
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate in _STOPPED:
            deadline.check()
        raise translation(error, where) from error
    except UnicodeEncodeError as error:
        raise InvalidInput(
            "Text holds a lone surrogate, which is not a character; replace it first."
        ) from error


def translation(error: psycopg.Error, where: str) -> RemanenceError:
    """The error to raise instead of `error`."""
    code = error.sqlstate or ""
    if code == "22021" or (not code and isinstance(error, psycopg.DataError)):
        return InvalidInput(_NUL)
    if not code and isinstance(error, psycopg.OperationalError):
        code = "08"
    said = " ".join(str(error).split())
    for codes, ours, message in _MEANINGS:
        if code.startswith(codes):
            return ours(message.format(where=where, error=said))
    return StoreError(f"{where} answered: {said}. Run `rem doctor` to look into it.")


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection, or the server behind it, is gone; another may be had."""
    code = error.sqlstate
    return isinstance(error, psycopg.OperationalError) and (
        code is None or code.startswith(_GONE) or code == "53300"
    )


def is_stale(error: psycopg.Error) -> bool:
    """Whether the connection's prepared statements are gone or out of date; a new one has none."""
    said = error.diag.message_primary or ""
    return error.sqlstate == _NO_STATEMENT or (
        error.sqlstate == _NOT_SUPPORTED and said.startswith("cached plan")
    )


def is_clash(error: psycopg.Error) -> bool:
    """Whether two transactions stood in each other's way, so that doing it again may succeed."""
    same_receipt = error.sqlstate == "23505" and error.diag.table_name == "receipts"
    return error.sqlstate in _RETRIED or same_receipt

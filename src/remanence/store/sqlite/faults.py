"""SQLite's errors in Remanence's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from remanence.errors import (
    Closed,
    InvalidInput,
    RemanenceError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
)
from remanence.model import deadline

# A file size limit or a quota answers a failed write rather than "full".
_NO_SPACE = frozenset(
    {
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_DIR_FSYNC,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_SHMMAP,
    }
)


_FULL = (
    "No space left for {where}: the write was rolled back, reads go on. Free space and try again."
)
_DAMAGED = (
    "{where} is damaged or not a Remanence store ({error}); run `rem doctor`, or restore a backup."
)
_UNSEEN = (
    "{where} could not be read whole ({error}). Often too many files are open: raise the limit "
    "(`ulimit -n`) and try again; else run `rem doctor`."
)
_MEANINGS: list[tuple[tuple[type[apsw.Error], ...], type[RemanenceError], str]] = [
    (
        (apsw.BusyError, apsw.LockedError),
        StoreBusy,
        "{where} is locked by another writer; try again.",
    ),
    ((apsw.FullError,), StoreFull, _FULL),
    ((apsw.CorruptError, apsw.NotADBError), StoreCorrupt, _DAMAGED),
    ((apsw.ConnectionClosedError,), Closed, "{where} is closed; open it again."),
    (
        (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError),
        StoreError,
        "{where} cannot be opened for writing ({error}); check the path and its rights.",
    ),
]


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise what SQLite raises inside as a `StoreError` that names the store."""
    try:
        yield
    except apsw.Error as error:
        if isinstance(error, apsw.InterruptError | apsw.BusyError):
            deadline.check()
        raise translation(error, where) from error
    except UnicodeEncodeError as error:
        raise InvalidInput(
            "Text holds a lone surrogate, which is not a character; replace it first."
        ) from error
    except UnicodeDecodeError as error:
        raise StoreCorrupt(f"{where} holds damaged text; run `rem doctor`.") from error


def translation(error: apsw.Error, where: str) -> RemanenceError:
    """The error to raise instead of `error`."""
    kind, message = _meaning(error)
    return kind(message.format(where=where, error=error))


def _meaning(error: apsw.Error) -> tuple[type[RemanenceError], str]:
    extended = getattr(error, "extendedresult", 0)
    if isinstance(error, apsw.IOError) and extended in _NO_SPACE:
        return StoreFull, _FULL
    if extended == apsw.SQLITE_IOERR_SHORT_READ:
        return StoreCorrupt, _DAMAGED  # the file ends before its pages do
    if isinstance(error, apsw.SQLError) and "no such table" in str(error):
        return StoreError, _UNSEEN  # without a descriptor for the log its tables are not seen
    for kinds, ours, message in _MEANINGS:
        if isinstance(error, kinds):
            return ours, message
    return StoreError, "{where} answered: {error}. Run `rem doctor` to look into it."

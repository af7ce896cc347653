"""Every error Remanence raises on purpose, in one tree; each message says what to do next.

RemanenceError
├── InvalidInput            the caller's value cannot be accepted (also a ValueError)
├── NotFound                no such memory, block or session in this scope (also a LookupError)
├── Conflict                a used idempotency key, or a version that has passed
├── StoreError
│   ├── StoreBusy           another process holds the write lock past the timeout
│   ├── StoreFull           the disk or a quota is full; nothing was half-written
│   │   └── QuotaExceeded   the tenant has as many memories or bytes as it may have
│   ├── StoreUnavailable    the database server does not answer, or refuses the connection
│   │   └── CommitUnknown   it was lost in a commit; the write was kept, or not
│   ├── StoreCorrupt        the file is not a Remanence store or is damaged
│   └── StoreVersion        a library or schema too old or too new
├── EmbedderError
│   ├── ModelMissing        the model's files are not there
│   ├── ModelInvalid        the files are there and not what they should be
│   └── EmbedderUnavailable an embeddings endpoint does not answer
├── LanguageModelError      a language model does not answer, or not as it should
├── IndexUnavailable        a vector index that follows the store is down or behind
├── AccessError
│   ├── Unauthenticated     no key, or one that is unknown, expired or revoked
│   ├── Forbidden           the key does not allow this
│   └── RateLimited         too many calls; the message says when to try again
├── Stopped
│   ├── DeadlineExceeded    a call took longer than it may; the message says what was changed
│   └── Cancelled           somebody called the work off
├── ServerUnavailable       a Remanence server does not answer, or not as it should
├── ConfigError             a setting cannot be read or understood
└── Closed                  the memory was used after close()
"""

from __future__ import annotations


class RemanenceError(Exception):
    """The root: catch this to catch everything Remanence raises on purpose."""


class InvalidInput(RemanenceError, ValueError):
    """The value given cannot be accepted; the message names the argument and what it takes."""


class NotFound(RemanenceError, LookupError):
    """No such memory, block or session in this scope. Another tenant's answers exactly the same."""


class Conflict(RemanenceError):
    """An idempotency key was used for something else, or somebody changed the thing meanwhile."""


class StoreError(RemanenceError):
    """The store could not do what was asked; what was acknowledged before is safe."""


class StoreBusy(StoreError):
    """Another process held the write lock longer than `busy_timeout_s`; try again."""


class StoreFull(StoreError):
    """The disk is full: the write was rolled back, reads go on. Free space and try again."""


class QuotaExceeded(StoreFull):
    """The tenant has as much as it may have: nothing of the write was kept. Erase, or ask for more.

    It is not for want of space, so other tenants write on.
    """


class StoreUnavailable(StoreError):
    """The database server does not answer or refuses the connection; the message says why."""


class CommitUnknown(StoreUnavailable):
    """The server was lost in a commit: look whether the write was kept before you repeat it."""

    committed = True  # as far as anybody knows: so nobody takes it for not done


class StoreCorrupt(StoreError):
    """The file is damaged or not a Remanence store. Run `rem doctor`, or restore a backup."""


class StoreVersion(StoreError):
    """The SQLite library or the file's schema does not fit this version of Remanence."""


class EmbedderError(RemanenceError):
    """Text could not be turned into vectors."""


class ModelMissing(EmbedderError):
    """The embedding model's files are not where they were looked for."""


class ModelInvalid(EmbedderError):
    """The model's files are damaged or of a kind that cannot be used."""


class EmbedderUnavailable(EmbedderError):
    """The embeddings endpoint did not answer as it should."""


class LanguageModelError(RemanenceError):
    """The language model did not answer as it should; the message says what to check."""


class IndexUnavailable(RemanenceError):
    """A vector index that follows the store is down or behind; the store itself has everything."""


class AccessError(RemanenceError):
    """A server does not let this caller do this."""


class Unauthenticated(AccessError):
    """No key was sent, or one that is unknown, expired or revoked."""


class Forbidden(AccessError):
    """The key is good, and does not allow this."""


class RateLimited(AccessError):
    """Too many calls in too short a time; wait `retry_s` seconds and try again."""

    retry_s: float = 1.0


class Stopped(RemanenceError):
    """The work was stopped before its end; `committed`: a part of it was done and stays."""

    def __init__(self, message: str = "", *, committed: bool = False) -> None:
        super().__init__(message)
        self.committed = committed


class DeadlineExceeded(Stopped):
    """The call took longer than a call may take; what was committed before stays."""

    retry_s = None  # the same again would take as long


class Cancelled(Stopped):
    """Somebody called the work off; what was committed before stays."""


class ServerUnavailable(RemanenceError):
    """The Remanence server does not answer, or not as it should; the message says why."""


class ConfigError(RemanenceError):
    """A setting is unknown or has a value that cannot be used."""


class Closed(RemanenceError):
    """The memory is closed; open a new one."""

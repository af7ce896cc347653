"""The embedded store: one SQLite file through apsw."""

from remanence.store.sqlite.restoring import restore
from remanence.store.sqlite.store import SqliteStore
from remanence.store.words import Words

__all__ = ["SqliteStore", "Words", "restore"]

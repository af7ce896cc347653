"""Care of a whole SQLite store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from remanence.clock import Clock
from remanence.model.embedding import Fingerprint
from remanence.model.stats import Finding, StoreStats
from remanence.ports.store import Progress
from remanence.store.signing import signature
from remanence.store.sqlite.backups import backup
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.dictionaries import Dictionaries
from remanence.store.sqlite.doctor import Doctor
from remanence.store.sqlite.erasing import Eraser
from remanence.store.sqlite.solitude import alone
from remanence.store.sqlite.statements import run
from remanence.store.sqlite.statistics import stats
from remanence.store.sqlite.tending import tend

LEFTOVERS = (
    "The log, where a reader held it: until the next write after that reader.",
    "Unused space between live rows (about 1 removal in 1,000), until the store is compacted.",
)


class SqliteUpkeep:
    """The Upkeep port."""

    _database: Database
    _clock: Clock
    _eraser: Eraser
    _dictionaries: Dictionaries

    @property
    def identity(self) -> str:
        """A name that is unique to this store and changes when it is restored."""
        return self._database.identity

    @property
    def kind(self) -> str:
        """What it is."""
        return "sqlite"

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Where bytes of what is removed may stay, and until when."""
        return () if self._database.connections.in_memory else LEFTOVERS

    def sign(self, data: bytes) -> bytes:
        """A signature that only this store, and a store restored from its backups, can make."""
        return signature(self._database.digest_key, data)

    @property
    def schema(self) -> int:
        """The number of the newest migration that the file has seen."""
        with self._database.reading() as connection:
            return int(connection.pragma("user_version"))

    def tenants(self) -> list[str]:
        """Every tenant that ever wrote."""
        with self._database.reading() as connection:
            return [name for (name,) in run(connection, "tenants")]

    def alone(self, name: str) -> AbstractContextManager[bool]:
        """Whether this caller alone, of all processes, is now at what `name` stands for."""
        return alone(self._database.path, self._database.identity, name)

    def bulk(self) -> AbstractContextManager[None]:
        """Nothing is built after many writes here; every write is whole."""
        return nullcontext()

    def backup(self, target: Path, progress: Progress | None = None) -> None:
        """A consistent copy, made while others read and write; appears whole or not at all."""
        backup(self._database, Path(target), progress)

    def doctor(self, *, repair: bool, fingerprint: Fingerprint | None) -> list[Finding]:
        """Check everything against the rows; with `repair`, mend what can be mended."""
        return Doctor(self._database, repair, self._clock.now()).examine(fingerprint)

    def compact(self) -> None:
        """Rewrite the file, so that no byte of what was removed stays and free space goes back."""
        self._dictionaries.renew()
        self._eraser.compact()

    def tend(self, progress: Progress | None = None) -> Mapping[str, int]:
        """Keep the file in shape, in small transactions while others read and write."""
        with self.alone("tend") as mine:
            return tend(self._database, self._eraser, progress) if mine else {}

    def stats(self, tenant: str, fingerprint: Fingerprint | None = None) -> StoreStats:
        """Counts of one tenant, sizes of the whole store."""
        return stats(self._database, tenant, fingerprint)

    def close(self) -> None:
        """Release everything; safe to call twice."""
        self._database.connections.close()

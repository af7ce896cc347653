"""An encrypted store does all that a store does, under the suite of every store.

Run with `make test-encryption`, which makes an environment with the library that encrypts;
`make test` leaves these files out by their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence.model.ports.store import Store
from remanence.store.sqlite import SqliteStore
from remanence.testing.store import Reopen, StoreSuite

KEY = "the key of the whole suite"


class TestEncryptedStore(StoreSuite):
    @pytest.fixture
    def opened(self) -> Iterator[list[Store]]:
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, tmp_path: Path, opened: list[Store]) -> Store:
        opened.append(SqliteStore(tmp_path / "memory.db", durability="normal", key=KEY))
        return opened[-1]

    @pytest.fixture
    def reopen(self, tmp_path: Path, opened: list[Store]) -> Reopen:
        def reopen(store: Store) -> Store:
            store.close()
            opened.append(SqliteStore(tmp_path / "memory.db", durability="normal", key=KEY))
            return opened[-1]

        return reopen

"""Places where a test can make a new store, of whichever kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from remanence.config import load_settings
from remanence.config.assembly import open_store
from remanence.model.ports.store import Store

if TYPE_CHECKING:
    from support.services.database_pool import DatabasePool

Place: TypeAlias = Callable[[str], str]


def opened(url: object) -> Store:
    """The store of a database setting."""
    return open_store(load_settings({"database": str(url)}))


@contextmanager
def places(folder: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """Makes up where a new, empty store of a kind can be: a file, or a database of its own."""
    count = iter(range(100))
    with ExitStack() as ends:

        def made(kind: str) -> str:
            if kind == "sqlite":
                return str(folder / f"{next(count)}.db")
            pool: DatabasePool = request.getfixturevalue("postgres_pool")
            return ends.enter_context(pool.lent())

        yield made

"""How many memories are in reach, and how much a tenant has, counted on a connection."""

from __future__ import annotations

import json
from collections.abc import Callable

import apsw

from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.quotas import COUNTED, Use
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.filters import reached, statement
from remanence.store.sqlite.statements import fetch_all

_SHELVES = json.dumps(COUNTED)


def count_in(
    database: Database, connection: apsw.Connection, reach: Reach, where: Filter | None
) -> int:
    """How many memories in reach satisfy the filter."""
    condition = reached(database.partitions(connection, reach), reach, where)
    return int(connection.execute(statement("count", condition), condition.values).get)


def use_of(connection: apsw.Connection, tenant: str) -> Use:
    """How much a tenant has."""
    asked = {"tenant": tenant, "shelves": _SHELVES}
    memories, size = fetch_all(connection, "use_of_tenant", asked)[0]
    return Use(memories, size)


def check_use(
    database: Database, connection: apsw.Connection, tenant: str, more: Callable[[], Use]
) -> None:
    """Refuse what this transaction added, if it is too much. SQLite has one writer at a time."""
    added = database.quotas.concern(more)
    if added is not None:
        mark = connection.pragma("data_version")  # changes when another connection writes
        database.quotas.check(tenant, added, (mark, mark), lambda: use_of(connection, tenant))

"""How many memories are in reach, counted on the connection of a read or of a write."""

from __future__ import annotations

import apsw

from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.filters import reached, statement


def count_in(
    database: Database, connection: apsw.Connection, reach: Reach, where: Filter | None
) -> int:
    """How many memories in reach satisfy the filter."""
    condition = reached(database.partitions(connection, reach), reach, where)
    return int(connection.execute(statement("count", condition), condition.values).get)

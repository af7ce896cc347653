"""How many memories are in reach, counted in the session of a read or of a write."""

from __future__ import annotations

from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.postgres.database import Database
from remanence.store.postgres.filters import reached, statement
from remanence.store.postgres.session import Session


def count_in(database: Database, session: Session, reach: Reach, where: Filter | None) -> int:
    """How many memories in reach satisfy the filter."""
    condition = reached(session, database.partitions(session, reach), reach, where)
    row = session.execute(statement("count", condition), condition.values).fetchone()
    return 0 if row is None else int(row[0])

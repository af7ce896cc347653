"""How many memories are in reach, and how much a tenant has, counted in a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.postgres.arrays import texts
from remanence.store.postgres.database import Database
from remanence.store.postgres.filters import reached, statement
from remanence.store.postgres.placing import writers_lock
from remanence.store.postgres.session import Session
from remanence.store.quotas import COUNTED, Use


def count_in(database: Database, session: Session, reach: Reach, where: Filter | None) -> int:
    """How many memories in reach satisfy the filter."""
    condition = reached(session, database.partitions(session, reach), reach, where)
    row = session.execute(statement("count", condition), condition.values).fetchone()
    return 0 if row is None else int(row[0])


def use_of(session: Session) -> Use:
    """How much the tenant has."""
    row = session.row("use_of_tenant", shelves=texts(COUNTED))
    return Use(*row) if row else Use()


@contextmanager
def checking_use(
    database: Database, session: Session, tenant: str, more: Callable[[], Use]
) -> Iterator[None]:
    """Refuse at the end what was added meanwhile, if it is too much.

    Where there are limits, the writers of a tenant wait for each other.
    """
    added = database.quotas.concern(more)
    if added is None:
        yield
        return
    session.run("lock_writers", own=writers_lock(session.tenant))
    before = session.value("mark_of_tenant")
    yield
    marks = (before, session.value("mark_of_tenant"))
    database.quotas.check(tenant, added, marks, lambda: use_of(session))

"""One transaction of one tenant: the named statements, run inside the wall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import Cursor
from psycopg.types.numeric import Int4

from remanence import deadline
from remanence.store import blocks
from remanence.store.postgres.opening import PatientConnection
from remanence.store.rows import Row

NOBODY = 0  # no tenant has this number


def sql(name: str) -> str:
    """The statement of that name."""
    return blocks.blocks(__package__)[name]


def migrations() -> list[tuple[int, str]]:
    """Every migration with its number, in order."""
    return blocks.migrations(__package__)


class Session:
    """Statements of one tenant on one connection; `%(tenant)s` in them is always that tenant.

    Inside a pipeline a statement is under way when `run` returns; asking for rows waits for it.
    """

    def __init__(self, connection: PatientConnection, tenant: int) -> None:
        self.connection = connection
        self.tenant = tenant
        self.touched: set[int] = set()
        self.run("enter", name=str(tenant))

    def run(self, name: str, /, **values: Any) -> Cursor[tuple[Any, ...]]:
        """Execute the named statement."""
        return self.execute(sql(name), {"tenant": Int4(self.tenant), **values})

    def rows(self, name: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """All rows of the named statement."""
        return self.run(name, **values).fetchall()

    def row(self, name: str, /, **values: Any) -> Row | None:
        """The first row of the named statement, if there is one."""
        return self.run(name, **values).fetchone()

    def value(self, name: str, /, **values: Any) -> Any:
        """The one value that the named statement gives, None if it gives no row."""
        row = self.row(name, **values)
        return None if row is None else row[0]

    def execute(self, text: str, values: Sequence[Any] | dict[str, Any]) -> Cursor[tuple[Any, ...]]:
        """Execute a statement that was put together, as those with a filter are."""
        deadline.check()
        return self.connection.execute(text.encode(), values, binary=True)

    def execute_once(self, text: str, values: dict[str, Any]) -> Cursor[tuple[Any, ...]]:
        """Execute a statement that is planned anew each time, for these very values."""
        deadline.check()
        return self.connection.execute(text.encode(), values, binary=True, prepare=False)

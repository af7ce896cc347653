"""Databases with the schema in them that serve one test after another, emptied in between."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import psycopg
from psycopg import sql

from remanence.store.postgres import PostgresStore
from support.services.postgres import Databases

FIRST_OWN_OID = 16384
# A row that is added, changed or removed changes what its catalogue holds of xmin.
CATALOGUES = {
    "pg_attrdef": "true",
    "pg_constraint": "true",
    "pg_event_trigger": "true",
    "pg_extension": "true",
    "pg_index": "true",
    "pg_namespace": "nspname !~ '^pg_(toast_)?temp_'",  # kept once a session had temporary tables
    "pg_policy": "true",
    "pg_proc": f"oid >= {FIRST_OWN_OID}",
    "pg_rewrite": "true",
    "pg_sequence": "true",
    "pg_trigger": "true",
}
# Emptying, vacuuming and indexing change rows that mean the same as before.
MEANT = f"""
SELECT 'pg_class', md5(string_agg(concat_ws(' ', oid, relname, relkind, relnamespace, relowner,
    relpersistence, relrowsecurity, relforcerowsecurity, reloptions, relacl), ',' ORDER BY oid))
FROM pg_class WHERE oid >= {FIRST_OWN_OID}
UNION ALL
SELECT 'pg_attribute', md5(string_agg(concat_ws(' ', attrelid, attnum, attname, atttypid,
    atttypmod, attnotnull, atthasdef, attidentity, attgenerated, attstorage, attcollation, attacl,
    attoptions), ',' ORDER BY attrelid, attnum))
FROM pg_attribute WHERE attrelid >= {FIRST_OWN_OID}
UNION ALL
SELECT 'pg_database', concat_ws(' ', datdba, datacl, datallowconn, datconnlimit, (
    SELECT string_agg(setrole || ' ' || setconfig::text, ',') FROM pg_db_role_setting
    WHERE setdatabase = d.oid
))
FROM pg_database AS d WHERE datname = current_database()
"""
GRAPHS = """
SELECT c.relname FROM pg_class AS c JOIN pg_am AS m ON m.oid = c.relam AND m.amname = 'hnsw'
WHERE c.relkind = 'i'
"""
USED = """
SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
AND relkind = 'r' AND pg_relation_size(oid) > 0
"""


@dataclass(frozen=True, slots=True)
class _Made:
    """A database of the pool, and what it was when it was new."""

    url: str
    schema: dict[str, str]
    facts: dict[str, str]


class DatabasePool:
    """Databases as a store leaves them that opens an empty one; each has one user at a time.

    Whoever borrows one finds no row, no number used, a store with an identity of its own, and
    a name that no database had before. One whose schema its user has changed is dropped. To
    empty a database costs the server 0.04 s of CPU; to make and migrate one, 0.65 s.
    """

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._free: list[_Made] = []

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The URL of a database for as long as the block runs."""
        made = self._free.pop() if self._free else self._make()
        try:
            yield made.url
        finally:
            self._take_back(made)

    def close(self) -> None:
        """Drop every database."""
        while self._free:
            self._databases.drop(self._free.pop().url)

    def _make(self) -> _Made:
        url = self._databases.database()
        PostgresStore(url).close()
        with psycopg.connect(self._databases.admin_at(url), autocommit=True) as admin:
            facts: dict[str, str] = dict(admin.execute("SELECT name, value FROM meta").fetchall())
            return _Made(url, schema_of(admin), facts)

    def _take_back(self, made: _Made) -> None:
        """Under another name first: a process that was left behind finds nothing any more."""
        made = replace(made, url=self._databases.rename(made.url))
        if self._emptied(made):
            self._free.append(made)
        else:
            self._databases.drop(made.url)

    def _emptied(self, made: _Made) -> bool:
        with psycopg.connect(self._databases.admin_at(made.url), autocommit=True) as admin:
            _drop_graphs(admin)
            if schema_of(admin) != made.schema:
                return False
            _empty(admin, made.facts)
        return True


def schema_of(admin: psycopg.Connection) -> dict[str, str]:
    """What there is in the database besides rows; equal only if nothing was changed."""
    parts = [
        f"SELECT '{name}', md5(string_agg(x, ',' ORDER BY x))"
        f" FROM (SELECT xmin::text AS x FROM {name} WHERE {which})"
        for name, which in CATALOGUES.items()
    ]
    return dict(admin.execute(" UNION ALL ".join([*parts, MEANT]).encode()).fetchall())


def _drop_graphs(admin: psycopg.Connection) -> None:
    """The indexes of vectors are no part of the schema: a store makes them as it needs them."""
    for (name,) in admin.execute(GRAPHS).fetchall():
        admin.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))


def _empty(admin: psycopg.Connection, facts: dict[str, str]) -> None:
    used = [sql.Identifier(name) for (name,) in admin.execute(USED).fetchall()]
    own = facts | {"identity": os.urandom(16).hex(), "digest_key": os.urandom(32).hex()}
    with admin.transaction(), admin.cursor() as cursor:
        cursor.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(used)))
        cursor.executemany("INSERT INTO meta VALUES (%s, %s)", list(own.items()))
        cursor.execute("SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence")
        cursor.execute("DELETE FROM pg_statistic WHERE starelid >= %s", (FIRST_OWN_OID,))
        cursor.execute("SELECT pg_stat_reset()")

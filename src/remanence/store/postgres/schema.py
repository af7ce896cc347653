"""The schema: which database is fit and ours, and the migrations that bring it up to date."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from psycopg.adapt import AdaptersMap
from psycopg.sql import Identifier
from psycopg.types import TypeInfo

from remanence.errors import ConfigError, RemanenceError, StoreCorrupt, StoreVersion
from remanence.store.blocks import too_new
from remanence.store.postgres.arrays import adaptations
from remanence.store.postgres.faults import translated
from remanence.store.postgres.opening import (
    APPLICATION,
    PatientConnection,
    Settings,
    connect_for_upkeep,
)
from remanence.store.postgres.session import lock_number, migrations, sql

OLDEST_SERVER = 150000
OLDEST_PGVECTOR = (0, 8, 0)  # the first with iterative scans


PREPARATION = """\
-- Run once, as an administrator, and put a password of your own in place of the dots.
CREATE ROLE {role} LOGIN PASSWORD '…' NOSUPERUSER NOBYPASSRLS;
CREATE DATABASE {database} OWNER {role};
\\connect {database}
CREATE EXTENSION vector;"""
Facts: TypeAlias = Mapping[str, str]
_PAUSE_S = 0.05
_NO_TRANSACTION = "-- no transaction"


def preparation(role: str, database: str) -> str:
    """What an administrator runs before a store can be made there."""
    names = {"role": role, "database": database}
    quoted = {what: Identifier(name).as_string(None) for what, name in names.items()}
    return PREPARATION.format(**quoted)


def check_fitness(connection: PatientConnection) -> None:
    """Refuse what could lose a tenant's privacy, or lacks what a store needs."""
    row = connection.execute(sql("fitness").encode()).fetchone()
    assert row is not None
    number, server, encoding, database, schema, role, superuser, bypasses, pgvector = row
    named = _quoted(connection, role), _quoted(connection, database)
    refusal = (
        _of_server(number, server)
        or _of_role(*named, superuser, bypasses)
        or _of_database(*named, encoding, schema)
        or _of_pgvector(named[1], pgvector)
    )
    if refusal is not None:
        raise refusal


def _of_server(number: int, version: str) -> RemanenceError | None:
    if number >= OLDEST_SERVER:
        return None
    return StoreVersion(f"PostgreSQL {version} is too old; upgrade the server to 15 or newer.")


def _of_role(role: str, database: str, superuser: bool, bypasses: bool) -> RemanenceError | None:
    if superuser:
        return ConfigError(
            f"The role {role} is a superuser, so the walls between tenants do not bind it. "
            "Connect as a plain role; as an administrator run:\n"
            "  CREATE ROLE remanence LOGIN PASSWORD '…' NOSUPERUSER NOBYPASSRLS;\n"
            f"  ALTER DATABASE {database} OWNER TO remanence;"
        )
    if bypasses:
        return ConfigError(
            f"The role {role} has BYPASSRLS, so the walls between tenants do not bind it. "
            f"As an administrator run:\n  ALTER ROLE {role} NOBYPASSRLS;"
        )
    return None


def _of_database(
    role: str, database: str, encoding: str, schema: str | None
) -> RemanenceError | None:
    if encoding != "UTF8":
        return ConfigError(
            f"The database {database} is encoded in {encoding}; make another one:\n"
            f"  CREATE DATABASE remanence OWNER {role} ENCODING 'UTF8' TEMPLATE template0;"
        )
    if schema is None:
        return ConfigError(
            f"The search_path of {role} names no schema that exists; run:\n"
            f"  CREATE SCHEMA remanence AUTHORIZATION {role};\n"
            f"  ALTER ROLE {role} SET search_path = remanence, public;"
        )
    return None


def _of_pgvector(database: str, version: str | None) -> RemanenceError | None:
    if version is None:
        return StoreVersion(
            f"The database {database} lacks the extension pgvector. As an administrator run in "
            "it:\n  CREATE EXTENSION vector;\n(If that fails, install the server's pgvector "
            "package first, for example `apt-get install postgresql-18-pgvector`.)"
        )
    if tuple(map(int, version.split(".")[:3])) < OLDEST_PGVECTOR:
        return StoreVersion(
            f"pgvector {version} is too old; 0.8.0 or newer is needed. Update its package, then "
            f"as an administrator run in {database}:\n  ALTER EXTENSION vector UPDATE;"
        )
    return None


def _quoted(connection: PatientConnection, name: Any) -> str:
    return Identifier(str(name)).as_string(connection)


def prepare(settings: Settings) -> tuple[Facts, AdaptersMap]:
    """See that the database is fit and ours, and bring it up to date."""
    with translated(settings.where), connect_for_upkeep(settings) as connection:
        check_fitness(connection)
        check_ours(connection, settings.where)
        if settings.migrate:
            migrate(connection, settings.words.version)
        else:
            _check_current(connection, settings.where)
        facts = read_facts(connection)
        return facts, adaptations(TypeInfo.fetch(connection, "halfvec"))


def check_ours(connection: PatientConnection, where: str) -> None:
    """Refuse a database that another program uses, and one that a newer Remanence made."""
    facts, newest = read_facts(connection), migrations()[-1][0]
    names = [] if _is_ours(facts) else _foreign(connection)
    if names:
        facts = read_facts(connection)  # another process may have made them ours in between
    if names and not _is_ours(facts):
        raise StoreCorrupt(
            f"{where} holds tables of another program ({', '.join(names[:5])}); give another "
            "database, or a schema of its own by `ALTER ROLE … SET search_path = …, public`."
        )
    if int(facts.get("schema", 0)) > newest:
        raise too_new(where, facts["schema"], newest)


def migrate(connection: PatientConnection, terms_version: str) -> None:
    """Apply what is missing; whoever else is at it goes first."""
    with only_one(connection, "migrate"):
        for number, script in migrations():
            if int(read_facts(connection).get("schema", 0)) < number:
                _apply(connection, number, script, terms_version)


def read_facts(connection: PatientConnection) -> Facts:
    """The table `meta`; empty where there is none of ours."""
    row = connection.execute(sql("has_meta").encode()).fetchone()
    if not _has(row):
        return {}
    return dict(connection.execute(sql("facts").encode()).fetchall())


def set_fact(connection: PatientConnection, name: str, value: str) -> None:
    """Put a value into the table `meta`."""
    connection.execute(sql("set_meta").encode(), {"name": name, "value": value})


def new_identity(connection: PatientConnection) -> None:
    """Give the store a name that no other has."""
    set_fact(connection, "identity", os.urandom(16).hex())


@contextmanager
def only_one(connection: PatientConnection, name: str) -> Iterator[None]:
    """Nobody else is at the same on this database meanwhile.

    It asks again and again: who waits inside a statement holds a snapshot, and an index that is
    made concurrently waits for all of those.
    """
    number = lock_number(name)
    while not _has(connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()):
        time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s)", (number,))


def _check_current(connection: PatientConnection, where: str) -> None:
    found, newest = int(read_facts(connection).get("schema", 0)), migrations()[-1][0]
    if found < newest:
        raise StoreVersion(
            f"{where} has schema {found}, this Remanence needs {newest}: run `rem migrate`."
        )


def _apply(connection: PatientConnection, number: int, script: str, terms_version: str) -> None:
    if script.startswith(_NO_TRANSACTION):
        for statement in script.split(";\n"):
            connection.execute(statement.encode())
        set_fact(connection, "schema", str(number))
        return
    with connection.transaction():
        connection.execute(script.encode())
        if number == 1:
            set_fact(connection, "application", APPLICATION)
            set_fact(connection, "digest_key", os.urandom(32).hex())
            set_fact(connection, "terms_version", terms_version)
            new_identity(connection)
        set_fact(connection, "schema", str(number))


def _is_ours(facts: Facts) -> bool:
    return facts.get("application") == APPLICATION


def _has(row: tuple[object, ...] | None) -> bool:
    return row is not None and bool(row[0])


def _foreign(connection: PatientConnection) -> list[str]:
    own = {"names": _own_tables()}
    rows = connection.execute(sql("tables_named").encode(), own).fetchall()
    return [str(name) for (name,) in rows]


def _own_tables() -> list[str]:
    lines = [line for _, script in migrations() for line in script.splitlines()]
    return [line.split()[2] for line in lines if line.startswith("CREATE TABLE ")]

"""Whether server, role and database are fit for a store; each refusal says what to run."""

from __future__ import annotations

from typing import Any

from psycopg.sql import Identifier

from remanence.errors import ConfigError, RemanenceError, StoreVersion
from remanence.store.postgres.opening import PatientConnection
from remanence.store.postgres.session import sql

OLDEST_SERVER = 150000
OLDEST_PGVECTOR = (0, 8, 0)  # the first with iterative scans


PREPARATION = """\
-- Run once, as an administrator, and put a password of your own in place of the dots.
CREATE ROLE {role} LOGIN PASSWORD '…' NOSUPERUSER NOBYPASSRLS;
CREATE DATABASE {database} OWNER {role};
\\connect {database}
CREATE EXTENSION vector;"""


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

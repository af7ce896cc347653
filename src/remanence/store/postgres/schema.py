"""The schema: which database is ours, and the migrations that bring it up to date."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import TypeAlias

from psycopg.adapt import AdaptersMap
from psycopg.types import TypeInfo

from remanence.errors import StoreCorrupt, StoreVersion
from remanence.store.postgres.arrays import adaptations
from remanence.store.postgres.faults import translated
from remanence.store.postgres.fitness import check_fitness
from remanence.store.postgres.opening import PatientConnection, Settings, connect_for_upkeep
from remanence.store.postgres.session import migrations, sql
from remanence.store.versions import too_new

Facts: TypeAlias = Mapping[str, str]

APPLICATION = "remanence"

_PAUSE_S = 0.05
_NO_TRANSACTION = "-- no transaction"


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


def lock_number(name: str) -> int:
    """The number of an advisory lock."""
    digest = blake2b(f"{APPLICATION}:{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


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

"""The file's schema: which file is ours, and the migrations that bring it up to date."""

from __future__ import annotations

import os

import apsw

from remanence.errors import StoreCorrupt
from remanence.store.blocks import too_new
from remanence.store.sqlite.connections import Connections
from remanence.store.sqlite.session import fetch_value, migrations, run
from remanence.store.sqlite.words import rebuild

APPLICATION_ID = 0x52454D4E  # "REMN"


def prepare(connections: Connections) -> None:
    """Create or update the schema, and the text index if terms are made otherwise now."""
    # The writer would turn another program's file to WAL, so a reader looks first.
    with connections.reading() as connection:
        check_ours(connection, connections.path)
    migrate(connections)
    connections.schema = migrations()[-1][0]
    with connections.reading() as connection:
        indexed_by = meta(connection, "terms_version")
    if indexed_by != connections.settings.words.version:
        _index_again(connections)


def check_ours(connection: apsw.Connection, path: str) -> None:
    """Refuse a database that another program made, and one that a newer Remanence made."""
    found = connection.pragma("application_id")
    foreign = found != APPLICATION_ID
    if foreign and (found or connection.execute("SELECT count(*) FROM sqlite_schema").get):
        raise StoreCorrupt(f"{path} is not a Remanence store; give another path.")
    newest = migrations()[-1][0]
    if (version := connection.pragma("user_version")) > newest:
        raise too_new(path, version, newest)


def migrate(connections: Connections) -> None:
    """Apply what is missing, each migration in a transaction of its own."""
    for number, script in migrations():
        with connections.alone() as connection:
            if connection.pragma("user_version") >= number:
                continue
        with connections.writing() as connection:
            if connection.pragma("user_version") < number:
                _apply(connection, number, script, connections.settings.words.version)


def meta(connection: apsw.Connection, name: str) -> object:
    """A value of the table `meta`, or None."""
    return fetch_value(connection, "meta", (name,))


def new_identity(connection: apsw.Connection) -> None:
    """Give the store a name that no other has."""
    run(connection, "set_meta", ("identity", os.urandom(16).hex()))


def _apply(connection: apsw.Connection, number: int, script: str, terms_version: str) -> None:
    connection.execute(script)
    connection.pragma("user_version", number)
    if number == 1:
        connection.pragma("application_id", APPLICATION_ID)
        run(connection, "set_meta", ("digest_key", os.urandom(32)))
        run(connection, "set_meta", ("terms_version", terms_version))
        new_identity(connection)


def _index_again(connections: Connections) -> None:
    with connections.writing() as connection:
        rebuild(connection)
        version = connections.settings.words.version
        run(connection, "set_meta", ("terms_version", version))

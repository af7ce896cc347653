"""The shared store: a PostgreSQL database through psycopg, and its vectors through pgvector."""

import logging

from remanence.store.postgres.nearest import PgVectorIndex
from remanence.store.postgres.restoring import restore
from remanence.store.postgres.store import PostgresStore

__all__ = ["PgVectorIndex", "PostgresStore", "restore"]

# Lost connections are expected and replaced; where nobody listens, nobody needs to hear of them.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

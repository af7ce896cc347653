"""The shared store: a PostgreSQL database through psycopg, and its vectors through pgvector."""

from remanence.store.postgres.nearest import PgVectorIndex
from remanence.store.postgres.restoring import restore
from remanence.store.postgres.store import PostgresStore

__all__ = ["PgVectorIndex", "PostgresStore", "restore"]

"""The store: all that is kept, in SQLite or in PostgreSQL; each write is one transaction."""

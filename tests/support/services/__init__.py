"""Real servers for tests: PostgreSQL, Valkey, Qdrant and Chroma, without root and without Docker.

Each module owns one service. `X.start(folder)` runs it on loopback as plain processes that end
with their owner; `kill`, `restart` and `stop` do what they say. `fixtures` gives them to pytest:
shared ones, started once per run at first use, and private ones for tests that kill.

Servers that already run can stand in for the shared ones; several addresses are parted by commas:

    REMANENCE_TEST_POSTGRES         a superuser's URL; pgvector must be available
    REMANENCE_TEST_VALKEY           redis://host:port
    REMANENCE_TEST_VALKEY_CLUSTER   redis://host:port of one or more nodes
    REMANENCE_TEST_QDRANT           http://host:port
    REMANENCE_TEST_QDRANT_CLUSTER   http://host:port of one or more nodes
    REMANENCE_TEST_CHROMA           http://host:port

A service that cannot start fails the test that wants it. Linux only: owners are watched by pidfd.
"""

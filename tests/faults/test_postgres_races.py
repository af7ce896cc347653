"""Connections after a failed pipeline: raced idempotency keys, and statements the server forgot."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from remanence.errors import Conflict, InvalidInput
from remanence.model.scope import Reach
from remanence.store.postgres import PostgresStore
from remanence.store.postgres.session import Session
from remanence.testing.store_suites.making import FINGERPRINT, add, memory
from support.races import RACERS, written_once, written_together
from support.soak import times

pytestmark = [pytest.mark.soak, pytest.mark.timeout(times(7_200, 1_200))]
KEYS = times(1_000, 100)
PLAIN = 40


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(postgres_url)
    yield opened
    opened.close()


def backend(session: Session) -> int:
    """The server's process behind the connection."""
    return session.connection.info.backend_pid


def test_writes_after_raced_keys_do_not_fail(store: PostgresStore) -> None:
    with ThreadPoolExecutor(RACERS) as pool:
        for number in range(KEYS):
            assert written_once(written_together(store, pool, f"key {number}"))
        for found in pool.map(lambda n: add(store, memory(f"plain {n}")), range(PLAIN)):
            assert len(found) == 1
    assert store.archive.count(Reach(tenant="t")) == KEYS + PLAIN
    found = store.upkeep.doctor(repair=False, fingerprint=FINGERPRINT)
    assert [one for one in found if one.problems] == []


def test_a_connection_that_a_statement_failed_on_is_not_used_again(store: PostgresStore) -> None:
    """What was prepared later in the failed pipeline is not there, and psycopg thinks it is."""
    add(store, memory("first"))

    def fail(session: Session) -> None:
        session.execute("SELECT 1 / %s::integer", (0,))

    before = store._database.write("t", backend)
    with pytest.raises(InvalidInput):
        store._database.write("t", fail)
    assert store._database.write("t", backend) != before


def test_an_error_of_ours_leaves_the_connection_in_use(store: PostgresStore) -> None:
    add(store, memory("first"))

    def refuse(session: Session) -> None:
        session.execute("SELECT 1", ())
        raise Conflict("no")

    before = store._database.write("t", backend)
    with pytest.raises(Conflict):
        store._database.write("t", refuse)
    assert store._database.write("t", backend) == before


def test_statements_that_the_server_forgot_are_prepared_anew(store: PostgresStore) -> None:
    for number in range(6):
        add(store, memory(f"{number}"))
    for connection in store._database.connections._idle:
        # psycopg understands a plain DEALLOCATE ALL; this it does not see.
        connection.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
    add(store, memory("after"))
    assert store.archive.count(Reach(tenant="t")) == 7

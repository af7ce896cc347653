"""Several processes on one PostgreSQL and one Qdrant cluster while servers are killed."""

from __future__ import annotations

from collections.abc import Callable

from support.machines import run_machines
from support.services.postgres import Postgres
from support.services.qdrant import Qdrant


def test_nothing_acknowledged_is_lost_and_searches_go_on(
    private_postgres: Callable[..., Postgres], private_qdrant: Callable[..., Qdrant]
) -> None:
    report = run_machines(private_postgres(), private_qdrant(nodes=3), kills=5)
    print(report.longest_search_s, report.longest_write_s, report.degraded)
    assert len(report.acknowledged) > 100
    assert (report.lost, report.doubled) == (set(), set())
    assert report.errors == []
    assert report.searches > 100

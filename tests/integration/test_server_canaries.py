"""Many tenants behind one server: no way in tells or changes what is another's.

`make soak ONLY=canaries` is the long form.
"""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

import pytest

from support.canary_calls import Canaries, Report, canaries
from support.canary_doors import OTHERS, doors
from support.canary_tenants import CONTENTS
from support.canary_values import FIELDS, UnknownField

# What no tenant's key may ever do.
OPERATORS = ("compact", "doctor", "reindex")


async def secrets() -> None: ...


def check(report: Report, made: Canaries) -> None:
    assert not made.unknown()
    assert report.leaks == []
    assert report.changed == []
    assert report.failures == []
    assert {door.name for door in doors()} == set(report.through)
    # Callers saw their own things, so what was looked for could have been found.
    assert len(set(CONTENTS) & set(report.own)) > len(CONTENTS) / 2
    assert report.answers["200"] > report.calls / 3
    assert report.lines > report.calls / 2
    good = {name for name, count in report.good.items() if count}
    assert not [
        name for name in good for verb in OPERATORS if name.endswith((f"/{verb}", f":{verb}"))
    ]


def test_no_tenant_learns_or_changes_what_is_anothers(tmp_path: Path) -> None:
    database, seed = str(tmp_path / "memory.db"), random.randrange(2**32)
    with canaries(database, count=20, seed=seed, durability="normal") as made:
        check(made.run(1_500), made)


def test_no_tenant_on_postgresql_either(postgres_url: str) -> None:
    with canaries(postgres_url, count=4, seed=random.randrange(2**32)) as made:
        check(made.run(len(doors()), threads=1), made)


def test_a_wall_with_a_hole_is_noticed(tmp_path: Path) -> None:
    database = str(tmp_path / "memory.db")
    with canaries(database, count=3, seed=1, durability="normal") as made:
        tenants = made.servers["full"].app.state.tenants
        right = tenants.of
        names = [each.name for each in made.tenants]
        following = dict(zip(names, [*names[1:], names[0]], strict=True))
        tenants.of = lambda tenant: right(following[tenant])
        report = made.run(150, threads=1)
    assert any("text of" in leak for leak in report.leaks)
    assert report.changed


def test_what_the_calls_do_not_know_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with canaries(str(tmp_path / "memory.db"), count=2, seed=1) as made:
        made.servers["full"].app.add_route("/v1/secrets", secrets, methods=["GET"])
        assert made.unknown() == {"GET /v1/secrets", "HEAD /v1/secrets"}
        monkeypatch.delitem(OTHERS, "GET /metrics")
        assert "GET /metrics" in made.unknown()
        monkeypatch.delitem(FIELDS, "diversity")
        with pytest.raises(UnknownField, match="diversity"):
            deque((made.ask("POST /v1/search") for _ in range(200)), maxlen=0)

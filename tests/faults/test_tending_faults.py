"""Tending that is killed anywhere: everything is there, and the next one goes on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from remanence.testing.copies import everything, fill, opened
from remanence.testing.kills import Kills
from remanence.testing.store_suites.making import healthy, revise

KILLS = 3

TEND = """
import sys
from remanence.store.sqlite import tending
from remanence.testing.copies import opened
tending.ENTRIES_A_STEP, tending.PAGES_A_STEP, tending.SPARE_PAGES = 5, 2, 0
store = opened(sys.argv[1])
print("go", flush=True)
store.tend()
print("done", flush=True)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("postgres_url"))


def test_killed_while_it_tends(place: str) -> None:
    kills = Kills(TEND)
    with closing(opened(place)) as store:
        fill(store, 40)
        ids = everything(store).order["t"]
        kills.whole(place)
        for n in kills.rounds(KILLS):
            for id in ids[:20]:
                revise(store, id, importance=kills.chance.random(), text=f"round {n}")
            before = everything(store)
            kills.kill(place)
            assert everything(store) == before
            assert healthy(store)
        store.tend()
        assert everything(store) == before
        assert store.tend()["feed_trimmed"] == 0

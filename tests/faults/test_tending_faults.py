"""Tending that is killed anywhere: everything is there, and the next one goes on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from remanence.testing.store_suites.making import healthy, revise
from support.copies import everything, fill
from support.kills import Kills
from support.places import opened

KILLS = 3

TEND = """
import sys
from remanence.store.sqlite import upkeep
from support.places import opened
upkeep.ENTRIES_A_STEP, upkeep.PAGES_A_STEP, upkeep.SPARE_PAGES = 5, 2, 0
store = opened(sys.argv[1])
print("go", flush=True)
store.upkeep.tend()
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
        store.upkeep.tend()
        assert everything(store) == before
        assert store.upkeep.tend()["feed_trimmed"] == 0

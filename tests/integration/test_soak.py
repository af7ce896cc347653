"""`make soak`: a run that is killed goes on, and what is found makes it fail and is kept."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from remanence.testing.patience import HANG_S, until

SOAK = Path(__file__).parents[2] / "bench" / "soak"
SEED, COUNT = 7, 8
SOURCE = """
import os, random, time
from pathlib import Path
from campaign import Campaign, Seen

HERE = Path({here!r})

def counting(work):
    with (HERE / "begun").open("a") as begun:
        begun.write(f"{{os.getpid()}}\\n")
    while len((HERE / "begun").read_text().split()) > 4 and not (HERE / "go").exists():
        time.sleep(0.01)
    work.tell(work.count)
    return Seen({{"sum": random.Random(work.seed).randrange(1000)}})

def planted(work):
    bad = (HERE / "bad").read_text().split()
    deed = bad.index(str(work.seed)) if str(work.seed) in bad else None
    if deed == 0:
        raise ValueError("a mistake")
    if deed == 1:
        os._exit(3)
    return Seen({{"lost": int(deed == 2)}})

how = dict(promise="It adds up", total={count}, size=1)
CAMPAIGNS = [
    Campaign(name="counting", unit="numbers", run=counting, **how),
    Campaign(name="planted", unit="tries", run=planted, never=("lost",), **how),
]
"""


class Soak:
    """The runner, with campaigns of this test in a folder of its own."""

    def __init__(self, here: Path) -> None:
        self.here, self.folder = here, here / "soak"
        (here / "mine.py").write_text(SOURCE.format(here=str(here), count=COUNT))

    def begin(self, *arguments: str) -> subprocess.Popen[bytes]:
        mine = ["--campaigns", str(self.here / "mine.py"), "--folder", str(self.folder)]
        with (self.here / "said").open("ab") as said:
            return subprocess.Popen(
                [sys.executable, str(SOAK), *mine, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def ended(self, *arguments: str) -> int:
        return self.begin(*arguments).wait(HANG_S)

    def lines(self, name: str = "results.jsonl") -> list[dict[str, Any]]:
        path = self.folder / name
        found = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in found]

    @property
    def summary(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.folder / "results.json").read_text())
        return told

    @property
    def said(self) -> str:
        return (self.here / "said").read_text()


@pytest.fixture
def soak(tmp_path: Path) -> Soak:
    return Soak(tmp_path)


@pytest.fixture
def seeds(soak: Soak, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    monkeypatch.syspath_prepend(str(SOAK))
    from campaign import batches_of  # type: ignore[import-not-found]
    from running import campaigns_in  # type: ignore[import-not-found]

    found = campaigns_in(soak.here / "mine.py")
    return {one.name: [batch.seed for batch in batches_of(one, 1, SEED)] for one in found}


def test_a_run_that_is_killed_goes_on_and_comes_to_the_same(
    soak: Soak, seeds: dict[str, list[int]]
) -> None:
    asked = ("--only", "counting", "--seed", str(SEED))
    running = soak.begin(*asked)
    begun = soak.here / "begun"
    until(lambda: len(soak.lines()) > 4 and len(begun.read_text().split()) > 5)
    running.kill()
    running.wait()
    batches = [int(pid) for pid in begun.read_text().split()]
    until(lambda: not any(map(_lives, batches)))
    before = len(soak.lines())
    with (soak.folder / "results.jsonl").open("a") as torn:
        torn.write('{"batch": {"campaign": "cou')
    (soak.here / "go").touch()

    assert soak.ended("--only", "counting") == 0, soak.said
    lines = soak.lines()[1:]
    assert len(lines) == COUNT
    assert {one["batch"]["seed"] for one in lines} == set(seeds["counting"])
    assert len(begun.read_text().split()) == len(batches) + COUNT + 1 - before
    (told, other) = soak.summary["campaigns"]
    expected = sum(random.Random(seed).randrange(1000) for seed in seeds["counting"])
    assert (told["done"], told["seen"]) == (COUNT, {"sum": expected})
    assert (other["done"], soak.summary["whole"]) == (0, False)
    assert "not run" in soak.said
    assert soak.ended("--times", ".5") == 1
    assert "was begun with --times 1" in soak.said


def test_what_is_found_makes_it_fail_and_keeps_its_seed(
    soak: Soak, seeds: dict[str, list[int]]
) -> None:
    bad = seeds["planted"][1:4]
    (soak.here / "bad").write_text(" ".join(map(str, bad)))
    (soak.here / "go").touch()
    assert soak.ended("--seed", str(SEED)) == 1
    told = {one["batch"]["seed"]: one["violations"] for one in soak.summary["failing"]}
    assert set(told) == set(bad)
    assert "a mistake" in told[bad[0]][0]
    assert "ended with 3" in told[bad[1]][0]
    assert told[bad[2]] == ["lost: 1"]
    assert {one["batch"]["seed"] for one in soak.lines("failed.jsonl")} == set(bad)
    assert f"--repeat planted {bad[2]} 1" in soak.said

    assert soak.ended() == 1, "nothing is left to do, and what was found stays found"
    assert soak.ended("--repeat", "planted", str(bad[2]), "1") == 1
    assert soak.ended("--repeat", "planted", str(seeds["planted"][0]), "1") == 0
    page = soak.here / "page.md"
    page.write_text("Above\n<!-- soak: begin -->\nold\n<!-- soak: end -->\nbelow\n")
    assert soak.ended("--write", str(page)) == 0
    assert "| `planted` | 8 tries | 1 lost | 3 |" in page.read_text()
    head, _, tail = page.read_text().partition("<!-- soak: begin -->")
    assert (head, tail.partition("<!-- soak: end -->")[2]) == ("Above\n", "\nbelow\n")
    assert "old" not in tail
    assert soak.ended("--anew", "--only", "counting") == 0
    assert {one["batch"]["seed"] for one in soak.lines("failed.jsonl")} == set(bad)


def test_every_campaign_has_a_name_of_its_own_and_a_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(SOAK))
    from running import campaigns_in

    found = campaigns_in(SOAK / "campaigns.py")
    assert len({one.name for one in found}) == len(found)
    assert all(0 < one.size <= one.total for one in found)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

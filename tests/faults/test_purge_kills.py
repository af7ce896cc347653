"""A purge that is killed anywhere: asked again, it ends in the state before the attack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.model.memory import State
from support.kills import Kills

KILLS = {"sqlite": 4, "postgres": 2}
HER: dict[str, Any] = {"user_id": "sunniva"}
BY: dict[str, Any] = {"actor": "mallory"}

PURGE = """
import sys
from remanence import Memory
from remanence.layers.purge import purger
purger.BATCH = 2
with Memory(sys.argv[1], tenant=sys.argv[2]) as memory:
    memory.search("harbour", user_id="sunniva")
    print("go", flush=True)
    memory.purge(actor="mallory", erase=sys.argv[3] == "True")
    print("done", flush=True)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, int]:
    sort = str(request.param)
    if sort == "sqlite":
        return str(tmp_path / "memory.db"), KILLS[sort]
    return str(request.getfixturevalue("postgres_url")), KILLS[sort]


def picture(memory: Memory) -> tuple[Any, ...]:
    """What counts: active memories, facts, blocks, who there is, and which links stand."""
    active = {
        one.id: (one.text, one.trust, one.importance, one.pinned, dict(one.metadata))
        for one in memory.find(all_users=True, limit=1_000)
    }
    facts = [(one.text, one.standing, one.trust) for one in memory.facts.find(**HER, limit=500)]
    blocks = [(one.label, one.value) for one in memory.blocks.list(**HER)]
    names = sorted(one.name for one in memory.graph.entities(**HER, limit=500))
    links = {
        (one.source, one.target, one.type) for one in memory.parts.store.links.scan(memory.tenant)
    }
    standing = {link for link in links if active.keys() >= {link[0], link[1]}}
    return active, sorted(facts), blocks, names, standing


def attacked(memory: Memory) -> tuple[Any, ...]:
    """Write a life and let somebody spoil it by every road; what it was before."""
    life = memory.add_many([f"Ana has a boat called Nora{n}" for n in range(12)], **HER)
    turns = [{"role": "user", "content": f"We sailed to harbour {n}"} for n in range(24)]
    memory.conversations.append(turns, session_id="talk", **HER)
    memory.blocks.append("human", "Likes tea.", author="sunniva", **HER)
    memory.sleep.run("talks")
    before = picture(memory)
    memory.add_many([{"text": f"Eve lives in Oslo{n}", **BY} for n in range(12)], **HER)
    memory.add_many([{"text": f"{one.text}!", **BY} for one in life[:6]], **HER)
    for one in life[:5]:
        memory.update(one.id, text="Ana has a boat called Eve", trust=0.1, **BY)
    message = memory.find(kinds="message", newest_first=False, **HER)[0]
    memory.update(message.id, text="We sank", **BY)
    memory.forget([one.id for one in life[8:]], **BY)
    memory.blocks.rethink("human", "Obey.", author="mallory", **HER)
    for label in ("orders", "more", "still_more"):
        memory.blocks.create(label, "Obey.", author="mallory", **HER)
    memory.facts.add("Ana", "works at", "Evil", metadata=BY, **HER)
    memory.sleep.run("merge")
    assert picture(memory) != before
    return before


@pytest.mark.parametrize("erase", [False, True])
def test_killed_while_it_purges(place: tuple[str, int], erase: bool) -> None:
    database, count = place
    kills = Kills(PURGE)
    with Memory(database, tenant="t0") as memory:
        before = {"t0": attacked(memory)}
    kills.whole(database, "t0", erase)
    for round in kills.rounds(count):
        tenant = f"t{round}"
        with Memory(database, tenant=tenant) as memory:
            before[tenant] = attacked(memory)
        kills.kill(database, tenant, erase)
    for tenant, was in before.items():
        with Memory(database, tenant=tenant) as memory:
            done = memory.purge(**BY, erase=erase)
            assert done.kept == ()
            assert picture(memory) == was
            assert memory.purge(**BY, erase=erase).count == 0
            left = memory.find(filters={"field.actor": "mallory"}, states="any", **HER)
            assert {one.state for one in left} == (set() if erase else {State.QUARANTINED})

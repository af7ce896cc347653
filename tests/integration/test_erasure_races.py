"""Erasing while another handle erases or adds: nothing is left, and nothing is signed before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from remanence import Memory
from remanence.errors import Conflict
from remanence.model.document import Put, Shelf
from remanence.model.erasure import By, ErasureRequest
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.testing.store_suites.making import NOW, block
from support.races import (
    Erased,
    erased_while_another_adds,
    erased_while_another_erases,
    fill,
)
from support.soak import times

RACES = times(100, 3)
pytestmark = [pytest.mark.soak, pytest.mark.timeout(times(7_200, 1_200))]
Open = Callable[[], Memory]


@pytest.fixture
def opener(kept_in: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Open]:
    url = tmp_path / "m.db" if kept_in == "sqlite" else request.getfixturevalue("postgres_url")
    opened: list[Memory] = []

    def open_one() -> Memory:
        opened.append(Memory(url, embedder="none", durability="normal"))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def test_one_handle_erases_the_user_while_another_erases_memories(opener: Open) -> None:
    mine, other = opener(), opener()
    for _ in range(RACES):
        assert erased_while_another_erases(mine, other) == Erased(left=0, signed_early=False)


def test_one_handle_erases_the_user_while_another_adds(opener: Open) -> None:
    mine, other = opener(), opener()
    for _ in range(RACES):
        assert erased_while_another_adds(mine, other) == Erased(left=0, signed_early=False)


def test_it_looks_again_until_nothing_is_left(opener: Open) -> None:
    mine, other = opener(), opener()
    fill(mine, 3)
    late: list[str] = []

    def look() -> list[MemoryRecord]:
        """As another handle would add between two looks."""
        found = mine.find(user_id="ana", limit=100)
        if len(late) < 4:
            late.append(other.add("meanwhile", user_id="ana").id)
        return found

    done = mine.service._eraser.erase(look, ErasureRequest(by=By.SCOPE, user_id="ana"))
    assert done.receipt is not None
    assert {*late} <= {*done.receipt.ids}
    assert mine.count(user_id="ana") == 0
    assert len(done) == 7


def test_what_comes_without_end_stays_and_the_receipt_says_so(opener: Open) -> None:
    mine, other = opener(), opener()
    fill(mine, 3)

    def look() -> list[MemoryRecord]:
        found = mine.find(user_id="ana", limit=100)
        other.add("again", user_id="ana")
        return found

    done = mine.service._eraser.erase(look, ErasureRequest(by=By.SCOPE, user_id="ana"))
    assert done.receipt is not None
    assert "What others wrote after" in done.receipt.remains[-1]
    left = mine.find(user_id="ana")
    assert left
    assert all(one.id not in done.receipt.ids for one in left)


def test_a_receipt_is_not_put_while_a_memory_is_there(opener: Open) -> None:
    memory = opener()
    (id,) = fill(memory, 1)
    store, reach = memory.parts.store, Reach(tenant=memory.tenant, user_id="ana")
    told = Put(address=block("told"), value={"x": 1}, at=NOW)
    with pytest.raises(Conflict, match="1 memories are still there"):
        store.documents.put(memory.tenant, [told], vacant=(reach, None))
    assert store.documents.shelved(Reach(tenant=memory.tenant), Shelf.BLOCK) == []
    memory.forget(id, erase=True)
    assert len(store.documents.put(memory.tenant, [told], vacant=(reach, None))) == 1


def test_a_walk_passes_over_nothing_while_others_remove(opener: Open) -> None:
    memory, other = opener(), opener()
    ids = fill(memory, 1_200)
    reach = Reach(tenant=memory.tenant, user_id="ana")
    walk = memory.parts.store.archive.walk(reach)
    seen = [next(walk).id]
    other.forget(ids[1:400], erase=True)
    fill(other, 5)
    seen += [one.id for one in walk]
    assert len(seen) == len(set(seen))
    assert set(ids[400:]) <= set(seen) <= set(ids)


def test_purging_finds_what_was_written_while_another_handle_erases(opener: Open) -> None:
    mine, other = opener(), opener()
    for erase in (False, True) * (RACES // 4):
        good = [{"text": f"good {n}", "source": "good"} for n in range(600)]
        kept = [one.id for one in mine.add_many(good, user_id="ana")]
        mine.add_many([{"text": f"bad {n}", "source": "bad"} for n in range(600)], user_id="ana")

        def erase_some(kept: list[str] = kept) -> None:
            for at in range(0, 600, 50):
                other.forget(kept[at : at + 50], erase=True)

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(erase_some)
            mine.purge(source="bad", user_id="ana", erase=erase)
            done.result()
        left = mine.find(user_id="ana", filters={"source": "bad"}, states="active")
        assert left == []
        mine.forget(user_id="ana", erase=True)
        assert mine.count(user_id="ana") == 0


def test_pages_from_the_oldest_on_stay_while_others_add(opener: Open) -> None:
    mine, other = opener(), opener()
    ids, seen = fill(mine, 30), list[str]()
    for at in range(0, 30, 10):
        page = mine.find(user_id="ana", limit=10, offset=at, newest_first=False)
        seen += [one.id for one in page]
        fill(other, 3)
    assert seen == ids

"""Edges found by reading: each was wrong once and must not be again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import numpy as np
import pytest

from remanence import Memory
from remanence.errors import Conflict, InvalidInput
from remanence.model.ports.store import Trait
from remanence.recall.columns import columns_of
from remanence.recall.lexical import word_scores


def test_a_term_that_is_everywhere_is_worth_less_than_a_rare_one() -> None:
    traits = [
        Trait(n, 1, None, None, None, None, "message", "active", 0, 0, 5, 30, 0, 0.5, 1.0, 0, 0)
        for n in range(1, 101)
    ]
    words = word_scores(columns_of(traits), ["project", "zebra"], [None, np.array([1, 2])], 40)
    assert words.worth["project"] < words.worth["zebra"]
    assert words.share(np.array([[False], [True]]))[0] == pytest.approx(1)


def test_a_key_whose_memory_was_erased_says_so(memory: Memory) -> None:
    record = memory.add("x", idempotency_key="k")
    memory.forget(record.id, erase=True)
    with pytest.raises(Conflict, match="erased"):
        memory.add("x", idempotency_key="k")


def test_no_state_finds_nothing(memory: Memory) -> None:
    memory.add("x")
    assert memory.search("x", states=[]) == []
    assert memory.find(states=[]) == []


def test_ids_and_a_scope_are_not_mixed(memory: Memory) -> None:
    record = memory.add("Alice's own", user_id="alice")
    with pytest.raises(InvalidInput, match="not both"):
        memory.forget(record.id, user_id="bob", erase=True)
    assert memory.get(record.id).state == "active"


def test_what_waits_for_vectors_gets_them_from_a_later_process(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    with Memory(database, cache=str(tmp_path / "no-models"), embedder="nowhere") as blind:
        blind.add("The heron stands in the reeds")
    with Memory(database) as memory:
        assert memory.stats().pending == 1
        memory.add("Something else")
        assert memory.stats().pending == 0
        assert memory.search("heron")[0].similarity is not None


def test_pending_counts_one_tenant_alone(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    with Memory(database, tenant="a", cache=str(tmp_path), embedder="nowhere") as blind:
        blind.add("waiting")
    with Memory(database, tenant="b") as other:
        assert other.stats().pending == 0


def test_closing_succeeds_while_another_writes(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    memory = Memory(database, busy_timeout_s=0.1)
    memory.add("x")
    memory.search("x")
    other = apsw.Connection(str(database))
    other.execute("BEGIN IMMEDIATE")
    memory.close()
    other.execute("ROLLBACK")
    other.close()
    with Memory(database) as again:
        assert again.count() == 1


def test_true_is_not_one(memory: Memory) -> None:
    record = memory.add("x", metadata={"a": 1})
    changed = memory.update(record.id, metadata={"a": True})
    assert changed.version == 2
    assert memory.get(record.id).metadata == {"a": True}
    assert memory.get(record.id).metadata["a"] is True


def test_updates_at_the_same_time_all_happen(memory: Memory) -> None:
    record = memory.add("x")
    start = threading.Barrier(4)

    def change(number: int) -> None:
        start.wait()
        memory.update(record.id, metadata={"by": number})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(4)))
    assert memory.get(record.id).version == 5
    assert len(memory.history(record.id)) == 5


def test_why_not_refuses_what_search_does_not_have(memory: Memory) -> None:
    record = memory.add("x")
    with pytest.raises(TypeError, match="'foo'"):
        memory.why_not("x", record.id, foo=1)  # type: ignore[call-arg]


def test_a_backup_is_restored_from_python(memory: Memory, tmp_path: Path) -> None:
    memory.add("kept")
    copy = memory.backup(tmp_path / "copy.db")
    with Memory.restore(copy, tmp_path / "new.db") as restored:
        assert [record.text for record in restored.find()] == ["kept"]


def test_bare_tool_calls_are_passed_over(memory: Memory) -> None:
    records = memory.add_messages(
        [
            {"role": "user", "content": "What is the weather?"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            {"role": "assistant", "content": "It is sunny."},
        ]
    )
    assert [record.text for record in records] == ["What is the weather?", "It is sunny."]


def test_the_history_tells_one_from_true(memory: Memory) -> None:
    record = memory.add("counted", metadata={"a": 1})
    memory.update(record.id, metadata={"a": True})
    assert memory.history(record.id)[-1].before == {"metadata": {"a": 1}}

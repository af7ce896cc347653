"""A writer that dies between commit and answer: repeating the request gives exactly one copy."""

from __future__ import annotations

import random
from pathlib import Path

from remanence.model.scope import Reach
from remanence.model.write import Insert, Receipt
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import healthy, memory, write
from support.writers import run_and_kill

ROUNDS = 20


def test_an_ambiguous_write_is_repeated_without_a_second_copy(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    for number in range(ROUNDS):
        key = f"request {number}"
        run_and_kill(chance.random() * 0.01, "doing", path=str(path), receipt=key)
        receipt = Receipt(key=key, digest=b"same")
        answer = write(store, Insert(record=memory(f"once, for {key}")), receipt=receipt)
        again = write(store, Insert(record=memory(f"once, for {key}")), receipt=receipt)
        assert again.repeated
        assert again.records == answer.records
        assert store.archive.count(Reach(tenant="t")) == number + 1
    assert healthy(store)
    store.close()

"""B5: a language model that times out, talks nonsense or deletes at random cannot lose a memory."""

from __future__ import annotations

from pathlib import Path

from support.hostile_sleep import hostile_nights

CYCLES = 60


def test_nothing_is_lost_and_all_of_it_can_be_taken_back(tmp_path: Path) -> None:
    with hostile_nights(tmp_path / "memory.db", seed=6) as nights:
        for _ in range(CYCLES):
            nights.cycle()
        told = nights.counts
        assert told["misbehaviours"] >= 10, told
        assert told["merge failed"], told
        assert told["merge completed"], told
        assert told["distil completed"], told
        nights.undone()

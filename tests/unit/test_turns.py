"""Only one thread of a process computes at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from remanence.model.fork_safety import computing


def test_all_share_one_turn() -> None:
    assert computing() is computing()


def test_no_other_thread_has_a_turn_meanwhile() -> None:
    def taken() -> bool:
        free = computing().acquire(blocking=False)
        if free:
            computing().release()
        return not free

    with ThreadPoolExecutor(1) as pool:
        with computing():
            assert pool.submit(taken).result()
        assert not pool.submit(taken).result()

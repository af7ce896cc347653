"""When a call is over, and what its error says."""

from __future__ import annotations

import pytest

from remanence.errors import Cancelled, DeadlineExceeded
from remanence.model import deadline
from remanence.model.deadline import Deadline


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_a_deadline_nothing_is_over() -> None:
    deadline.check()
    deadline.breathe()
    assert not deadline.over()
    assert deadline.left(5) == 5


def test_it_passes() -> None:
    clock = Clock()
    with deadline.within(Deadline(2, monotonic=clock)):
        clock.now = 1.5
        assert deadline.left(10) == 0.5
        deadline.check()
        clock.now = 2.0
        assert (deadline.left(10), deadline.over()) == (0, True)
        with pytest.raises(DeadlineExceeded, match="nothing was changed"):
            deadline.check()
        with deadline.unlimited():
            deadline.check()


def test_one_inside_another_has_its_own_time() -> None:
    clock = Clock()
    outer, inner = Deadline(2, monotonic=clock), Deadline(monotonic=clock)
    outer.give_way = clock
    with deadline.within(outer):
        with deadline.within(inner):
            clock.now = 100.0
            deadline.check()
            deadline.committed()
            assert inner.give_way is clock
        deadline.check()
        clock.now = 103.0
        with pytest.raises(DeadlineExceeded, match="stays"):
            deadline.check()


def test_a_commit_gives_time_to_come_to_the_end_once() -> None:
    clock = Clock()
    end = Deadline(2, monotonic=clock)
    clock.now = 1.9
    end.committed()
    clock.now = 3.8
    end.check()
    end.committed()
    clock.now = 3.9
    with pytest.raises(DeadlineExceeded) as stopped:
        end.check()
    assert stopped.value.committed


def test_it_is_cancelled_though_it_has_no_end() -> None:
    end = Deadline()
    end.check()
    end.cancel("Somebody wanted it so")
    with pytest.raises(Cancelled, match="Somebody wanted it so; nothing was changed"):
        end.check()


def test_a_long_loop_is_left_in_the_middle() -> None:
    end, seen = Deadline(), []
    with pytest.raises(Cancelled), deadline.within(end):
        seen.extend(one for one in deadline.unhurried(_cancelling(end), every=10))
    assert len(seen) < 30


def _cancelling(end: Deadline) -> list[int]:
    end.cancel()
    return list(range(1_000))

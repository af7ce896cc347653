"""Whose turn it is: time of threads is counted, and who had less comes first."""

from __future__ import annotations

import asyncio
import threading

from remanence.model import deadline
from remanence.server.executor import LAG_S, MARGIN_S, PRESENT_S, Calls, WorkShares
from remanence.testing.patience import HANG_S


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_had_less_comes_first() -> None:
    shares = WorkShares(Clock())
    for one in ("loud", "quiet"):
        shares.come(one)
    shares.charge("loud", MARGIN_S * 2)
    assert shares.shares_with_others("loud")
    assert not shares.shares_with_others("quiet")


def test_nobody_saves_up_by_being_away_nor_pays_for_ever() -> None:
    clock = Clock()
    shares = WorkShares(clock)
    shares.come("loud")
    shares.charge("loud", 3_600)
    shares.come("quiet")
    assert shares.spent("quiet") <= shares.spent("loud")
    shares.charge("loud", 3_600)
    assert shares.spent("loud") - shares.spent("quiet") <= LAG_S
    shares.go("quiet")
    clock.now = PRESENT_S + 1
    assert not shares.shares_with_others("loud")


def test_a_call_gives_way_until_the_other_is_done() -> None:
    shares = WorkShares(Clock())
    for one in ("loud", "quiet"):
        shares.come(one)
    shares.charge("loud", 1.0)
    waited = threading.Event()

    def give_way() -> None:
        shares.give_way("loud", HANG_S)
        waited.set()

    thread = threading.Thread(target=give_way)
    thread.start()
    assert not waited.is_set()
    shares.go("quiet")
    assert waited.wait(HANG_S)
    thread.join()
    shares.give_way("quiet", HANG_S)  # nobody had less: no wait


def test_a_tenant_with_many_calls_leaves_others_their_turn() -> None:
    order: list[str] = []

    async def all_of_them() -> None:
        calls, go_on = Calls(1), threading.Event()

        def work(who: str, hold: bool = False) -> None:
            if hold:
                assert go_on.wait(HANG_S)
            order.append(who)

        held = [asyncio.ensure_future(calls.run(work, "loud", True, who="loud"))]
        held += [asyncio.ensure_future(calls.run(work, "other", True, who="other"))]
        await asyncio.sleep(0)
        waiting = [asyncio.ensure_future(calls.run(work, "loud", who="loud")) for _ in range(5)]
        waiting += [asyncio.ensure_future(calls.run(work, "quiet", who="quiet"))]
        await asyncio.sleep(0)
        calls._short._shares.charge("loud", 2.0)
        calls._short._shares.charge("other", 1.0)
        go_on.set()
        await asyncio.gather(*held, *waiting)
        calls.close()

    asyncio.run(all_of_them())
    assert sorted(order) == sorted(["loud"] * 6 + ["other", "quiet"])
    assert order.index("quiet") <= 3


def test_a_call_that_waited_past_its_end_is_not_begun() -> None:
    begun: list[str] = []

    async def both() -> BaseException | None:
        calls, go_on = Calls(1, timeout_s=0.05), threading.Event()
        first = asyncio.ensure_future(calls.run(go_on.wait, HANG_S, who="a"))
        second = asyncio.ensure_future(calls.run(begun.append, "x", who="a"))
        await asyncio.sleep(0)
        await asyncio.sleep(0.1)
        go_on.set()
        await first
        [failed] = await asyncio.gather(second, return_exceptions=True)
        calls.close()
        return failed if isinstance(failed, BaseException) else None

    assert isinstance(asyncio.run(both()), deadline.DeadlineExceeded)
    assert not begun

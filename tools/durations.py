"""Which unit tests are too slow for `make test-fast`: `make durations`.

Processor time decides, so a busy machine tells the same as an idle one. What it finds is either
made quicker, moved out of tests/unit, or marked `slow`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIMIT_S = 0.25


class Durations:
    """Adds up the processor time of each test, its set-up and the processes it started."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure one test."""
        began = _processor_s()
        result = yield
        self.spent[item.nodeid] = _processor_s() - began
        return result

    def too_slow(self) -> list[tuple[float, str]]:
        """The slow tests by name, the slowest first; cases of one test are one test."""
        slowest: dict[str, float] = {}
        for case, spent in self.spent.items():
            name = case.partition("[")[0]
            slowest[name] = max(spent, slowest.get(name, 0.0))
        found = [(spent, name) for name, spent in slowest.items() if spent > LIMIT_S]
        return sorted(found, reverse=True)


def main() -> int:
    """Run the tests of the fast loop one after the other and name the slow ones."""
    durations = Durations()
    os.chdir(ROOT)
    code = pytest.main(["-m", "not slow and not soak", "tests/unit"], [durations])
    for spent, name in durations.too_slow():
        print(f"{spent:6.2f} s  {name}")
    print(f"{sum(durations.spent.values()):6.1f} s in all")
    return int(code) or bool(durations.too_slow())


def _processor_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main())

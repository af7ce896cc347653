"""Schedules over years: workers that die anywhere, clocks that differ, and what is lost or doubled.

python bench/schedule.py --days 1000 --seeds 1 2 3
"""

from __future__ import annotations

import argparse
import logging
import time
from contextlib import closing
from dataclasses import asdict

from remanence.store.sqlite import SqliteStore
from support.nights import Nights, Tally


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--days", type=int, default=1_000)
    options.add_argument("--seeds", type=int, nargs="+", default=[1])
    options.add_argument("--workers", type=int, default=3)
    given = options.parse_args()
    logging.getLogger("remanence.consolidation").setLevel(logging.CRITICAL)
    columns = [name for name in Tally.__slots__ if name != "days"]
    print(f"{given.days} days, {given.workers} workers")
    print(" ".join(f"{name:>10}" for name in ["seed", *columns, "seconds"]))
    for seed in given.seeds:
        begun = time.process_time()
        with closing(SqliteStore(":memory:")) as store:
            tally = asdict(Nights(store, seed, given.workers).live(given.days))
        told = [seed, *(tally[name] for name in columns), round(time.process_time() - begun, 1)]
        print(" ".join(f"{value:>10}" for value in told))


if __name__ == "__main__":
    main()

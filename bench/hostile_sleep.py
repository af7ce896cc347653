"""B5, the long form: two years of nights with a language model that cannot be trusted.

    python bench/hostile_sleep.py --cycles 730

Every night merges, distils and reflects with a model that on many of them times out, answers junk,
names memories it was not shown, invents or cuts its answer short. After every step each memory must
be there, or archived with a successor; a step whose model misbehaved must have failed and changed
nothing; in the end every run is undone, and everything must be as it was written.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from remanence.model.sleep import Status
from remanence.testing.hostile_sleep import hostile_nights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=730)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=None, help="a folder for temporary files")
    given = parser.parse_args()
    started = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(dir=given.work, prefix="hostile-") as folder,
        hostile_nights(Path(folder) / "memory.db", given.seed) as nights,
    ):
        for cycle in range(given.cycles):
            nights.cycle()
            if cycle % 50 == 49:
                print(f"{cycle + 1} cycles, {time.perf_counter() - started:.0f} s", flush=True)
        nights.undone()
        print(f"seed {given.seed}: {given.cycles} cycles, {len(nights.added)} memories,")
        done = sum(run.status is Status.COMPLETED for run in nights.runs)
        took = time.perf_counter() - started
        print(f"0 lost, all {done} runs that completed undone, {took:.0f} s")
        for name, count in sorted(nights.counts.items()):
            print(f"{name:>22}  {count}")


if __name__ == "__main__":
    main()

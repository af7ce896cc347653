"""How long a night takes, step by step, on one core: a copy of a memory sleeps.

    python bench/night.py MEMORY.db [--step STEP ...]

The erasing step is left out, as by default. Seconds are those of the clock; `core` are those that
the processor worked, which other work on the machine does not lengthen.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

from remanence import Memory
from remanence.model.sleep import Step
from speed import keep_to_one_core


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("memory", type=Path)
    parser.add_argument("--step", action="append", choices=list(Step))
    given = parser.parse_args()
    keep_to_one_core()
    with tempfile.TemporaryDirectory(prefix="night-") as folder:
        copied = shutil.copy(given.memory, folder)
        with Memory(copied) as memory:
            print(json.dumps({"memories": memory.count(all_users=True)}))
            for step in given.step or [one for one in Step if one is not Step.ERASE]:
                print(json.dumps(slept(memory, step)), flush=True)


def slept(memory: Memory, step: str) -> dict[str, object]:
    """One step, and what it took."""
    clock, core = time.monotonic(), time.process_time()
    (run,) = memory.sleep.run([step])
    took = {"seconds": time.monotonic() - clock, "core": time.process_time() - core}
    told = {name: round(seconds, 1) for name, seconds in took.items()}
    return {"step": step, "status": run.status, **told, "counts": dict(run.counts)}


if __name__ == "__main__":
    main()

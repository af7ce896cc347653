"""A server that is killed again and again while four writers call it over HTTP.

    python bench/server_kills.py --kills 20

Each writer repeats what was not answered, with the same Idempotency-Key. In the end everything
acknowledged must be there, once, and the store be healthy. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from remanence.testing.server_kills import kill_often, lost_and_doubled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=None, help="a folder for temporary files")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.work, prefix="server-kills-") as folder:
        started, database = time.perf_counter(), Path(folder) / "memory.db"
        tally = kill_often(database, given.kills, random.Random(given.seed))
        lost, doubled = lost_and_doubled(database, tally)
    told = {
        "seed": given.seed,
        "kills": given.kills,
        "seconds": round(time.perf_counter() - started, 1),
        "acknowledged": len(tally.acknowledged),
        "calls_repeated": tally.repeated,
        "searches": tally.reads,
        "lost": lost,
        "doubled": doubled,
        "odd": tally.odd[:20],
    }
    print(json.dumps(told, indent=2))
    sys.exit(1 if lost or doubled or tally.odd else 0)


if __name__ == "__main__":
    main()

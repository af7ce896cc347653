"""What one tenant sees while another sends the worst texts at full rate, in the same run.

    python bench/neighbours.py --work FOLDER
    python bench/neighbours.py --database postgresql://user:password@127.0.0.1/name --workers 2

A server is started as a process of its own. The quiet tenant searches and adds over one connection,
first alone, then while a key of another tenant posts texts of adversarial shapes, long searches and
imports over several. Prints JSON: both runs with their errors, and the ratio of their p95.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from support.neighbours import street


def main() -> None:
    given = arguments()
    if given.work is not None:
        given.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.work, prefix="neighbours-") as folder:
        database = given.database or Path(folder) / "memory.db"
        with street(database, "--workers", str(given.workers)) as both:
            both.fill()
            both.ask(given.calls // 4)  # everything is loaded afterwards
            idle = both.ask(given.calls)
            with both.noise(given.lines, given.size) as loud:
                time.sleep(given.before)
                pressed = both.ask(given.calls)
    told = {"idle": idle.figures(), "pressed": pressed.figures(), "loud": loud.figures()}
    told["p95_ratio"] = round(told["pressed"]["p95_ms"] / told["idle"]["p95_ms"], 2)
    told["errors"] = pressed.errors
    print(json.dumps(told, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", help="a store; left out: a new SQLite file")
    parser.add_argument("--work", type=Path, help="a folder for temporary files")
    parser.add_argument("--calls", type=int, default=300, help="of the quiet tenant, in each run")
    parser.add_argument("--lines", type=int, default=4, help="connections of the loud tenant")
    parser.add_argument("--size", type=int, default=300_000, help="characters of its texts")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--before", type=float, default=5, help="seconds of noise before")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""E1, the long form: calls with the keys of 20 tenants through every route and tool of a server.

    python bench/canaries.py --calls 100000

Each tenant has words of its own in all that it keeps. Callers try names and ids of others, wrong
users, filters, odd values. No answer, header, error, log line, figure or export may hold a word of
another tenant, and what tenants have that never call must be at the end as it was. Prints JSON,
after Ctrl-C of what was done until then; the exit code is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from remanence.testing.canary_calls import Report, canaries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", default="", help="a PostgreSQL URL; else a new file")
    parser.add_argument("--work", type=Path, default=None, help="a folder for temporary files")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=given.work, prefix="canaries-") as folder,
        Progress(console=Console(stderr=True)) as bar,
        canaries(
            given.database or str(Path(folder) / "memory.db"),
            count=given.tenants,
            seed=given.seed,
            durability="normal",
        ) as made,
    ):
        task, started = bar.add_task("calls", total=given.calls), time.perf_counter()

        def tell(done: int) -> None:
            bar.advance(task, done)
            calls = made.report.calls
            if not bar.console.is_terminal and calls % 10_000 == 0:
                print(f"{calls} calls, {time.perf_counter() - started:.0f} s", file=sys.stderr)

        report = made.run(given.calls, given.connections, tell)
        seconds = time.perf_counter() - started
    print(json.dumps(told(report, seconds), indent=2))
    sys.exit(1 if report.leaks or report.changed or report.failures else 0)


def told(report: Report, seconds: float) -> dict[str, object]:
    return {
        "seed": report.seed,
        "calls": report.calls,
        "seconds": round(seconds, 1),
        "ways_in": len(report.through),
        "ways_in_that_succeeded": sum(1 for count in report.good.values() if count),
        "never_succeeded": sorted(name for name in report.through if not report.good[name]),
        "answers": dict(sorted(report.answers.items())),
        "log_lines": report.lines,
        "own_words_seen": dict(report.own.most_common()),
        "leaks": report.leaks[:20],
        "leaks_in_all": len(report.leaks),
        "changed": report.changed,
        "failures": report.failures[:20],
        "failures_in_all": len(report.failures),
    }


if __name__ == "__main__":
    main()

"""Every promise tried at length: power losses, kills, canaries, races, erasures, hostile nights.

    make soak                            all of it; a run that was killed goes on
    make soak ONLY=power-loss TIMES=.1   one campaign, at a tenth of its length
    make soak ANEW=1                     from the beginning
    python bench/soak --repeat power-loss 1234567 1000    one batch again, by its seed

Results are kept in .soak: results.jsonl as they come, then results.json and results.md;
failed.jsonl keeps every seed that found something. The exit code is 1 if anything did.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from campaign import Batch, Campaign, Work, named
from results import Done, Results, failures, origin, summary, table, write_into
from running import Run, SharedPostgres, campaigns_in, seen_by

INTERRUPTED = 130
HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / ".soak"
PAGE = HERE.parents[1] / "docs" / "reliability.md"


def main() -> int:
    """Do what the arguments say; 1 if something was seen that should not have been."""
    given = _arguments()
    campaigns = campaigns_in(given.campaigns)
    if given.repeat:
        return _repeat(campaigns, *given.repeat)
    if given.write:
        write_into(given.write, json.loads((given.folder / "results.json").read_text()))
        return 0
    chosen = named(campaigns, given.only)
    seed = given.seed if given.seed is not None else random.randrange(2**32)
    results = Results.open(given.folder, seed, given.times, anew=given.anew)
    console = Console(stderr=True)
    interrupted = False
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Bars(results, chosen, given.workers, console) as bars:
            Run(results, chosen, given.campaigns, given.workers, bars.more, bars.ended).run()
    except KeyboardInterrupt:
        interrupted = True
        console.print("Interrupted; the same command goes on from here.")
    told = summary(results, campaigns)
    results.close()
    (given.folder / "results.json").write_text(json.dumps(told, indent=1) + "\n")
    (given.folder / "results.md").write_text(f"{origin(told)}\n\n{table(told)}\n")
    print(origin(told), table(told), sep="\n\n")
    for one in failures(told):
        print(f"\nfound something: python bench/soak {one}")
    return 1 if told["violations"] else INTERRUPTED if interrupted else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "bench/soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="campaigns, or how their names begin")
    parser.add_argument("--times", type=float, help="how long, 1 being the full length")
    parser.add_argument("--workers", type=int, default=2, help="batches at once")
    parser.add_argument("--seed", type=int, help="of a new run; a random one if not given")
    parser.add_argument("--anew", action="store_true", help="forget the run that was begun")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--campaigns", type=Path, default=HERE / "campaigns.py")
    parser.add_argument("--repeat", nargs=3, metavar=("CAMPAIGN", "SEED", "COUNT"))
    parser.add_argument(
        "--write", type=Path, nargs="?", const=PAGE, help="put the last table into a page"
    )
    return parser.parse_args()


def _repeat(campaigns: Sequence[Campaign], name: str, seed: str, count: str) -> int:
    """One batch again, in this process."""
    (campaign,) = named(campaigns, name)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        postgres = stack.enter_context(SharedPostgres()) if campaign.postgres else ""
        seen = seen_by(campaigns, name, Work(int(seed), int(count), folder, postgres))
    print(json.dumps(asdict(seen), indent=1))
    return 1 if seen.violations else 0


class Bars:
    """A bar for each campaign, and how long the rest takes; lines where there is no terminal."""

    def __init__(
        self, results: Results, campaigns: Sequence[Campaign], workers: int, console: Console
    ) -> None:
        self._results, self._campaigns, self._workers = results, campaigns, workers
        columns = (TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(
            *columns,
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._console = console
        self._done = {one.name: sum(d.batch.count for d in results.of(one)) for one in campaigns}
        self._missing = {one.name: sum(b.count for b in results.missing(one)) for one in campaigns}
        self._under_way: dict[Batch, int] = {}

    def __enter__(self) -> Bars:
        self._tasks = {
            name: self._progress.add_task(
                name, total=done + self._missing[name], completed=done, note=""
            )
            for name, done in self._done.items()
        }
        total = sum(self._missing.values())
        self._all = self._progress.add_task("all", total=None, note=self._left())
        self._progress.start()
        if not self._console.is_terminal and total:
            self._console.print(
                f"{len(self._campaigns)} campaigns, {self._left()}", highlight=False
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def more(self, batch: Batch, done: int) -> None:
        """Part of a batch is done."""
        self._under_way[batch] = self._under_way.get(batch, 0) + done
        self._progress.advance(self._tasks[batch.campaign], done)

    def ended(self, done: Done) -> None:
        """A batch is done."""
        batch = done.batch
        told = self._under_way.pop(batch, 0)
        self._missing[batch.campaign] -= batch.count
        self._progress.advance(self._tasks[batch.campaign], batch.count - told)
        if done.violations:
            self._progress.update(self._tasks[batch.campaign], note="[red]violated[/]")
        self._progress.update(self._all, note=self._left())
        if not self._console.is_terminal:
            word = "VIOLATED" if done.violations else "kept"
            line = f"{batch.campaign} {batch.number}: {word}, {done.seconds:.0f} s; {self._left()}"
            self._console.print(line, highlight=False)

    def _left(self) -> str:
        """By what the batches of this run took; before there are any, by what others took."""
        seconds = (
            sum(self._missing[one.name] * self._each_s(one) for one in self._campaigns)
            / self._workers
        )
        return f"about {seconds / 60:.0f} min left" if seconds >= 60 else "about a minute left"

    def _each_s(self, campaign: Campaign) -> float:
        ended = self._results.of(campaign)
        if not ended:
            return campaign.each_s
        return sum(one.seconds for one in ended) / sum(one.batch.count for one in ended)


if __name__ == "__main__":
    sys.exit(main())

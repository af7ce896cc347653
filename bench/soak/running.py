"""Batches in processes of their own, several at a time, until none is left."""

from __future__ import annotations

import json
import os
import resource
import runpy
import shutil
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from campaign import Batch, Campaign, Seen, Work
from results import Done, Results
from support.fork_server import end_fork_server, fork_server
from support.program import Program
from support.services.postgres import Postgres
from support.services.shared import short_folder

LIMIT_S = 7_200.0  # for what hangs
BATCH = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from running import be_a_batch
be_a_batch(sys.argv[1])
"""
Tell = Callable[[Batch, int], None]


class Run:
    """Runs what is missing, `workers` batches at a time; `tell` hears of progress."""

    def __init__(
        self,
        results: Results,
        campaigns: Sequence[Campaign],
        source: Path,
        workers: int,
        tell: Tell,
        ended: Callable[[Done], None],
    ) -> None:
        self._results, self._source, self._tell, self._ended = results, source, tell, ended
        self._campaigns = {one.name: one for one in campaigns}
        self._left = deque(batch for one in campaigns for batch in results.missing(one))
        self._lock, self._over = threading.Lock(), threading.Event()
        self._running: set[Program] = set()
        self._workers = [threading.Thread(target=self._work) for _ in range(workers)]
        self._failed: list[BaseException] = []
        self._postgres = ""

    def run(self) -> None:
        """Until nothing is left; an interrupt ends what runs, which is run again next time."""
        if not self._left:
            return
        place = self._results.folder / "work"
        shutil.rmtree(place, ignore_errors=True)
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, place, ignore_errors=True)
            if any(self._campaigns[batch.campaign].postgres for batch in self._left):
                self._postgres = stack.enter_context(SharedPostgres())
            fork_server()  # before threads ask for it, who would start one each
            stack.callback(self._end)
            for thread in self._workers:
                thread.start()
            for thread in self._workers:
                thread.join()
        if self._failed:
            raise self._failed[0]

    def _end(self) -> None:
        self._over.set()
        with self._lock:
            for program in self._running:
                program.kill()
        for thread in self._workers:
            thread.join()

    def _work(self) -> None:
        try:
            while not self._over.is_set():
                with self._lock:
                    if not self._left:
                        return
                    batch = self._left.popleft()
                self._batch(batch)
        except BaseException as failure:
            self._failed.append(failure)

    def _batch(self, batch: Batch) -> None:
        began, folder = (
            time.monotonic(),
            self._results.folder / "work" / f"{batch.campaign}-{batch.number}",
        )
        folder.mkdir(parents=True)
        asked = {"source": str(self._source), "campaign": batch.campaign, "seed": batch.seed}
        asked |= {"count": batch.count, "folder": str(folder), "postgres": self._postgres}
        with (self._results.folder / "log.txt").open("ab") as log:
            seen, processor_s = self._heard(batch, asked, log.fileno())
        if self._over.is_set():
            return
        shutil.rmtree(folder, ignore_errors=True)
        with self._lock:
            done = self._results.add(batch, seen, time.monotonic() - began, processor_s)
        self._ended(done)

    def _heard(self, batch: Batch, asked: dict[str, Any], log: int) -> tuple[Seen, float]:
        """What a process that runs the batch says in the end."""
        with Program(BATCH, json.dumps(asked), stderr=log) as program:
            with self._lock:
                self._running.add(program)
            limit = threading.Timer(LIMIT_S, program.kill)
            limit.start()
            try:
                while line := program.hear():
                    told = json.loads(line)
                    if "seen" in told:
                        program.ended()
                        return Seen(**told["seen"]), told["processor_s"]
                    self._tell(batch, told["more"])
                return Seen(violations=[f"The batch ended with {program.wait()}; see log.txt."]), 0
            finally:
                limit.cancel()
                with self._lock:
                    self._running.discard(program)


class SharedPostgres:
    """A PostgreSQL for all batches; it never syncs. Those that are killed are a batch's own."""

    def __enter__(self) -> str:
        self._folder = short_folder()
        self._server = Postgres.start(self._folder, durable=False)
        return self._server.url

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def campaigns_in(source: Path) -> list[Campaign]:
    """The campaigns that a file defines."""
    found: list[Campaign] = runpy.run_path(str(source))["CAMPAIGNS"]
    return found


def be_a_batch(given: str) -> None:
    """In a process of its own: run one, and say what it saw. What others print goes to the log."""
    asked, told = json.loads(given), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**more: Any) -> None:
        print(json.dumps(more), file=told, flush=True)

    work = Work(
        asked["seed"],
        asked["count"],
        Path(asked["folder"]),
        asked["postgres"],
        lambda more: say(more=more),
    )
    seen = seen_by(campaigns_in(Path(asked["source"])), asked["campaign"], work)
    end_fork_server()
    say(seen=asdict(seen), processor_s=_processor_s())


def seen_by(campaigns: Sequence[Campaign], name: str, work: Work) -> Seen:
    """What a batch of a campaign sees; an error is a violation."""
    campaign = next(one for one in campaigns if one.name == name)
    print(f"{name}: seed {work.seed}, {work.count} {campaign.unit}", file=sys.stderr, flush=True)
    try:
        return campaign.seen(work)
    except Exception:
        return Seen(violations=[traceback.format_exc()])


def _processor_s() -> float:
    spent = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)

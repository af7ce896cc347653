"""Several machines on one memory: writers and readers that go on while servers are killed.

    python -m support.machines --kills 5

Each worker is a process with a `Memory` of its own on one PostgreSQL and one Qdrant cluster of
three. A writer says what it wrote only after `add` has returned; a reader searches without a pause.
Meanwhile PostgreSQL is killed again and again, and so is one Qdrant node.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from remanence.api.memory import Memory
from remanence.errors import RemanenceError, StoreError
from remanence.testing.patience import HANG_S, until
from support.program import Program
from support.services.postgres import Postgres
from support.services.qdrant import Qdrant

WORKER = """
import sys
from support.machines import work
work(*sys.argv[1:])
"""
USER = "team"
WORDS = ("tea", "rain", "Lisbon", "trains", "the garden", "a letter", "Ana", "the budget")
CALM = 20  # times that each worker does its work between two kills
DOWN_S = 0.3

Told = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the workers said, and what the memory holds in the end."""

    acknowledged: dict[str, str]  # text by id
    found: dict[str, list[str]]  # ids by text, read from the store at the end
    searches: int
    degraded: Counter[str]
    errors: list[str]
    longest_search_s: float
    longest_write_s: float
    kills: int

    @property
    def lost(self) -> set[str]:
        """Acknowledged texts that are not there."""
        return {text for text in self.acknowledged.values() if text not in self.found}

    @property
    def doubled(self) -> set[str]:
        """Texts that are there more than once."""
        return {text for text, ids in self.found.items() if len(ids) > 1}


@dataclass(slots=True)
class Worker:
    """A process from the outside: all it said, heard by a thread."""

    program: Program
    heard: list[Told] = field(default_factory=list)
    thread: threading.Thread | None = None

    @classmethod
    def start(cls, role: str, name: str, settings: Told) -> Worker:
        """Start a writer or a reader, and wait until it has done its work once."""
        worker = cls(Program(WORKER, role, name, json.dumps(settings)))
        worker._hear(worker.program.hear())
        worker.thread = threading.Thread(target=worker._listen)
        worker.thread.start()
        return worker

    def stop(self) -> None:
        """Let it finish what it is at."""
        self.program.stdin.close()
        assert self.thread is not None
        self.thread.join()
        assert self.program.ended() == 0

    def _listen(self) -> None:
        for line in self.program.stdout:
            self._hear(line)

    def _hear(self, line: str) -> None:
        self.heard.append(json.loads(line))


def run_machines(
    postgres: Postgres, qdrant: Qdrant, *, writers: int = 4, readers: int = 2, kills: int = 5
) -> Report:
    """Kill PostgreSQL so often, and in the middle a Qdrant node, under writers and readers."""
    settings = {
        "database": postgres.database(),
        "index": "qdrant",
        "index_url": ",".join(qdrant.urls),
        "server_timeout_s": HANG_S,
        "threads": 1,
    }
    workers = [Worker.start("write", f"writer {n}", settings) for n in range(writers)]
    workers += [Worker.start("read", f"reader {n}", settings) for n in range(readers)]
    for kill in range(kills):
        _calm(workers)
        if kill == kills // 2:
            qdrant.kill(1)
        postgres.kill()
        time.sleep(DOWN_S)
        postgres.restart()
        if kill == kills - 1:
            qdrant.restart(1)
    _calm(workers)
    for worker in workers:
        worker.stop()
    return _report([told for worker in workers for told in worker.heard], settings, kills)


def _calm(workers: list[Worker]) -> None:
    """Let each do its work a few times more."""
    wanted = [len(worker.heard) + CALM for worker in workers]
    until(lambda: all(len(w.heard) >= n for w, n in zip(workers, wanted, strict=True)))


def _report(heard: list[Told], settings: Told, kills: int) -> Report:
    found: dict[str, list[str]] = {}
    with Memory(**settings) as memory:
        for _, record in memory.parts.store.archive.scan(memory.tenant):
            found.setdefault(record.text, []).append(record.id)
    searches = [told for told in heard if "hits" in told]
    return Report(
        acknowledged={told["id"]: told["text"] for told in heard if "id" in told},
        found=found,
        searches=len(searches),
        degraded=Counter(why[:60] for told in searches for why in told["degraded"]),
        errors=[told["error"] for told in heard if "error" in told],
        longest_search_s=max(told["took"] for told in searches),
        longest_write_s=max(told["took"] for told in heard if "id" in told),
        kills=kills,
    )


def work(role: str, name: str, settings: str) -> None:
    """Be a worker until there is nothing more to read."""
    over = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    act = {"write": _write, "read": _read}[role]
    with Memory(**json.loads(settings)) as memory:
        number = 0
        while not over.is_set():
            began = time.monotonic()
            told = act(memory, name, number)
            print(json.dumps(told | {"took": time.monotonic() - began}), flush=True)
            number += 1


def _write(memory: Memory, name: str, number: int) -> Told:
    """Add until it is acknowledged; the key makes a repeated call harmless."""
    text = f"{name} wrote about {WORDS[number % len(WORDS)]}, note {number}"
    while True:
        try:
            record = memory.add(text, user_id=USER, idempotency_key=f"{name} {number}")
        except StoreError:
            continue
        return {"id": record.id, "text": text}


def _read(memory: Memory, name: str, number: int) -> Told:
    try:
        hits = memory.search(f"who wrote about {WORDS[number % len(WORDS)]}?", user_id=USER)
    except RemanenceError as error:
        return {"error": repr(error)}
    return {"hits": len(hits), "degraded": list(hits.degraded)}


def _show(report: Report) -> None:
    print(f"PostgreSQL killed {report.kills} times, one Qdrant node of three once.")
    print(f"{len(report.acknowledged):,} writes, the longest {report.longest_write_s:.1f} s")
    print(f"acknowledged and lost {len(report.lost)}, doubled {len(report.doubled)}")
    print(f"{report.searches:,} searches, the longest {report.longest_search_s:.1f} s")
    print(f"errors {len(report.errors)}, degraded {sum(report.degraded.values())}")
    for why, count in (report.degraded + Counter(report.errors)).most_common(8):
        print(f"  {count:>5} × {why}")


def main() -> None:
    """Start the servers, run, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=5)
    given = parser.parse_args()
    postgres = Postgres.start(Path(mkdtemp(prefix="rem-")))
    qdrant = Qdrant.start(Path(mkdtemp(prefix="rem-")), nodes=3)
    try:
        _show(run_machines(postgres, qdrant, kills=given.kills))
    finally:
        qdrant.stop()
        postgres.stop()


if __name__ == "__main__":
    main()

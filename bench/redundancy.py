"""What merging does to a redundant memory: how much goes, what recall costs, how long it takes.

    python bench/redundancy.py --data ../shared/bench

Half of the memories are LoCoMo's development conversations, each imported four times with small
rewordings; the rest are notes of no session by templates, each in four wordings. One process fills
the memory (vectors are stored with it), another on one core runs the merge step and is timed. A
question's gold counts as found if the memory itself, one of its copies, or what they were merged
into comes back.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from remanence import Memory
from remanence.consolidation.merges.step import Merging
from remanence.consolidation.sleep import Sleep
from remanence.language.english.spelling import plain
from remanence.model.clock import IdMaker, SystemClock
from remanence.model.filter import Compare
from remanence.model.memory import MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.sleep import SleepPolicy, Status, Step
from remanence.tools.evaluation.datasets import Corpus, load_corpora
from rewording import reworded, written
from speed import ONE_THREAD, keep_to_one_core

COPIES = 3
TEMPLATE_USER = "templates"
TEMPLATE_QUESTIONS = 300
START = datetime(2024, 1, 1, 9, tzinfo=UTC)


def main() -> None:
    given = arguments()
    if given.sleep:
        keep_to_one_core()
        print(json.dumps(slept(given.sleep)))
        return
    with tempfile.TemporaryDirectory(dir=given.work, prefix="redundancy-") as folder:
        path = Path(folder) / "memory.db"
        corpora = [one for one in load_corpora(given.data) if one.dataset == "locomo"]
        with Memory(path, infer_relations=False) as memory:
            ways, asked = fill(memory, corpora, given.size, random.Random(given.seed))
            before = recalled(memory, asked)
        figures = in_its_own_process(path)
        with Memory(path) as memory:
            figures |= {"before": before, "after": recalled(memory, asked)}
            figures["merged by wording"] = by_wording(memory, ways)
            figures["wrong merges"] = wrong(memory)
    told(figures)
    if given.out:
        given.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=None, help="a folder for temporary files")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--sleep", type=Path, default=None, help=argparse.SUPPRESS)
    return parser.parse_args()


def fill(
    memory: Memory, corpora: Sequence[Corpus], size: int, rng: random.Random
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The memory filled; how each copy was reworded, and the questions with their gold."""
    ways: dict[str, str] = {}
    asked: list[dict[str, Any]] = []
    for corpus in corpora:
        for copy in range(COPIES + 1):
            messages = list(_said_again(corpus, copy, ways, rng))
            for session, said in _by_session(messages):
                memory.add_messages(said, user_id=corpus.name, session_id=session)
        asked += [
            {"q": one.question, "user": corpus.name, "now": one.now, "gold": sorted(one.turns)}
            for one in corpus.probes
        ]
    rest = size - memory.count(all_users=True)
    groups = list(written(rest // (COPIES + 1), COPIES, rng))
    for copy in range(COPIES + 1):
        rows = [
            {
                "text": group.texts[copy],
                "kind": "semantic",
                "happened_at": START + timedelta(days=copy, minutes=number),
                "external_id": f"t{number}" + (f"#{copy}" if copy else ""),
            }
            for number, group in enumerate(groups)
        ]
        for at in range(0, len(rows), 500):
            memory.add_many(rows[at : at + 500], user_id=TEMPLATE_USER)
    asked += [
        {"q": group.question, "user": TEMPLATE_USER, "now": None, "gold": [f"t{number}"]}
        for number, group in list(enumerate(groups))[:TEMPLATE_QUESTIONS]
    ]
    return ways, asked


def _said_again(
    corpus: Corpus, copy: int, ways: dict[str, str], rng: random.Random
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each copy is the conversation imported again, so of the same sessions and times."""
    for turn in corpus.turns:
        message = turn.message()
        if copy:
            message["content"], how = reworded(turn.text, rng)
            message["id"] = f"{turn.id}#{copy}"
            ways[f"{corpus.name}/{turn.id}#{copy}"] = how
        yield turn.session, message


def _by_session(
    messages: Iterable[tuple[str, dict[str, Any]]],
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    sessions: dict[str, list[dict[str, Any]]] = {}
    for session, message in messages:
        sessions.setdefault(session, []).append(message)
    yield from sessions.items()


def in_its_own_process(path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--sleep", str(path)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def slept(path: Path) -> dict[str, Any]:
    """Run the merge step; its figures."""
    with Memory(path) as memory:
        store, new_id = memory.parts.store, IdMaker()
        fingerprint = memory.parts.embedder.fingerprint
        steps = {Step.MERGE: Merging(store, lambda: fingerprint)}
        clock = SystemClock()
        sleep = Sleep(store, memory.tenant, clock, new_id, steps, SleepPolicy(), believed=clock.now)
        active = _active(memory)
        resident = _peak_mb()
        started = time.perf_counter()
        (plan,) = sleep.plan()
        planned = time.perf_counter() - started
        plan_mb = _peak_mb() - resident
        started, spent = time.perf_counter(), time.process_time()
        (run,) = sleep.run()
        took, spent = time.perf_counter() - started, time.process_time() - spent
        assert run.status is Status.COMPLETED, run
        left = _active(memory)
        (again,) = sleep.plan()
        return {
            "memories": active,
            "left": left,
            "fewer": 1 - left / active,
            "plan seconds": round(planned, 2),
            "run seconds": round(took, 2),
            "run CPU seconds": round(spent, 2),
            "plan peak MB": round(plan_mb, 1),
            "peak MB": round(_peak_mb() - resident, 1),
            "groups": len(plan.deeds),
            "planned again": len(again.deeds),
        }


def recalled(memory: Memory, asked: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Recall@10: by any copy of the gold, and by the gold itself or its survivor alone."""
    records = {one.id: one for one in _all(memory)}
    by_external: dict[tuple[str, str], list[MemoryRecord]] = {}
    for one in records.values():
        base = str(one.external_id).partition("#")[0]
        by_external.setdefault((str(one.user_id), base), []).append(one)
    any_copy, alone = [], []
    for probe in asked:
        hits = memory.search(probe["q"], user_id=probe["user"], limit=10, now=probe["now"])
        found = {hit.memory.id for hit in hits}
        copies = [by_external[probe["user"], gold] for gold in probe["gold"]]
        any_copy.append(_share([{_survivor(one, records) for one in c} for c in copies], found))
        own = [next(one for one in c if "#" not in str(one.external_id)) for c in copies]
        alone.append(_share([{_survivor(one, records)} for one in own], found))
    return {
        "recall@10": round(sum(any_copy) / len(asked), 4),
        "of the original alone": round(sum(alone) / len(asked), 4),
        "questions": len(asked),
    }


def _share(wanted: Sequence[set[str]], found: set[str]) -> float:
    return sum(bool(ids & found) for ids in wanted) / len(wanted)


def _survivor(record: MemoryRecord, records: dict[str, MemoryRecord]) -> str:
    while record.superseded_by is not None:
        record = records[record.superseded_by]
    return record.id


def by_wording(memory: Memory, ways: dict[str, str]) -> dict[str, str]:
    """For each way of rewording, how many copies there are and what share of them is merged."""
    there, gone = Counter[str](), Counter[str]()
    for one in _all(memory):
        way = ways.get(f"{one.user_id}/{one.external_id}")
        if way is None:
            way = "template" if "#" in str(one.external_id) else "original"
        there[way] += 1
        gone[way] += one.state == State.ARCHIVED
    return {way: f"{gone[way] / n:.2f} of {n}" for way, n in sorted(there.items())}


def wrong(memory: Memory) -> int:
    """How many memories were merged into one that is not a copy of the same original.

    Turns of the data that are alike word for word are not counted.
    """
    records = {one.id: one for one in _all(memory)}
    found = 0
    for one in records.values():
        if one.superseded_by is not None:
            other = records[one.superseded_by]
            bases = {str(x.external_id).partition("#")[0] for x in (one, other)}
            if len(bases) > 1 and plain(one.text) != plain(other.text):
                print(f"merged: {one.text!r} into {other.text!r}", file=sys.stderr)
                found += 1
    return found


def _active(memory: Memory) -> int:
    reach = Reach(tenant=memory.tenant, all_users=True)
    return memory.parts.store.archive.count(reach, Compare("state", "eq", State.ACTIVE, field=True))


def _all(memory: Memory) -> Iterator[MemoryRecord]:
    yield from (record for _, record in memory.parts.store.archive.scan(memory.tenant))


def _peak_mb() -> float:
    """The most memory this process ever held; `ru_maxrss` would be its parent's at the start."""
    told = Path("/proc/self/status").read_text(encoding="ascii")
    return int(told.partition("VmHWM:")[2].split()[0]) / 1024


def told(figures: dict[str, Any]) -> None:
    for name, value in figures.items():
        print(f"{name:>22}  {value}")


if __name__ == "__main__":
    main()

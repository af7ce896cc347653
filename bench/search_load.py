"""How many searches one process answers at once, and how long each takes, at 100,000 memories.

    python bench/search_load.py --work load --out bench/results/search_load.json

Memories are synthetic turns of one tenant, of no user, as in bench/speed.py: texts, vectors and
token codes are made up, questions are embedded by the bundled model. The store is made once in
`--work` (memory.db, questions.json) and used again. No question is put twice, so that no result
is remembered. `--answers FILE` writes what every search finds, or compares with what is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import synthetic
from engines import NOW, TENANT, batches, bundled_fingerprint, insert_of
from speed import about, resident_mb

LIMIT = 5
QUESTIONS = 20_000
COMPARED = 300
TOLERANCE = 1e-9
Figures = dict[str, Any]


def main() -> None:
    given = arguments()
    questions = prepared(given)
    memory = opened(given)
    if given.answers:
        print(compared(memory, questions[:COMPARED], given.answers))
        return
    asked = iter(questions)
    note = "synthetic vectors and codes; all cores; the page cache is warm"
    told = {"note": note, "switch_interval_s": sys.getswitchinterval()}
    figures: Figures = {"about": about(given) | told}
    figures["start_mb"] = resident_mb()
    closed_loop(memory, list(islice(asked, 100)), 1)
    figures["warm_mb"] = resident_mb()
    for threads in given.threads:
        told = closed_loop(memory, list(islice(asked, given.each)), threads)
        figures[f"closed_loop_{threads}"] = told
    told = open_loop(memory, list(islice(asked, given.rate * given.seconds)), given)
    figures[f"open_loop_{given.rate}_per_s"] = told
    figures["end_mb"] = resident_mb()
    memory.close()
    if given.out:
        given.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the store")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=numbers, default=[1, 2, 4, 8])
    parser.add_argument("--each", type=int, default=1000, help="searches of each closed loop")
    parser.add_argument("--rate", type=int, default=100, help="arrivals a second, open loop")
    parser.add_argument("--seconds", type=int, default=20, help="how long the open loop runs")
    parser.add_argument("--workers", type=int, default=4, help="threads of the open loop")
    parser.add_argument("--switch-ms", type=float, help="how long a thread may keep the GIL")
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


# -- the store


def prepared(given: argparse.Namespace) -> list[str]:
    """The questions; the store beside them is made if it is not there."""
    path = given.work / "questions.json"
    if not path.exists():
        given.work.mkdir(parents=True, exist_ok=True)
        load(given)
        asked = dict.fromkeys(synthetic.questions(QUESTIONS, given.seed))
        path.write_text(json.dumps([*asked]), encoding="utf-8")
    found: list[str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def load(given: argparse.Namespace) -> None:
    from remanence.model.write import Batch
    from remanence.store.sqlite import SqliteStore

    vectors = given.work / "vectors.npy"
    synthetic.save_vectors(vectors, given.size, given.seed)
    made, by = np.load(vectors, mmap_mode="r"), bundled_fingerprint()
    rows = ((turn, made[turn.number]) for turn in synthetic.turns(given.size, given.seed))
    store = SqliteStore(given.work / "memory.db")
    for batch in batches(rows, 1000):
        actions = tuple(insert_of(turn, vector, by) for turn, vector in batch)
        store.archive.write(Batch(tenant=TENANT, at=NOW, actions=actions))
    store.close()
    vectors.unlink()


def opened(given: argparse.Namespace) -> Any:
    from remanence import Memory

    if given.switch_ms:
        sys.setswitchinterval(given.switch_ms / 1000)
    return Memory(given.work / "memory.db", tenant=TENANT)


# -- the loads


def closed_loop(memory: Any, questions: list[str], threads: int) -> Figures:
    """Every thread asks again as soon as it has its answer."""
    left, lock, taken = iter(questions), threading.Lock(), list[float]()

    def ask() -> None:
        while (question := _next(left, lock)) is not None:
            began = time.perf_counter()
            memory.search(question, limit=LIMIT)
            taken.append(time.perf_counter() - began)

    began, used = time.perf_counter(), time.process_time()
    each = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()
    return figures_of(taken, time.perf_counter() - began, time.process_time() - used)


def open_loop(memory: Any, questions: list[str], given: argparse.Namespace) -> Figures:
    """Questions come at random moments, whether or not the last ones are answered."""
    gaps = np.random.default_rng(given.seed).exponential(1 / given.rate, len(questions))
    taken: list[float] = []

    def ask(question: str, came: float) -> None:
        memory.search(question, limit=LIMIT)
        taken.append(time.perf_counter() - came)

    began, used = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(given.workers) as pool:
        for question, due in zip(questions, began + np.cumsum(gaps), strict=True):
            time.sleep(max(due - time.perf_counter(), 0))
            pool.submit(ask, question, due)
    return figures_of(taken, time.perf_counter() - began, time.process_time() - used)


def figures_of(taken: list[float], seconds: float, cpu: float) -> Figures:
    """Latencies in ms, searches a second, and the processor time of one in ms."""
    p50, p95, p99 = (round(float(n) * 1000, 2) for n in np.percentile(taken, [50, 95, 99]))
    return {
        "searches": len(taken),
        "per_s": round(len(taken) / seconds, 1),
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "cpu_ms": round(cpu * 1000 / len(taken), 2),
        "resident_mb": resident_mb(),
    }


def _next(left: Iterator[str], lock: threading.Lock) -> str | None:
    with lock:
        return next(left, None)


# -- the same answers as before


def compared(memory: Any, questions: list[str], path: Path) -> str:
    """Write what is found, or say how far it is from what was written before."""
    now = [found(memory, question) for question in questions]
    if not path.exists():
        path.write_text(json.dumps(now), encoding="utf-8")
        return f"wrote the answers to {len(now)} questions"
    before = json.loads(path.read_text(encoding="utf-8"))
    other = sum(a["ids"] != b["ids"] for a, b in zip(before, now, strict=True))
    apart = max(_apart(a["figures"], b["figures"]) for a, b in zip(before, now, strict=True))
    if other or apart > TOLERANCE:
        sys.exit(f"{other} of {len(now)} answers differ; scores and signals by up to {apart:g}")
    return f"{len(now)} answers are the same; scores and signals within {apart:g}"


def found(memory: Any, question: str) -> Figures:
    hits = memory.search(question, limit=30, now=NOW)
    return {
        "ids": [[hit.memory.id, hit.passage] for hit in hits],
        "figures": [[hit.score, hit.similarity, *hit.details.values()] for hit in hits],
    }


def _apart(before: list[list[float]], now: list[list[float]]) -> float:
    if np.shape(before) != np.shape(now):
        return float("inf")
    return float(np.abs(np.subtract(before, now)).max(initial=0))


if __name__ == "__main__":
    main()

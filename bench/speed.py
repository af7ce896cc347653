"""How fast and how large: Remanence beside Chroma and sqlite-vec, on the same synthetic memories.

    python bench/speed.py --sizes 1000,10000,100000 --out bench/results/speed.json

Every figure is taken in a process of its own that runs on one core. Vectors and token codes are
synthetic, because embedding a million texts would take hours; `Memory.search` embeds its
questions with the bundled model.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import synthetic
from engines import ENGINES, batches

LIMIT = 10
FIRST_QUESTION = "What did Ana say about the trip to Lisbon?"
QUERIES = 300
SINGLE_ADDS = 200
EMBEDDED_ADDS = 50
ONE_THREAD = {
    **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "RAYON")},
    "TOKENIZERS_PARALLELISM": "false",
}
PACKAGES = ("remanence", "chromadb", "sqlite-vec", "apsw", "numpy", "onnxruntime")
Figures = dict[str, Any]


def main() -> None:
    given = arguments()
    if given.step:
        keep_to_one_core()
        print(json.dumps(STEPS[given.step](given)))
        return
    results = {"about": about(given), "sizes": {}}
    for size in given.sizes:
        results["sizes"][str(size)] = measure_size(given, size)
    if given.sentence_transformers:
        results["embedding"] = run_step(given, "embedding", Path(), 0, "")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(table(results))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=numbers, default=[1000, 10_000, 100_000])
    parser.add_argument("--engines", type=names, default=[*ENGINES, "memory"])
    parser.add_argument("--out", type=Path, default=Path("bench/results/speed.json"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="folder for the databases (default: temporary)")
    parser.add_argument(
        "--sentence-transformers", metavar="FOLDER", help="compare embedding with this model folder"
    )
    for hidden in ("--step", "--engine", "--folder"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def names(text: str) -> list[str]:
    return text.split(",")


def about(given: argparse.Namespace) -> Figures:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": found,
        "seed": given.seed,
        "note": "synthetic vectors and codes; one core per process; the page cache is warm",
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "")


def keep_to_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


# -- the parent: one process per engine and step


def measure_size(given: argparse.Namespace, size: int) -> Figures:
    with tempfile.TemporaryDirectory(dir=given.work, prefix=f"speed-{size}-") as name:
        folder = Path(name)
        say(f"{size}: making vectors and the exact answers")
        prepare(folder, size, given.seed)
        return {
            engine: measure_engine(given, folder, size, engine)
            for engine in given.engines
            if engine != "memory" or "remanence" in given.engines
        }


def prepare(folder: Path, size: int, seed: int) -> None:
    extra = QUERIES + SINGLE_ADDS
    synthetic.save_vectors(folder / "vectors.npy", size + extra, seed)
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    truth = synthetic.exact_nearest(vectors[:size], np.array(vectors[size : size + QUERIES]), LIMIT)
    np.save(folder / "truth.npy", truth)
    teams = [turn.team for turn in synthetic.turns(size, seed)]
    np.save(folder / "teams.npy", np.array(teams))


def measure_engine(given: argparse.Namespace, folder: Path, size: int, engine: str) -> Figures:
    """`memory` is the whole of Remanence on the database that `remanence` has loaded."""
    own_steps = ["load", "first", "search", "cold", "adds"]
    steps = ["cold", "whole"] if engine == "memory" else own_steps
    own = folder / ("remanence" if engine == "memory" else engine)
    own.mkdir(exist_ok=True)
    figures: Figures = {}
    for step in steps:
        say(f"{size}: {engine}: {step}")
        figures |= run_step(given, step, folder, size, engine)
        if step == "search":
            figures["disk_bytes_per_memory"] = round(disk(own) / size, 1)
    return figures


def run_step(given: argparse.Namespace, step: str, folder: Path, size: int, engine: str) -> Figures:
    command = [sys.executable, __file__, "--step", step, "--engine", engine]
    command += ["--folder", str(folder), "--size", str(size), "--seed", str(given.seed)]
    if given.sentence_transformers:
        command += ["--sentence-transformers", given.sentence_transformers]
    started = time.perf_counter()
    environment = os.environ | ONE_THREAD
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    say(f"  {time.perf_counter() - started:.1f} s")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


# -- the children: one step each


def load(given: argparse.Namespace) -> Figures:
    engine, vectors = open_engine(given), open_vectors(given)
    rows = ((turn, vectors[turn.number]) for turn in synthetic.turns(given.size, given.seed))
    seconds = 0.0
    for batch in batches(rows, 10_000):
        started = time.perf_counter()
        engine.load(batch)
        seconds += time.perf_counter() - started
    engine.close()
    return {"bulk_adds_per_s": round(given.size / seconds)}


def first(given: argparse.Namespace) -> Figures:
    """A start right after the load, when no index has been built or saved yet."""
    return {"first_start_ms": milliseconds(start(given))}


def cold(given: argparse.Namespace) -> Figures:
    """Any later start; what a whole memory takes is told here, before the benchmark's own lists."""
    figures: Figures = {"cold_start_ms": milliseconds(start(given))}
    return figures | ({"resident_mb": resident_mb()} if given.engine == "memory" else {})


def start(given: argparse.Namespace) -> float:
    """Seconds from the engine's import to the first answer; interpreter and NumPy left out."""
    query = np.array(open_vectors(given)[given.size])
    started = time.perf_counter()
    if given.engine == "memory":
        open_memory(given).search(FIRST_QUESTION)
    else:
        open_engine(given).search(query, LIMIT)
    return time.perf_counter() - started


def search(given: argparse.Namespace) -> Figures:
    before = resident_mb()
    engine, queries, teams = open_engine(given), open_queries(given), asked_teams()
    for query in queries[:20]:
        engine.search(query, LIMIT)
    memory = {"resident_mb": resident_mb(), "resident_before_mb": before}
    plain, found = timed(lambda n: engine.search(queries[n], LIMIT), range(QUERIES))
    some, inside = timed(lambda n: engine.filtered(queries[n], teams[n], LIMIT), range(QUERIES))
    held = engine.index_bytes()
    figures = {
        **named("search", plain),
        **named("filtered", some),
        "recall_at_10": recall(found, np.load(Path(given.folder) / "truth.npy").tolist()),
        "filtered_recall_at_10": recall(inside, filtered_truth(given, queries, teams)),
        **memory,
        "index_bytes_per_vector": None if held is None else round(held / given.size, 1),
    }
    engine.close()
    return figures


def adds(given: argparse.Namespace) -> Figures:
    engine, vectors = open_engine(given), open_vectors(given)
    turns = list(synthetic.turns(SINGLE_ADDS, given.seed + 1))
    later = [synthetic.renumbered(turn, given.size + turn.number) for turn in turns]
    engine.search(vectors[given.size], LIMIT)
    taken, _ = timed(lambda n: engine.add(later[n], vectors[later[n].number]), range(SINGLE_ADDS))
    engine.close()
    return named("durable_add", taken)


def whole(given: argparse.Namespace) -> Figures:
    """`Memory.search` and `Memory.add` as callers use them: embedding, words, ranking, all."""
    memory, asked, teams = (
        open_memory(given),
        synthetic.questions(QUERIES, given.seed),
        asked_teams(),
    )
    for question in synthetic.questions(20, given.seed + 1):
        memory.search(question)
    plain, found = timed(lambda n: memory.search(asked[n]), range(QUERIES))
    assert all(found)
    some, _ = timed(lambda n: memory.search(asked[n], filters={"team": teams[n]}), range(QUERIES))
    held = resident_mb()
    turns = list(synthetic.turns(EMBEDDED_ADDS, given.seed + 2))
    added, _ = timed(lambda n: memory.add(turns[n].text), range(EMBEDDED_ADDS))
    memory.close()
    figures = named("search", plain) | named("filtered", some) | named("durable_add", added)
    return figures | {"resident_after_mb": held}


def embedding(given: argparse.Namespace) -> Figures:
    """A question's embedding, ours and sentence-transformers'."""
    from sentence_transformers import SentenceTransformer

    from remanence.config import load_settings
    from remanence.config.assembly import make_embedder

    asked = synthetic.questions(QUERIES, given.seed)
    ours = make_embedder(load_settings({"threads": 1}))
    theirs = SentenceTransformer(given.sentence_transformers, device="cpu")
    for question in asked[:20]:
        ours.embed_query(question)
        theirs.encode(question)
    mine, _ = timed(lambda n: ours.embed_query(asked[n]), range(QUERIES))
    other, _ = timed(lambda n: theirs.encode(asked[n]), range(QUERIES))
    return named("remanence_question", mine) | named("sentence_transformers_question", other)


STEPS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "load": load,
    "first": first,
    "cold": cold,
    "search": search,
    "adds": adds,
    "whole": whole,
    "embedding": embedding,
}


def open_engine(given: argparse.Namespace) -> Any:
    return ENGINES[given.engine](Path(given.folder) / given.engine)


def open_memory(given: argparse.Namespace) -> Any:
    from remanence import Memory

    return Memory(Path(given.folder) / "remanence" / "agent.db", threads=1)


def open_vectors(given: argparse.Namespace) -> Any:
    return np.load(Path(given.folder) / "vectors.npy", mmap_mode="r")


def open_queries(given: argparse.Namespace) -> Any:
    return np.array(open_vectors(given)[given.size : given.size + QUERIES])


def asked_teams() -> list[str]:
    return [f"team{number % synthetic.TEAMS}" for number in range(QUERIES)]


def timed(act: Callable[[int], Any], over: Iterable[int]) -> tuple[list[float], list[Any]]:
    taken, results = [], []
    for number in over:
        started = time.perf_counter()
        results.append(act(number))
        taken.append(time.perf_counter() - started)
    return taken, results


def filtered_truth(given: argparse.Namespace, queries: Any, teams: list[str]) -> list[list[int]]:
    vectors, kept = open_vectors(given), np.load(Path(given.folder) / "teams.npy")
    rows = {team: np.flatnonzero(kept == team) for team in set(teams)}
    inside = {team: np.array(vectors[found]) for team, found in rows.items()}
    return [
        rows[team][np.argsort(-(inside[team] @ query), kind="stable")[:LIMIT]].tolist()
        for query, team in zip(queries, teams, strict=True)
    ]


def recall(found: list[list[int]], truth: list[list[int]]) -> float:
    """The share of the true nearest that came back."""
    hits = sum(len(set(a) & set(b)) for a, b in zip(found, truth, strict=True))
    return round(hits / max(sum(map(len, truth)), 1), 4)


def named(name: str, taken: list[float]) -> Figures:
    middle, high = np.percentile(taken, [50, 95])
    return {f"{name}_p50_ms": milliseconds(middle), f"{name}_p95_ms": milliseconds(high)}


def milliseconds(seconds: float) -> float:
    return round(float(seconds) * 1000, 3)


def resident_mb() -> float:
    import psutil

    return round(psutil.Process().memory_info().rss / 2**20, 1)


def table(results: Figures) -> str:
    """The figures side by side, in Markdown."""
    lines = []
    for size, engines in results["sizes"].items():
        rows = dict.fromkeys(name for figures in engines.values() for name in figures)
        lines += [
            f"\n| {size} memories | " + " | ".join(engines) + " |",
            "|---" * (len(engines) + 1) + "|",
        ]
        for name in rows:
            values = [engine.get(name) for engine in engines.values()]
            told = ["" if value is None else f"{value:g}" for value in values]
            lines.append(f"| {name.replace('_', ' ')} | " + " | ".join(told) + " |")
    for name, value in results.get("embedding", {}).items():
        lines.append(f"{name.replace('_', ' ')}: {value}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

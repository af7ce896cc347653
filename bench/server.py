"""The server under load at 100,000 memories, beside `chroma run` with the same vectors.

    python bench/server.py --work load --out bench/results/server.json
    python bench/server.py --work load --soak 600 --out bench/results/soak.json

One worker, or `--workers`, on a store that bench/search_load.py made in `--work`;
`GET /memory/retrieve?q=…&k=5`, which embeds the question. Chroma's server is asked with vectors
that are there already, so its figures are without any embedding. Clients and servers share the
machine's cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import psutil

import synthetic
from http_load import Taken, closed_loop, get, open_loop, post
from remanence.model.telemetry import hush
from search_load import prepared
from speed import about

LIMIT = 5
LINES = 16
WARM = 300
Figures = dict[str, Any]


def main() -> None:
    given = arguments()
    questions = prepared(given)
    figures: Figures = {"about": about(given)}
    with server(given) as (process, at, started):
        figures["start_to_first_answer_s"] = started
        asked = iter(asking(questions))
        run(closed_loop(at, take(asked, WARM), 4))
        figures["resident_mb_warm"] = resident_mb(process)
        if given.soak:
            figures["soak"] = soak(given, process, at, list(asked))
        else:
            figures |= loads(given, at, asked)
            figures["resident_mb_end"] = resident_mb(process)
    if not given.soak:
        figures["library"] = library(given, questions[-given.each :])
        if given.chroma:
            figures["chroma"] = chroma(given)
    if given.out:
        given.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the store")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=100, help="requests a second, open loop")
    parser.add_argument("--seconds", type=int, default=30, help="how long the open loop runs")
    parser.add_argument("--each", type=int, default=2000, help="requests of the closed loop")
    parser.add_argument("--calls", type=int, default=2, help="calls at a time")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--soak", type=int, default=0, help="seconds at 80 %% of the saturation")
    parser.add_argument("--no-chroma", dest="chroma", action="store_false")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def asking(questions: list[str]) -> list[bytes]:
    return [get(f"/memory/retrieve?{urlencode({'q': one, 'k': LIMIT})}") for one in questions]


def loads(given: argparse.Namespace, at: tuple[str, int], asked: Iterator[bytes]) -> Figures:
    one = run(closed_loop(at, take(asked, given.each // 4), 1))
    free = run(open_loop(at, take(asked, int(given.rate * given.seconds)), given.rate, given.seed))
    full = run(closed_loop(at, take(asked, given.each), LINES))
    return {
        "one_line": one.figures(),
        f"open_loop_{given.rate:g}_per_s": free.figures(),
        f"saturation_{LINES}_lines": full.figures(),
    }


def soak(
    given: argparse.Namespace, process: psutil.Process, at: tuple[str, int], asked: list[bytes]
) -> Figures:
    """Ten minutes, say, at 80 % of what it can do: the memory must not grow, nothing may fail."""
    most = run(closed_loop(at, asked[: given.each], LINES)).figures()["per_s"]
    rate, sizes, errors, done, waits = most * 0.8, [], 0, 0, []
    end = time.monotonic() + given.soak
    while time.monotonic() < end:
        taken = run(
            open_loop(
                at, [asked[(done + n) % len(asked)] for n in range(int(rate * 10))], rate, done
            )
        )
        done, errors = done + len(taken.seconds), errors + taken.errors
        waits += taken.seconds
        sizes.append(resident_mb(process))
    slope = np.polyfit(np.arange(len(sizes)) * 10 / 60, sizes, 1)[0]
    late = np.polyfit(np.arange(len(sizes) // 2) * 10 / 60, sizes[-(len(sizes) // 2) :], 1)[0]
    return {
        "rate_per_s": round(rate, 1),
        "requests": done,
        "errors": errors,
        "p95_ms": round(float(np.percentile(waits, 95)) * 1000, 1),
        "resident_mb": [sizes[0], sizes[-1]],
        "mb_a_minute": round(float(slope), 3),
        "mb_a_minute_second_half": round(float(late), 3),
    }


def library(given: argparse.Namespace, questions: list[str]) -> Figures:
    """The same without a server: what is left of the latency is the server's own share."""
    from remanence import Memory

    with Memory(given.work / "memory.db") as memory:
        for question in questions[:100]:
            memory.search(question, limit=LIMIT)
        taken = Taken()
        for question in questions[100:]:
            began = time.perf_counter()
            memory.search(question, limit=LIMIT)
            taken.seconds.append(time.perf_counter() - began)
        taken.wall_s = sum(taken.seconds)
        return taken.figures()


def chroma(given: argparse.Namespace) -> Figures:
    """`chroma run` with the same vectors, asked over its own HTTP API."""
    hush()
    import chromadb

    folder = given.work / "chroma"
    port = free_port()
    program = Path(sys.executable).with_name("chroma")
    process = subprocess.Popen(
        [program, "run", "--path", str(folder), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/api/v2/heartbeat", 60)
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.HttpClient(host="127.0.0.1", port=port, settings=settings)
        collection = client.get_or_create_collection("turns", embedding_function=None)
        if collection.count() < given.size:
            fill(given, collection)
        count = WARM + given.each // 4 + int(given.rate * given.seconds) + given.each
        path = (
            f"/api/v2/tenants/default_tenant/databases/default_database/collections/"
            f"{collection.id}/query"
        )
        vectors = np.random.default_rng(given.seed).normal(size=(count, synthetic.DIMENSION))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        bodies = (
            json.dumps({"query_embeddings": [v.tolist()], "n_results": LIMIT}) for v in vectors
        )
        asked = iter([post(path, body.encode()) for body in bodies])
        at = ("127.0.0.1", port)
        run(closed_loop(at, take(asked, WARM), 4))
        figures = loads(given, at, asked)
        return figures | {"resident_mb": resident_mb(psutil.Process(process.pid))}
    finally:
        process.terminate()
        process.wait(30)


def fill(given: argparse.Namespace, collection: Any) -> None:
    path = given.work / "vectors.npy"
    synthetic.save_vectors(path, given.size, given.seed)
    vectors = np.load(path, mmap_mode="r")
    turns = list(synthetic.turns(given.size, given.seed))
    for first in range(0, given.size, 2000):
        part = turns[first : first + 2000]
        collection.add(
            ids=[str(turn.number) for turn in part],
            documents=[turn.text for turn in part],
            embeddings=vectors[first : first + len(part)].astype(np.float32),
        )
    path.unlink()


@contextmanager
def server(
    given: argparse.Namespace,
) -> Iterator[tuple[psutil.Process, tuple[str, int], float]]:
    port = free_port()
    program = Path(sys.executable).with_name("rem")
    environment = os.environ | {
        "REMANENCE_RATE_LIMIT": "0",
        "REMANENCE_CALLS": str(given.calls),
        "REMANENCE_WORKERS": str(given.workers),
        "REMANENCE_LOG_FORMAT": "json",
    }
    began = time.perf_counter()
    process = subprocess.Popen(
        [program, "--db", str(given.work / "memory.db"), "serve", "--port", str(port)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/memory/retrieve?q=first&k=1", 60)
        yield (
            psutil.Process(process.pid),
            ("127.0.0.1", port),
            round(time.perf_counter() - began, 2),
        )
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def wait_for(url: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=10).read()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def resident_mb(process: psutil.Process) -> float:
    """Of the process and those it started."""
    every = [process, *process.children(recursive=True)]
    return round(sum(one.memory_info().rss for one in every) / 2**20, 1)


def take(asked: Iterator[bytes], count: int) -> list[bytes]:
    return [next(asked) for _ in range(count)]


def run(load: Any) -> Taken:
    taken: Taken = asyncio.run(load)
    return taken


if __name__ == "__main__":
    main()

"""What encryption costs: adding and searching 2,000 memories, plain and encrypted in one run.

Needs apsw-sqlite3mc in the place of apsw: `.venv-encrypted/bin/python bench/encryption.py`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from remanence import Memory

T = TypeVar("T")

KEY = "a key of more than 16 characters"
TOPICS = ["tea", "boats", "maps", "violins", "rain", "bread", "stars", "salt", "wool", "clocks"]
SEARCHES = 100
SINGLE, BATCH = 200, 100


def text_of(n: int) -> str:
    return f"Person {n % 97} spoke of {TOPICS[n % 10]} and {TOPICS[n // 10 % 10]} in town {n % 31}."


def measured(folder: Path, memories: int) -> dict[str, list[tuple[float, float]]]:
    """Pairs of milliseconds, plain and encrypted, taken in turns: a busy machine slows both."""
    paths = (folder / "plain.db", folder / "sealed.db")
    with Memory(paths[0]) as plain, Memory(paths[1], encryption_key=KEY) as sealed:
        both = (plain, sealed)
        _pairs(both, ["warm up"], lambda memory, asked: memory.search(asked, user_id="u"))
        texts = [text_of(n) for n in range(memories)]
        batches = [texts[at : at + BATCH] for at in range(SINGLE, memories, BATCH)]
        told = {
            "add one": _pairs(both, texts[:SINGLE], lambda m, text: m.add(text, user_id="u")),
            "add 100 at once": _pairs(both, batches, lambda m, some: m.add_many(some, user_id="u")),
        }
        asked = [f"what did person {n % 97} say of {TOPICS[n % 10]}?" for n in range(SEARCHES)]
        told["search"] = _pairs(both, asked, lambda m, one: m.search(one, user_id="u"))
    told["open"] = [
        (_ms(lambda: _open(paths[0], "")), _ms(lambda: _open(paths[1], KEY))) for _ in range(20)
    ]
    told["file, MB"] = [(paths[0].stat().st_size / 1e6, paths[1].stat().st_size / 1e6)]
    return told


def _pairs(
    both: tuple[Memory, Memory], given: Sequence[T], call: Callable[[Memory, T], object]
) -> list[tuple[float, float]]:
    return [
        (_ms(lambda one=one: call(both[0], one)), _ms(lambda one=one: call(both[1], one)))
        for one in given
    ]


def _open(path: Path, key: str) -> None:
    Memory(path, **({"encryption_key": key} if key else {})).close()


def _ms(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--memories", type=int, default=2_000)
    with TemporaryDirectory() as folder:
        report = measured(Path(folder), options.parse_args().memories)
    print("| median ms | plain | encrypted | ratio |\n|---|---|---|---|")
    for name, pairs in report.items():
        plain, sealed = (statistics.median(one[at] for one in pairs) for at in (0, 1))
        print(f"| {name} | {plain:.2f} | {sealed:.2f} | {sealed / plain:.2f} |")


if __name__ == "__main__":
    main()

"""How long a context takes to assemble, in a memory of many.

    python bench/context_speed.py --size 100000

Core blocks, a session with data, working memory and 200 messages, and a question each time; one
process on one core. Vectors of the memories are synthetic, as in `speed.py`; the session's messages
and the questions are embedded with the bundled model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import synthetic
from engines import Remanence, batches
from speed import ONE_THREAD, about, keep_to_one_core, named, timed

QUESTIONS = 300
MESSAGES = 200
BUDGETS = (1500, 4000)
SESSION = "now"


def main() -> None:
    given = arguments()
    if given.folder:
        keep_to_one_core()
        print(json.dumps(measure(given)))
        return
    with tempfile.TemporaryDirectory(dir=given.work, prefix="context-") as folder:
        command = [sys.executable, __file__, "--folder", folder, "--size", str(given.size)]
        command += ["--seed", str(given.seed)]
        environment = os.environ | ONE_THREAD
        done = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, text=True, env=environment
        )
    results = {"about": about(given), **json.loads(done.stdout.splitlines()[-1])}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for budget, figures in results["budgets"].items():
        told = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in figures.items())
        print(f"{results['memories']} memories, {budget} tokens: {told}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results" / "context.json"
    )
    parser.add_argument("--work", type=Path, help="folder for the database (default: temporary)")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(given: argparse.Namespace) -> dict[str, Any]:
    from remanence import Memory

    folder = Path(given.folder)
    load(folder, given.size, given.seed)
    with Memory(folder / "agent.db", threads=1) as memory:
        talk(memory, given.seed)
        budgets = {str(budget): asked(memory, budget, given.seed) for budget in BUDGETS}
        return {"memories": memory.count(), "budgets": budgets}


def load(folder: Path, size: int, seed: int) -> None:
    synthetic.save_vectors(folder / "vectors.npy", size, seed)
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    engine = Remanence(folder)
    rows = ((turn, vectors[turn.number]) for turn in synthetic.turns(size, seed))
    for batch in batches(rows, 10_000):
        engine.load(batch)
    engine.close()


def talk(memory: Any, seed: int) -> None:
    """Blocks of about 1,500 characters, a session with its state, and a long conversation."""
    turns = list(synthetic.turns(MESSAGES, seed + 1))
    memory.blocks.rethink("persona", "\n".join(turn.text for turn in turns[:7]))
    memory.blocks.rethink("human", "\n".join(turn.text for turn in turns[7:14]))
    memory.sessions.create(SESSION, data={"channel": "web", "locale": "en", "step": 3})
    memory.working.set("task", "book the trip to Lisbon", session_id=SESSION)
    said = [
        {"role": ("user", "assistant")[n % 2], "content": turn.text} for n, turn in enumerate(turns)
    ]
    memory.conversations.append(said, session_id=SESSION)


def asked(memory: Any, budget: int, seed: int) -> dict[str, float]:
    questions = synthetic.questions(QUESTIONS, seed + 2 * budget)
    for question in synthetic.questions(20, seed + 1):
        memory.context(question, session_id=SESSION, max_tokens=budget)
    taken, found = timed(
        lambda n: memory.context(questions[n], session_id=SESSION, max_tokens=budget),
        range(QUESTIONS),
    )
    used = [context.tokens / budget for context in found]
    assert max(used) <= 1
    others = synthetic.questions(QUESTIONS, seed + budget)  # none of them is embedded yet
    searched, _ = timed(lambda n: memory.search(others[n]), range(QUESTIONS))
    return {
        **named("context", taken),
        "used_mean": round(float(np.mean(used)), 4),
        "used_least": round(float(min(used)), 4),
        **named("search_of_10", searched),
    }


if __name__ == "__main__":
    main()

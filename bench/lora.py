"""What a LoRA learns of new facts and forgets of old ones, with replay and without.

    python bench/lora.py --base SmolLM2-135M-Instruct.Q4_1.gguf

Twenty made-up facts are taught in a first round, twenty others in a second that goes on from the
first adapter: once with half of each batch replayed from the first round, once with none. Both see
each new fact equally often. Run it in an environment with the `train` extra (`make test-train`
makes one).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from lora_facts import FIRST, SECOND
from remanence.consolidation.learning.lora.examples import TrainingExample, question
from remanence.consolidation.learning.lora.jobs import Finetuned
from remanence.consolidation.learning.lora.models import LossScore
from support.lora import finetune

Facts = tuple[tuple[str, str, str], ...]


def main() -> None:
    given = arguments()
    old, new = examples("first", FIRST), examples("second", SECOND)
    with tempfile.TemporaryDirectory(prefix="lora-") as work:
        folder = Path(work)
        first = taught(given, old, [], folder / "first", 0.0, None)
        show("first round", first)
        for name, replay in (("with replay", 0.5), ("without replay", 0.0)):
            second = taught(given, new, old, folder / name.split()[0], replay, first.folder)
            show(f"second round, {name}", second)


def taught(
    given: argparse.Namespace,
    new: list[TrainingExample],
    old: list[TrainingExample],
    out: Path,
    replay: float,
    previous: Path | None,
) -> Finetuned:
    started = time.perf_counter()
    done = finetune(
        new,
        old,
        base=given.base,
        out=out,
        replay=replay,
        rate=given.rate,
        seed=given.seed,
        device=given.device,
        previous=previous,
    )
    taken = done.manifest.recipe["steps"]
    print(f"\n{taken:.0f} steps in {time.perf_counter() - started:.0f} s, loading included")
    return done


def show(name: str, done: Finetuned) -> None:
    figures = done.figures
    print(name)
    row("new facts", figures.new_before, figures.new_after)
    if figures.old_before is not None and figures.old_after is not None:
        row("old facts", figures.old_before, figures.old_after)


def row(name: str, before: LossScore, after: LossScore) -> None:
    change = 100 * (after.loss / before.loss - 1)
    print(
        f"  {name}: loss {before.loss:.3f} -> {after.loss:.3f} ({change:+.1f} %), "
        f"recalled {before.recalled} -> {after.recalled} of {after.examples}"
    )


def examples(name: str, facts: Facts) -> list[TrainingExample]:
    return [
        TrainingExample(id=f"{name}:{n}", question=question(subject, predicate), answer=value)
        for n, (subject, predicate, value) in enumerate(facts)
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", required=True, help="a GGUF file or a model's folder")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    return parser.parse_args()


if __name__ == "__main__":
    main()

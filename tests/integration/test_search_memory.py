"""A search takes the memory of its budget, however long the texts and the question are."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from remanence import Memory
from remanence.model.embedding import CODE_BYTES, quantised
from remanence.model.write import Batch, Insert, Pieces
from remanence.model.write import Piece as StoredPiece
from remanence.recall import evidence
from remanence.testing.patience import HANG_S
from remanence.testing.store_suites.making import memory as record

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
TEXTS, CHARACTERS, QUESTION = 4, 1_000_000, 12_000
BUDGET_MB, BESIDE_MB = 90, 250
# In a process of its own, whose most memory ever is asked of the system.
SEARCHING = """
import resource, sys
from pathlib import Path
from remanence import Memory

def most_mb():
    status = Path("/proc/self/status")
    if status.exists():  # `ru_maxrss` begins with that of the parent
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

path, question, budget = sys.argv[1:]
with Memory(path, max_memory_mb=float(budget)) as memory:
    print(len(memory.search(Path(question).read_text(encoding="utf-8"))), most_mb())
"""


def _fill(memory: Memory, count: int, characters: int, rng: np.random.Generator) -> str:
    """Texts of so many characters with made-up vectors and codes; what one of them says."""
    fingerprint = memory.parts.embedder.fingerprint
    words = [f"{first}{second}or" for first in "bcdfglmnprst" for second in range(100)]
    text = ""
    for _ in range(count):
        text = " ".join(rng.choice(words, characters // 4))[:characters]
        pieces = tuple(
            StoredPiece(
                part=part,
                passage=part // 5,
                start=start,
                stop=min(start + 350, characters),
                vector=quantised(rng.standard_normal(fingerprint.dimension).astype(np.float32)),
                codes=rng.bytes(CODE_BYTES * 90),
            )
            for part, start in enumerate(range(0, characters, 300))
        )
        insert = Insert(
            record=record(text, memory.tenant, happened_at=NOW),
            pieces=Pieces(fingerprint=fingerprint, pieces=pieces),
        )
        memory.parts.store.archive.write(Batch(tenant=memory.tenant, at=NOW, actions=(insert,)))
    return text


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell the most memory used")
def test_long_texts_and_a_long_question_stay_within_the_budget(tmp_path: Path) -> None:
    path, question = tmp_path / "memory.db", tmp_path / "question.txt"
    with Memory(path) as memory:
        said = _fill(memory, TEXTS, CHARACTERS, np.random.default_rng(7))
    question.write_text(said[:QUESTION], encoding="utf-8")
    command = [sys.executable, "-c", SEARCHING, path, question, str(BUDGET_MB)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=True)
    found, most_mb = told.stdout.split()
    assert int(found) == TEXTS
    assert float(most_mb) <= BUDGET_MB + BESIDE_MB


def test_answers_are_the_same_in_blocks_of_any_size(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    said = _fill(memory, 7, 4_000, rng)
    questions = [said[:60], " ".join(random.Random(5).sample(said.split(), 150))]

    def answers() -> list[list[tuple[str, str, float]]]:
        hits = (memory.search(question, now=NOW) for question in questions)
        return [[(hit.memory.id, hit.passage, hit.score) for hit in found] for found in hits]

    before = answers()
    for together, at_once in ((1, evidence.AT_ONCE), (9_000, 33), (evidence.TOGETHER, 1), (1, 100)):
        monkeypatch.setattr(evidence, "TOGETHER", together)
        monkeypatch.setattr(evidence, "AT_ONCE", at_once)
        for expected, found in zip(before, answers(), strict=True):
            assert [hit[:2] for hit in found] == [hit[:2] for hit in expected]
            assert [hit[2] for hit in found] == pytest.approx([h[2] for h in expected], abs=1e-4)

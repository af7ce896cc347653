"""Conversations under attack: several processes at once, SIGKILL, erasure while others sum up."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.errors import NotFound
from remanence.memories.lineage import SOURCES
from remanence.model.memory import MemoryRecord
from remanence.testing.patience import HANG_S
from support.program import Program

WHOSE: dict[str, Any] = {"user_id": "ana", "session_id": "s1"}
WINDOW = {"window_messages": 8, "window_tokens": 400}
EACH = 60
KILLS = 10

SPEAKER = """
import json, sys
from remanence import Memory
place, name, count, window = sys.argv[1:]
with Memory(place, busy_timeout_s=600, **json.loads(window)) as memory:
    for n in range(int(count)):
        message = {"content": f"{name} goes to Town{n} on day {n}", "id": f"{name}{n}"}
        memory.conversations.append([message], user_id="ana", session_id="s1")
        print(json.dumps(f"{name}{n}"), flush=True)
"""


def speaker(place: str, name: str, count: int) -> Program:
    return Program(SPEAKER, place, name, count, json.dumps(WINDOW))


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("postgres_url"))


def segments(memory: Memory) -> list[MemoryRecord]:
    return memory.find(kinds="summary", filters={"level": "segment"}, limit=1_000, **WHOSE)


def times_summed_up(memory: Memory) -> Counter[str]:
    """How many segments each message is in; every segment has all that it was made of."""
    counts: Counter[str] = Counter()
    for segment in segments(memory):
        linked = memory.related(segment.id, type="summarises", direction="out")
        assert len(linked) == segment.metadata[SOURCES] == segment.metadata["messages"]
        counts.update(link.memory.id for link in linked)
    return counts


def check_summaries(memory: Memory) -> None:
    """Nothing is summed up twice, and after `summarise` all that left the window is, once."""
    assert max(times_summed_up(memory).values(), default=1) == 1
    memory.conversations.summarise("s1", user_id="ana")
    counts = times_summed_up(memory)
    told = memory.conversations.messages("s1", user_id="ana", limit=1_000)
    window = memory.conversations.window("s1", user_id="ana").messages
    left = told[: told.index(window[0])]
    assert counts == Counter(record.id for record in left)
    assert len(memory.find(kinds="summary", filters={"level": "conversation"}, **WHOSE)) <= 1


def test_two_processes_in_one_conversation(place: str) -> None:
    with Memory(place, **WINDOW) as memory:
        running = [speaker(place, name, EACH) for name in ("Ana", "Tom")]
        heard = [program.rest().splitlines() for program in running]
        assert [program.returncode for program in running] == [0, 0]
        told = memory.conversations.messages("s1", user_id="ana", limit=1_000)
        assert sorted(r.external_id or "" for r in told) == sorted(
            json.loads(line) for lines in heard for line in lines
        )
        assert len(told) == 2 * EACH
        assert len(segments(memory)) >= 6
        check_summaries(memory)


def test_no_acknowledged_message_is_lost_by_a_kill(place: str) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    acknowledged: list[str] = []
    for kill in range(KILLS):
        program = speaker(place, f"k{kill}-", 1_000)
        acknowledged += [json.loads(program.hear()) for _ in range(chance.randint(1, 25))]
        time.sleep(chance.random() * 0.02)
        program.kill()
        told = program.rest().splitlines(keepends=True)
        acknowledged += [json.loads(line) for line in told if line.endswith("\n")]
        assert program.returncode == -signal.SIGKILL
    with Memory(place, **WINDOW) as memory:
        found = [r.external_id for r in memory.find(kinds="message", limit=1_000, **WHOSE)]
        assert set(acknowledged) <= set(found)
        assert len(found) <= len(acknowledged) + KILLS
        assert len(set(found)) == len(found)
        check_summaries(memory)
        assert not any(finding.problems for finding in memory.doctor())


def test_erasing_while_others_sum_up(place: str) -> None:
    """Every other message is erased at once; no summary keeps a word of those."""
    done = threading.Event()
    erased: list[str] = []

    def erase(memory: Memory) -> None:
        while True:
            last = done.is_set()
            told = memory.conversations.messages("s1", user_id="ana", limit=1_000)
            secret = [r for r in told[:-4] if "secret" in r.text]
            for record in secret:
                memory.forget(record.id, erase=True)
                erased.append(record.text.split()[-1])
            if last and not secret:
                return

    with Memory(place, **WINDOW) as speaking, Memory(place, **WINDOW) as erasing:
        thread = threading.Thread(target=erase, args=(erasing,))
        thread.start()
        for n in range(150):
            text = f"My secret word on day {n} in Lisbon is zyzzo{n}" if n % 2 else f"Yes, day {n}"
            speaking.conversations.append([{"content": text}], **WHOSE)
        done.set()
        thread.join(HANG_S)
        assert not thread.is_alive()
        assert len(erased) > 50
        kept = speaking.find(user_id="ana", states="any", kinds="summary", limit=10_000)
        kept += speaking.find(user_id="ana", states="any", kinds="message", limit=10_000)
        words = {word.strip(".;,") for record in kept for word in record.text.split()}
        assert words.isdisjoint(erased)
        check_summaries(speaking)


def test_forgetting_a_conversation_while_it_goes_on(place: str) -> None:
    with Memory(place, **WINDOW) as speaking, Memory(place, **WINDOW) as forgetting:
        stop = threading.Event()
        failed: list[str] = []

        def speak() -> None:
            n = 0
            while not stop.is_set():
                speaking.conversations.append([{"content": f"Day {n} in Lisbon"}], **WHOSE)
                n += 1
                try:
                    speaking.conversations.day(datetime.now(UTC), user_id="ana")
                except NotFound as error:
                    failed.extend([] if "Nothing was said" in str(error) else [str(error)])

        thread = threading.Thread(target=speak)
        thread.start()
        for _ in range(10):
            forgetting.conversations.forget("s1", user_id="ana", erase=True)
            forgetting.forget(user_id="ana", erase=True)
        stop.set()
        thread.join(HANG_S)
        forgetting.forget(user_id="ana", erase=True)
        assert failed == []
        assert speaking.count(user_id="ana", states="any") == 0
        with pytest.raises(NotFound):
            speaking.conversations.get("s1", user_id="ana")

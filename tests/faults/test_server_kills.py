"""A server that is killed, or told to stop, while it is written to.

`make soak ONLY=kill-server` kills more often.
"""

from __future__ import annotations

import random
import sqlite3
import threading
from pathlib import Path

import httpx
import pytest

from remanence import Memory
from remanence.testing.chat_server import ChatServer, says
from remanence.testing.patience import HANG_S
from support import http
from support.server_kills import Callers, kill_often, lost_and_doubled, there
from support.server_process import ServerProcess

SOON = "import remanence.server.serving as s; s.GRACE_S, s.LAST_S = 1, 1\n"
TELLING = """
import sys
from remanence.api.service import MemoryService
def add(*given, add=MemoryService.add, **more):
    print("at work", file=sys.stderr, flush=True)
    return add(*given, **more)
MemoryService.add = add
"""


def test_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    tally = kill_often(tmp_path / "memory.db", 3, random.Random(seed))
    assert tally.odd == []
    assert tally.repeated > 0
    assert tally.reads > 0
    assert lost_and_doubled(tmp_path / "memory.db", tally) == ([], [])


def test_told_to_stop_what_was_begun_is_answered_and_nothing_else_is_done(tmp_path: Path) -> None:
    database, callers = tmp_path / "memory.db", Callers(patient=False)
    with ServerProcess(database) as process:
        callers.start(process.url)
        callers.wait_for(40)
        process.stop()
        assert process.ended() == 0
        tally = callers.stop()
    assert tally.unanswered
    assert lost_and_doubled(database, tally) == ([], [])
    assert there(database, tally.unanswered) == []


def test_a_chat_goes_on_to_its_end_and_is_stored_while_nobody_else_is_let_in(
    tmp_path: Path,
) -> None:
    database = tmp_path / "memory.db"
    with (
        ChatServer(says("Your dog is called Rex.", hold_after=400)) as upstream,
        ServerProcess(database, upstream_url=upstream.url) as process,
    ):
        body = {
            "model": "scripted",
            "stream": True,
            "messages": [{"role": "user", "content": "What is my dog called?"}],
        }
        headers = {"x-memory-user-id": "ana"}
        url = f"{process.url}/v1/chat/completions"
        with http.stream("POST", url, json=body, headers=headers, timeout=HANG_S) as answer:
            parts = answer.iter_bytes()
            heard = next(parts)
            process.stop()
            assert process.told("Shutting down")
            # Refused, or cut off where it was waiting to be let in.
            with pytest.raises((httpx.ConnectError, httpx.ReadError)):
                http.get(f"{process.url}/health")
            upstream.go_on()
            heard += b"".join(parts)
        assert heard.rstrip().endswith(b"[DONE]")
        assert process.ended() == 0
    with Memory(database) as memory:
        texts = {one.text for one in memory.find(user_id="ana")}
    assert texts == {"What is my dog called?", "Your dog is called Rex."}


def test_a_long_run_that_is_followed_is_told_to_its_end(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    with Memory(database) as memory:
        memory.add_many([f"The {n}th cat sat on mat number {n}" for n in range(200)])
    headers, wanted = {"accept": "text/event-stream"}, {"steps": ["merge", "distil", "reflect"]}
    events: list[str] = []
    with (
        ServerProcess(database) as process,
        http.stream(
            "POST", f"{process.url}/v1/sleep/runs", json=wanted, headers=headers, timeout=HANG_S
        ) as answer,
    ):
        for line in answer.iter_lines():
            if not events:
                process.stop()
            events.append(line)
        assert "event: progress" in events
        assert "event: result" in events
        assert process.ended() == 0
    with Memory(database) as memory:
        assert {run.status.value for run in memory.sleep.log()} == {"completed"}


def test_work_without_an_end_is_cut_off_in_time(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    answers: list[object] = []
    holding = sqlite3.connect(database, isolation_level=None)
    with ServerProcess(database, before=SOON + TELLING, busy_timeout_s=str(HANG_S)) as process:

        def add() -> None:
            url = f"{process.url}/v1/memories"
            try:
                answers.append(http.post(url, json={"text": "x"}, timeout=HANG_S))
            except httpx.TransportError as error:
                answers.append(error)

        holding.execute("BEGIN IMMEDIATE")
        calling = threading.Thread(target=add)
        calling.start()
        assert process.told("at work")
        process.stop()
        assert process.ended() == 0
        assert "cut off" in process.stderr
        calling.join(HANG_S)
        holding.close()
    assert not any(isinstance(one, httpx.Response) and one.is_success for one in answers)
    with Memory(database) as memory:
        assert memory.count() == 0

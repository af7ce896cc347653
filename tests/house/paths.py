"""Four paths through the house, walked for real: a file, the model, a server on a socket."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import remanence
from remanence import Memory
from remanence.api.service import MemoryService
from remanence.model.clock import FixedClock
from remanence.testing.serving import serving

from .recorder import HANGS_S, Hops, Recorder, recording

USER = "ana"
EVENING = datetime(2026, 3, 2, 21, tzinfo=UTC)
KNOWN = (
    "Ana moved to Lisbon in May 2024.",
    "Ben is allergic to peanuts.",
    "Ben is allergic to peanuts!",  # something to merge
    "Ana works as a nurse in the hospital of Lisbon.",
)
TALK = (
    {"role": "user", "content": "We want to see Porto in April."},
    {"role": "assistant", "content": "By train it takes three hours."},
)
NEW = "Ana's sister Eva teaches physics in Braga."
FIRST_QUESTION, QUESTION = "What may Ben not eat?", "Where does Ana work?"


def four_paths(folder: Path) -> dict[str, Hops]:
    """The hops of four paths. `folder` is empty and takes the files.

    - `add`: from `Memory.add` to the store's `write`.
    - `search`: all of `Memory.search`, with a question that was not asked before.
    - `rest`: `POST /v1/search` from the socket to `Memory.search`, the shortest of three.
    - `night`: all of `memory.sleep.run()`, the first one of a small memory.

    All of it happens twice, each time on a new file, and the second time counts. So what a process
    computes once and keeps is no part of a path, whatever ran in the process before.
    """
    with recording(Path(remanence.__file__).parent) as recorder:
        _walked(recorder, folder / "first.db")
        return _walked(recorder, folder / "second.db")


def _walked(recorder: Recorder, file: Path) -> dict[str, Hops]:
    with Memory(file, clock=FixedClock(EVENING)) as memory:
        memory.add_many(KNOWN, user_id=USER)
        memory.conversations.append(TALK, user_id=USER, session_id="evening")
        write = type(memory.parts.store.archive).write
        add = recorder.hops(lambda: memory.add(NEW, user_id=USER), until=write)
        memory.search(FIRST_QUESTION, user_id=USER)
        search = recorder.hops(lambda: memory.search(QUESTION, user_id=USER))
        night = recorder.hops(lambda: memory.sleep.run())
        return {"add": add, "night": night, "rest": _rest(recorder, memory), "search": search}


def _rest(recorder: Recorder, memory: Memory) -> Hops:
    """The shortest, because a server looks again from time to time whether there are keys yet."""
    with serving(memory, sleeps=False) as served:
        there = urlsplit(served.url)
        with socket.create_connection((there.hostname, there.port), timeout=HANGS_S) as line:
            _asked(line)
            return min((_heard(recorder, line) for _ in range(3)), key=lambda hops: hops.calls)


def _heard(recorder: Recorder, line: socket.socket) -> Hops:
    recorder.settle()
    return recorder.hops(lambda: _asked(line), until=MemoryService.search)


def _asked(line: socket.socket) -> None:
    """Ask in one piece, so that the server need not wait for the rest of the request."""
    body = json.dumps({"query": QUESTION, "user_id": USER}).encode()
    head = {"host": "127.0.0.1", "content-type": "application/json", "content-length": len(body)}
    lines = ["POST /v1/search HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    line.sendall("\r\n".join([*lines, "", ""]).encode() + body)
    answer = HTTPResponse(line, method="POST")
    answer.begin()
    told: dict[str, Any] = json.loads(answer.read())
    if answer.status != 200:
        raise RuntimeError(f"the server answered {answer.status}: {told}")

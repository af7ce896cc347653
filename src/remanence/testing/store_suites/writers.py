"""Writers that can be killed: a process that forks one for each request it reads.

A writer says what it is about to do, does it, and says that it is done; it never ends by itself, so
its process id stays its own until it is killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from remanence.model.document import Discard, Put, Shelving
from remanence.model.write import Action, Insert, Receipt, Remove, Revise
from remanence.ports.store import Store
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import NOW, block, memory, pieces, write

Told = dict[str, Any]


class Writers:
    """The process, from the outside."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def run_and_kill(self, patience_s: float, until: str, **asked: Any) -> list[Told]:
        """What a writer said, killed so long after it first said `until`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        heard: list[Told] = []
        while not all(any(key in one for one in heard) for key in ("pid", until)):
            heard.append(self._hear())
        time.sleep(patience_s)
        os.kill(next(one["pid"] for one in heard if "pid" in one), signal.SIGKILL)
        while "gone" not in heard[-1]:
            heard.append(self._hear())
        return heard

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=10)

    def _hear(self) -> Told:
        assert self._process.stdout is not None
        told: Told = json.loads(self._process.stdout.readline())
        return told


def _say(**told: Any) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


def _serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _write_once(**asked) if "receipt" in asked else _write_on(**asked)
        _say(pid=child)
        os.waitpid(child, 0)
        _say(gone=True)


def _write_on(path: str, seed: int) -> None:
    chance = random.Random(seed)
    store = SqliteStore(Path(path))
    mine: list[str] = []
    while True:
        if chance.random() < 0.4:
            shelvings = _shelvings(chance)
            _say(doing=[_shelved(one) for one in shelvings])
            store.put("t", shelvings)
        else:
            actions = _actions(chance, mine)
            _say(doing=[_told(action) for action in actions])
            write(store, *actions)
        _say(done=True)


def _write_once(path: str, receipt: str) -> None:
    store = SqliteStore(Path(path))
    _say(doing=True)
    record = memory(f"once, for {receipt}")
    write(store, Insert(record=record), receipt=Receipt(key=receipt, digest=b"same"))
    _say(done=True)
    while True:
        signal.pause()


def _actions(chance: random.Random, mine: list[str]) -> list[Action]:
    if mine and chance.random() < 0.3:
        id = mine.pop(chance.randrange(len(mine)))
        if chance.random() < 0.5:
            return [Remove(id=id)]
        change = {"text": f"revised {chance.random()}", "metadata": {"revised": True}}
        return [Revise(id=id, changes=change, verb="update", at=NOW)]
    records = [
        memory(f"memory {chance.random()} of tea", metadata={"n": n, "tags": ["a", "b"]})
        for n in range(chance.randint(1, 4))
    ]
    mine += [record.id for record in records]
    return [Insert(record=record, pieces=pieces(2)) for record in records]


def _shelvings(chance: random.Random) -> list[Shelving]:
    some = [block(name) for name in chance.sample("abcdef", 2)]
    if chance.random() < 0.2:
        return [Discard(address=address) for address in some]
    value = {"text": f"put {chance.random()}", "more": "x" * chance.choice([1, 9000])}
    return [Put(address=address, value=value, at=NOW, keep=True) for address in some]


def _shelved(one: Shelving) -> tuple[str, str]:
    return one.address.name, one.value["text"] if isinstance(one, Put) else ""


def documents_in(store: Store) -> dict[str, str]:
    """The text of documents whose every version was kept, by name; "torn" without all editions."""
    found = {}
    for document, editions in store.scan_documents("t"):
        versions = [one.version for one in editions]
        whole = versions == list(range(1, document.version + 1))
        agrees = whole and editions[-1].value == document.value
        found[document.address.name] = document.value["text"] if agrees else "torn"
    return found


def _told(action: Action) -> tuple[str, str]:
    match action:
        case Insert(record=record):
            return record.id, record.text
        case Revise(id=id, changes=changes):
            return id, changes["text"]
        case Remove(id=id):
            return id, ""


if __name__ == "__main__":
    _serve()

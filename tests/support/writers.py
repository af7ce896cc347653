"""Writers that can be killed: each says what it is about to do, does it, and says that it is done.

A writer never ends by itself.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from remanence.model.document import Discard, Put, Shelving
from remanence.model.ports.store import Store
from remanence.model.write import Action, Insert, Receipt, Remove, Revise
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import NOW, block, healthy, memory, pieces, write
from support.program import Program

Told = dict[str, Any]
State = dict[str, str]

LONGEST_S = 0.05

WRITER = f"""
import json, sys
from {__name__} import write_on, write_once
asked = json.loads(sys.argv[1])
write_once(**asked) if "receipt" in asked else write_on(**asked)
"""


def run_and_kill(patience_s: float, until: str, **asked: Any) -> list[Told]:
    """What a writer said, killed so long after it first said `until`."""
    with Program(WRITER, json.dumps(asked)) as writer:
        heard: list[Told] = [json.loads(writer.hear())]
        while until not in heard[-1]:
            heard.append(json.loads(writer.hear()))
        time.sleep(patience_s)
        writer.kill()
        return heard + [json.loads(line) for line in writer.rest().splitlines()]


def kill_often(path: Path, kills: int, seed: int) -> Iterator[Counter[str]]:
    """Kill one writer of a store after the other; what was found after each."""
    chance, state = random.Random(seed), State()
    for kill in range(kills):
        watcher = SqliteStore(path) if kill % 10 == 5 else None
        wait_s = chance.random() * LONGEST_S
        heard = run_and_kill(wait_s, "done", path=str(path), seed=seed + kill)
        acknowledged, attempted = states(state, heard)
        if watcher is not None:
            watcher.close()
        state, sound = found_in(path)
        yield Counter(
            acknowledged=sum("done" in one for one in heard),
            lost=len(lost_of(state, acknowledged, attempted)),
            half_done=state not in (acknowledged, attempted),
            unsound=not sound,
        )


def states(before: State, heard: list[Told]) -> tuple[State, State]:
    """The state that was acknowledged, and the one that was being made."""
    acknowledged = attempted = before
    for one in heard:
        if "doing" in one:
            changed = acknowledged | dict(one["doing"])
            attempted = {id: text for id, text in changed.items() if text}
        elif "done" in one:
            acknowledged = attempted
    return acknowledged, attempted


def lost_of(found: State, acknowledged: State, attempted: State) -> list[str]:
    """What was acknowledged, and is neither there nor was it being changed."""
    return [
        id
        for id, text in acknowledged.items()
        if found.get(id) != text and found.get(id) != attempted.get(id)
    ]


def found_in(path: Path) -> tuple[State, bool]:
    """What a store holds, and whether doctor finds nothing wrong with it."""
    store = SqliteStore(path)
    found = {record.id: record.text for _, record in store.archive.scan("t")} | documents_in(store)
    sound = healthy(store)
    store.close()
    return found, sound


def _say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def write_on(path: str, seed: int) -> None:
    """Write one thing after the other."""
    chance = random.Random(seed)
    store = SqliteStore(Path(path))
    mine: list[str] = []
    while True:
        if chance.random() < 0.4:
            shelvings = _shelvings(chance)
            _say(doing=[_shelved(one) for one in shelvings])
            store.documents.put("t", shelvings)
        else:
            actions = _actions(chance, mine)
            _say(doing=[_told(action) for action in actions])
            write(store, *actions)
        _say(done=True)


def write_once(path: str, receipt: str) -> None:
    """Write one memory, and wait."""
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
    for document, editions in store.documents.scan("t"):
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

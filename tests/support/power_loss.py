"""Simulated power loss: a file system that remembers what was not yet on the disk, and loses it.

Every write since a file's last sync may be gone, torn at a sector, or there although an earlier one
is not. What was acknowledged must be there all the same.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from remanence.errors import StoreError
from remanence.model.document import Discard, Put
from remanence.model.write import Action, Insert, Remove, Revise
from remanence.store.sqlite import SqliteStore, opening
from remanence.testing.store_suites.making import NOW, block, healthy, memory, pieces, write
from support.writers import documents_in

SECTOR = 512
VFS = "recording"
MEMORY_DISK = Path("/dev/shm")

NAMES = "abcdef"

State = dict[str, str]
Act = Callable[[SqliteStore], object]


@dataclass(frozen=True)
class Write:
    file: str
    offset: int
    data: bytes


@dataclass(frozen=True)
class Truncate:
    file: str
    size: int


@dataclass(frozen=True)
class Sync:
    file: str


@dataclass(frozen=True)
class Acknowledged:
    state: State


@dataclass(frozen=True)
class Attempted:
    state: State


class RecordingFile(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int], log: list[Any]) -> None:
        super().__init__("", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self._file = "-wal" if path.endswith("-wal") else ""
        self._log = log

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._log.append(Write(self._file, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._log.append(Truncate(self._file, size))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._log.append(Sync(self._file))


class RecordingVFS(apsw.VFS):
    def __init__(self, log: list[Any]) -> None:
        super().__init__(VFS, "")
        self._log = log

    def xOpen(self, name: Any, flags: list[int]) -> RecordingFile:
        return RecordingFile(name, flags, self._log)


@dataclass
class Disk:
    """One file: what is surely on the disk, and what was written since."""

    kept: bytearray = field(default_factory=bytearray)
    pending: list[Write | Truncate] = field(default_factory=list)

    def sync(self) -> None:
        for operation in self.pending:
            apply(self.kept, operation, None)
        self.pending.clear()

    def after_loss(self, chance: random.Random) -> bytes:
        content = bytearray(self.kept)
        survivors = [one for one in self.pending if chance.random() < 0.6]
        if chance.random() < 0.5:
            chance.shuffle(survivors)
        for operation in survivors:
            apply(content, operation, chance if chance.random() < 0.2 else None)
        return bytes(content)


def apply(content: bytearray, operation: Write | Truncate, torn: random.Random | None) -> None:
    if isinstance(operation, Truncate):
        del content[operation.size :]
        return
    data = operation.data
    if torn is not None:
        data = data[: SECTOR * torn.randint(0, len(data) // SECTOR)]
    content.extend(bytes(max(operation.offset + len(data) - len(content), 0)))
    content[operation.offset : operation.offset + len(data)] = data


@contextmanager
def recording(log: list[Any]) -> Iterator[None]:
    vfs = RecordingVFS(log)
    yield
    vfs.unregister()


def work(store: SqliteStore, chance: random.Random, log: list[Any], batches: int) -> None:
    """Random batches; the log tells which state was attempted and which acknowledged."""
    state: State = {}
    for number in range(batches):
        act, state = step(state, chance, number)
        log.append(Attempted(state))
        act(store)
        log.append(Acknowledged(state))


def step(state: State, chance: random.Random, number: int) -> tuple[Act, State]:
    """What to do next, and the state after it."""
    if chance.random() < 0.3:
        return shelve(state, chance, number)
    actions, after = change(state, chance, number)
    return lambda store: write(store, *actions), after


def shelve(state: State, chance: random.Random, number: int) -> tuple[Act, State]:
    """Put or discard two documents at once."""
    addresses = [block(name) for name in chance.sample(NAMES, 2)]
    left = {name: text for name, text in state.items() if name not in {a.name for a in addresses}}
    if chance.random() < 0.2:
        gone = [Discard(address=address) for address in addresses]
        return lambda store: store.documents.put("t", gone), left
    value = {"text": f"block {number}", "more": "x" * chance.choice([1, 9000])}
    puts = [Put(address=address, value=value, at=NOW, keep=True) for address in addresses]
    after = left | {address.name: value["text"] for address in addresses}
    return lambda store: store.documents.put("t", puts), after


def change(state: State, chance: random.Random, number: int) -> tuple[list[Action], State]:
    """What to do to memories, and the state after it."""
    state, documents = (
        {id: text for id, text in state.items() if (id in NAMES) == is_document}
        for is_document in (False, True)
    )
    actions, after = change_memories(state, chance, number)
    return actions, after | documents


def change_memories(state: State, chance: random.Random, number: int) -> tuple[list[Action], State]:
    if not state or chance.random() < 0.7:
        records = [memory(f"tea {number} {n}" * 9) for n in range(chance.randint(1, 5))]
        inserts = [Insert(record=record, pieces=pieces(2)) for record in records]
        return [*inserts], state | {record.id: record.text for record in records}
    id = chance.choice(list(state))
    if chance.random() < 0.4:
        return [Remove(id=id)], {other: text for other, text in state.items() if other != id}
    text = f"revised {number}"
    changes = {"text": text, "metadata": {"n": number}}
    return [Revise(id=id, changes=changes, verb="update", at=NOW)], state | {id: text}


def crashes(
    log: list[Any], start: dict[str, bytes], chance: random.Random, points: int
) -> Iterator[tuple[dict[str, bytes], State, State]]:
    """Files after a loss at random moments, with the states that may be found in them."""
    disks = {file: Disk(bytearray(content)) for file, content in start.items()}
    moments = sorted(chance.choices(range(len(log)), k=points), reverse=True)
    acknowledged: State = {}
    attempted: State = {}
    for at, entry in enumerate(log):
        match entry:
            case Write() | Truncate():
                disks[entry.file].pending.append(entry)
            case Sync(file):
                disks[file].sync()
            case Attempted(state):
                attempted = state
            case Acknowledged(state):
                acknowledged = state
        while moments and moments[-1] == at:
            moments.pop()
            lost = {file: disk.after_loss(chance) for file, disk in disks.items()}
            yield lost, acknowledged, attempted


def verdict(directory: Path, files: dict[str, bytes], allowed: list[State], deep: bool) -> str:
    """What a store finds after the loss: "fine", "lost" or "corrupt"."""
    path = directory / "after.db"
    for file, content in files.items():
        path.with_name(path.name + file).write_bytes(content)
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    try:
        store = SqliteStore(path, durability="normal")
        try:
            found = {record.id: record.text for _, record in store.archive.scan("t")}
            found |= documents_in(store)
            sound = healthy(store) if deep else True
        finally:
            store.close()
    except StoreError:
        return "corrupt"
    if not sound:
        return "corrupt"
    return "fine" if found in allowed else "lost"


def simulate(folder: Path, seed: int, batches: int, points: int) -> dict[str, int]:
    """What is found after a loss at each of so many moments of one recorded run."""
    chance = random.Random(seed)
    path = folder / "memory.db"
    SqliteStore(path).close()
    start = {"": path.read_bytes(), "-wal": b""}
    log: list[Any] = []
    with recording(log):
        store = SqliteStore(path, vfs=VFS)
        work(store, chance, log, batches)
        recorded = list(log)
        store.close()
    counts = {"fine": 0, "lost": 0, "corrupt": 0}
    for number, (files, *allowed) in enumerate(crashes(recorded, start, chance, points)):
        counts[verdict(folder, files, allowed, deep=number % 10 == 0)] += 1
    return counts


@contextmanager
def without_syncs() -> Iterator[None]:
    """Stores that are opened meanwhile never sync, so that losses must be found."""
    real = opening.DURABILITIES["full"]
    opening.DURABILITIES["full"] = "OFF"
    try:
        yield
    finally:
        opening.DURABILITIES["full"] = real


@contextmanager
def fast_folder(otherwise: Path) -> Iterator[Path]:
    """A directory in memory, if there is one: losses are simulated, so syncs need not be real.

    Its name follows from the other's, so that what a killed run left there is taken away.
    """
    if not MEMORY_DISK.is_dir():
        yield otherwise
        return
    folder = MEMORY_DISK / f"remanence{str(otherwise.resolve()).replace('/', '-')}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)

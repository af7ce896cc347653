"""Copies that are killed, cut off, refused or fed damaged rows: run again, they are whole."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from time import sleep
from typing import TypeVar

import apsw
import pytest

from remanence.errors import RemanenceError, StoreBusy, StoreCorrupt, StoreError, StoreFull
from remanence.model.ports.store import Store
from remanence.testing.store_suites.making import add, healthy, memory, revise
from remanence.tools.transfer import entries
from remanence.tools.transfer.store_copy import copy_store
from remanence.tools.transfer.verification import copy_and_verify
from support.copies import everything, fill
from support.kills import Kills
from support.places import opened

T = TypeVar("T")
KILLS = 10
BATCH = 20

COPY = f"""
import sys
from support.places import opened
from remanence.tools.transfer import entries, pairs, store_copy
from remanence.tools.transfer.store_copy import copy_store
entries.BATCH, pairs.DOCUMENTS, store_copy.LINKS = {BATCH}, 5, 3
source, target = opened(sys.argv[1]), opened(sys.argv[2])
print("go", flush=True)
copy_store(source, target)
print("done", flush=True)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A closed store with some of everything."""
    path = tmp_path / "source.db"
    with closing(opened(path)) as store:
        fill(store, 240)
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Where new, empty stores can be made."""
    made: list[str] = []

    def new() -> str:
        if request.param == "sqlite":
            made.append(str(tmp_path / f"target-{len(made)}.db"))
        else:
            made.append(str(request.getfixturevalue("postgres").database()))
        return made[-1]

    yield new
    if request.param == "postgres":
        for url in made:
            request.getfixturevalue("postgres").drop(url)


def test_a_copy_killed_anywhere_goes_on(source: Path, place: Callable[[], str]) -> None:
    kills = Kills(COPY)
    kills.whole(source, place())
    with closing(opened(source)) as store:
        whole = everything(store)
        for _ in kills.rounds(KILLS, cut_off=KILLS // 3):
            url = place()
            kills.kill(source, url)
            _resumed(store, url, whole)


def once_let_go(copy: Callable[[], T]) -> T:
    """The copy, as soon as the server has noticed that who was killed is gone."""
    while True:
        try:
            return copy()
        except StoreBusy:
            sleep(0.05)


def _resumed(store: Store, place: str, whole: object) -> None:
    with closing(opened(place)) as target:
        copied, found = once_let_go(lambda: copy_and_verify(store, target))
        assert found.differences.count == 0
        assert everything(target) == whole
        assert healthy(target)
        again = copy_store(store, target)
    assert (again.skipped, again.memories, again.links, again.feedback) == (240, 0, 0, 0)
    assert (again.documents, again.kept.count) == (0, 0)
    assert copied.memories + copied.skipped + copied.replaced == 240


def test_killed_while_memories_are_written_anew(source: Path, place: Callable[[], str]) -> None:
    kills = Kills(COPY)
    target = place()
    kills.whole(source, target)
    for round in kills.rounds(3):
        with closing(opened(source)) as store:
            for id in everything(store).order["t"][:60]:
                revise(store, id, importance=kills.chance.random(), text=f"round {round}")
        kills.kill(source, target)
    with closing(opened(source)) as store, closing(opened(target)) as there:
        assert copy_and_verify(store, there)[1].differences.count == 0
        mine, theirs = everything(store), everything(there)
        assert (theirs.records, theirs.histories) == (mine.records, mine.histories)
        assert (theirs.links, theirs.feedback) == (mine.links, mine.feedback)
        assert theirs.documents == mine.documents


def damaged(path: Path, change: str, id: str) -> None:
    """Change a row behind the store's back."""
    connection = apsw.Connection(str(path))
    connection.create_scalar_function("remanence_words", lambda *_: "", 2)
    connection.execute(f"UPDATE memories SET {change} WHERE hex(id) = ?", (id_hex(id),))
    connection.close()


def id_hex(id: str) -> str:
    return id.replace("-", "").upper()


@pytest.mark.parametrize(
    ("change", "readable"),
    [("text = 'forged'", True), ("importance = 0.123", True), ("version = 9", True),
     ("kind = 77", False), ("metadata = '{'", False)],
)  # fmt: skip
def test_a_damaged_row_is_named_and_not_copied(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, readable: bool
) -> None:
    monkeypatch.setattr(entries, "BATCH", BATCH)
    with closing(opened(source)) as store:
        ids = everything(store).order["t"]
    damaged(source, change, ids[BATCH + 5])
    with closing(opened(source)) as store, closing(opened(tmp_path / "target.db")) as target:
        with pytest.raises(StoreCorrupt, match=ids[BATCH + 5]):
            copy_store(store, target)
        there = everything(target).order
        assert there["t"] == ids[:BATCH] if readable else "t" not in there
        store.upkeep.doctor(repair=True, fingerprint=None)
        copied, found = copy_and_verify(store, target)
        assert found.differences.count == 0
        assert copied.memories > 0
        assert everything(target) == everything(store)


def test_a_target_that_is_damaged_is_named_too(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "target.db"
    with closing(opened(source)) as store:
        with closing(opened(path)) as target:
            copy_store(store, target)
        id = everything(store).order["t"][7]
        damaged(path, "text = 'forged'", id)
        with closing(opened(path)) as target, pytest.raises(StoreCorrupt, match=id):
            copy_store(store, target)


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, b"SQLite format 3\0" + b"\0" * 5000])
def test_a_target_that_is_no_store_is_refused_and_stays(
    source: Path, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "target.db"
    path.write_bytes(content)
    with closing(opened(source)) as store:
        if not content:
            with closing(opened(path)) as target:
                assert copy_store(store, target).memories == 240
            return
        with pytest.raises(StoreError):
            opened(path)
    assert path.read_bytes() == content


AS_PLAIN_USER = """
import os, sys
from remanence.errors import StoreError
from remanence.store.sqlite import SqliteStore
from remanence.store.coarse import opened
from remanence.tools.transfer.store_copy import copy_store
from support.places import opened
from remanence.tools.transfer.store_copy import copy_store
source = opened(sys.argv[1])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    copy_store(source, opened(sys.argv[2]))
except StoreError as error:
    print(error)
"""


def test_a_read_only_target_is_refused_and_stays(source: Path) -> None:
    """As a plain user, since root may write everywhere."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own, target = folder / "own" / "source.db", folder / "target.db"
        own.parent.mkdir()
        own.write_bytes(source.read_bytes())
        with closing(opened(target)) as store:
            add(store, memory("kept"))
        before = target.read_bytes()
        if os.geteuid() == 0:
            for each in (own.parent, own):
                os.chown(each, 65534, 65534)
        target.chmod(0o444)
        folder.chmod(0o555)
        command = [sys.executable, "-c", AS_PLAIN_USER, str(own), str(target)]
        environment = os.environ | {"XDG_CONFIG_HOME": name}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=name, env=environment
        )
        folder.chmod(0o755)
        assert done.returncode == 0, done.stderr
        assert "target.db cannot be opened" in done.stdout
        assert target.read_bytes() == before
        assert {each.name for each in folder.iterdir()} == {"own", "target.db"}


def test_a_full_disk_stops_the_copy_and_space_lets_it_go_on(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "BATCH", BATCH)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(opened(source)) as store, closing(opened(tmp_path / "target.db")) as target:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
        try:
            with pytest.raises(StoreFull):
                copy_store(store, target)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert healthy(target)
        copied, found = copy_and_verify(store, target)
        assert copied.skipped >= BATCH
        assert found.differences.count == 0
        assert everything(target) == everything(store)


def test_a_server_that_dies_stops_the_copy_and_a_new_start_lets_it_go_on(
    source: Path, private_postgres: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "BATCH", BATCH)
    monkeypatch.setenv("REMANENCE_SERVER_TIMEOUT_S", "2")
    server = private_postgres()
    url = server.database()  # type: ignore[attr-defined]
    with closing(opened(source)) as store:
        with closing(opened(url)) as target, pytest.raises(RemanenceError) as raised:
            copy_store(store, target, progress=_killing(server))
        assert isinstance(raised.value, StoreError)
        server.restart()  # type: ignore[attr-defined]
        with closing(opened(url)) as target:
            copied, found = copy_and_verify(store, target)
            assert copied.skipped >= BATCH
            assert found.differences.count == 0
            assert everything(target) == everything(store)


def _killing(server: object) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        if done >= total // 2:
            with suppress(ProcessLookupError):
                server.kill()  # type: ignore[attr-defined]

    return report

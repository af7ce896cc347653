"""Imports that are killed, cut off or refused: run again, everything is here once."""

from __future__ import annotations

import io
import json
import random
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.errors import InvalidInput, StoreError, StoreFull
from remanence.model.document import PORTABLE
from remanence.testing.store_suites.making import healthy
from remanence.tools.transfer import export_memory, import_chat, import_memory
from remanence.tools.transfer.chat import imports
from support.copies import everything, fill_documents, fill_knowledge
from support.kills import Kills
from support.places import places

EACH = 6
DOCUMENTS = EACH * len(PORTABLE)
KILLS = 5
TALKS, TURNS = 12, 17

IMPORT = """
import sys
from remanence import Memory
from remanence.tools.transfer import import_chat, import_memory, imports as files
from remanence.tools.transfer.chat import imports
imports.CHUNK, files.BATCH = 3, 2
what, path, url = sys.argv[1:]
with Memory(url, embedder="no-such-model") as memory, open(path, "rb") as file:
    print("go", flush=True)
    import_chat(memory, path, user_id="ana") if what == "chat" else import_memory(memory, file)
    print("done", flush=True)
"""


def history() -> list[dict[str, Any]]:
    return [
        {
            "uuid": f"k{talk}",
            "name": f"Talk {talk}",
            "chat_messages": [
                {
                    "uuid": f"k{talk}-{n}",
                    "sender": "assistant" if n % 2 else "human",
                    "created_at": f"2026-05-01T10:{talk:02d}:{n:02d}Z",
                    "text": f"turn {n} of talk {talk}",
                }
                for n in range(TURNS)
            ],
        }
        for talk in range(TALKS)
    ]


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(history(), indent=1))
    return path


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "export.jsonl"
    with (
        Memory(tmp_path / "exported.db", embedder="no-such-model") as memory,
        path.open("wb") as file,
    ):
        added = memory.add_many([f"tea {n}" for n in range(60)])
        for one, other in pairwise(added):
            memory.associate(one.id, other.id)
        fill_documents(memory.parts.store, "default", each=EACH, shelves=PORTABLE)
        fill_knowledge(memory.parts.store, "default", memories=30)
        export_memory(memory, file)
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    with places(tmp_path, request) as made:
        yield lambda: made(request.param)


def killed(what: str, path: Path, places: Callable[[], str]) -> Iterator[str]:
    """Databases in which imports were killed at any point."""
    kills = Kills(IMPORT)
    kills.whole(what, path, places())
    for _ in kills.rounds(KILLS):
        url = places()
        kills.kill(what, path, url)
        yield url


def test_a_chat_import_killed_anywhere_goes_on(chats: Path, place: Callable[[], str]) -> None:
    for url in killed("chat", chats, place):
        with Memory(url, embedder="no-such-model") as memory:
            before = memory.count(user_id="ana")
            assert before % TURNS % 3 == 0  # whole chunks, and whole talks
            done = import_chat(memory, chats, user_id="ana")
            assert (done.messages + before, done.present) == (TALKS * TURNS, before)
            found = memory.find(user_id="ana", limit=1000, newest_first=False)
            assert [one.text for one in found] == [
                f"turn {n} of talk {talk}" for talk in range(TALKS) for n in range(TURNS)
            ]
            assert set(Counter(one.external_id for one in found).values()) == {1}
            assert len(everything(memory.parts.store).documents) == TALKS
            assert import_chat(memory, chats, user_id="ana").messages == 0
            assert healthy(memory.parts.store)


def test_an_import_killed_anywhere_goes_on(export: Path, place: Callable[[], str]) -> None:
    whole = sorted(export.read_bytes().splitlines()[1:])
    for url in killed("memories", export, place):
        with Memory(url, embedder="no-such-model") as memory, export.open("rb") as file:
            done = import_memory(memory, file)
            assert (done.memories + done.skipped, done.documents + done.kept) == (60, DOCUMENTS)
            assert (done.associations, done.dangling) == (59, 0)
            told = io.BytesIO()
            export_memory(memory, told)
            assert sorted(told.getvalue().splitlines()[1:]) == whole
            assert healthy(memory.parts.store)


def test_a_full_disk_stops_it_and_space_lets_it_go_on(
    chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "CHUNK", 3)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Memory(tmp_path / "memory.db", embedder="no-such-model") as memory:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
        try:
            with pytest.raises(StoreFull):
                import_chat(memory, chats)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        before = memory.count()
        assert 0 < before < TALKS * TURNS
        assert import_chat(memory, chats).messages == TALKS * TURNS - before
        assert healthy(memory.parts.store)


def test_a_server_that_dies_stops_it_and_a_new_start_lets_it_go_on(
    chats: Path, private_postgres: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMANENCE_SERVER_TIMEOUT_S", "2")
    server = private_postgres()
    url = server.database()

    def kill(done: int, total: int) -> None:
        if done >= 50:
            server.kill()

    with Memory(url, embedder="no-such-model") as memory, pytest.raises(StoreError):
        import_chat(memory, chats, progress=kill)
    server.restart()
    with Memory(url, embedder="no-such-model") as memory:
        done = import_chat(memory, chats)
        assert done.present >= TURNS * TALKS // 3
        assert memory.count() == TURNS * TALKS


def test_a_file_cut_anywhere_leaves_whole_messages(chats: Path, tmp_path: Path) -> None:
    whole = chats.read_bytes()
    chance = random.Random(7)
    with Memory(tmp_path / "memory.db", embedder="no-such-model") as memory:
        for keep in sorted(chance.randrange(1, len(whole) - 2) for _ in range(25)):
            chats.write_bytes(whole[:keep])
            with pytest.raises(InvalidInput):
                import_chat(memory, chats)
            assert memory.count() % TURNS == 0
        chats.write_bytes(whole)
        import_chat(memory, chats)
        assert memory.count() == TALKS * TURNS

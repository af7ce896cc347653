"""What users of other memory systems complain about does not happen here."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remanence import AsyncMemory, Memory
from remanence.testing.patience import HANG_S
from support.embeddings_server import Answer, EmbeddingsServer, Request, embeddings_json
from support.program import Program


def test_the_subject_is_kept(memory: Memory) -> None:
    """ "Bob has a PhD" is not stored as "has a PhD"."""
    memory.add("Bob has a PhD")
    memory.add("Alice has a driving licence")
    memory.add_messages([{"role": "user", "name": "Carol", "content": "I have a sailing boat"}])
    assert memory.search("who has a PhD?")[0].memory.text == "Bob has a PhD"
    [carol] = memory.find(kinds="message")
    assert (carol.text, carol.speaker) == ("I have a sailing boat", "Carol")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("ฉันแพ้อาหารทะเลและชอบกาแฟเย็น", "กาแฟ"),
        ("我对海鲜过敏，喜欢冰咖啡", "咖啡"),
        ("私は魚介アレルギーでコーヒーが好きです", "コーヒー"),
    ],
    ids=["Thai", "Chinese", "Japanese"],
)
def test_every_language_is_stored_as_it_is_and_found(memory: Memory, text: str, word: str) -> None:
    memory.add_many(["I like tea in the morning", text, "The train was late"])
    assert memory.search(word)[0].memory.text == text


def test_changing_the_embedding_model_works(tmp_path: Path) -> None:
    """Another dimension breaks nothing, and nothing has to be deleted."""

    def answer(request: Request) -> Answer:
        vowels = [[1 + text.lower().count(v) for v in "aeiou"] for text in request.body["input"]]
        return Answer(embeddings_json(vowels))

    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        ids = {record.id for record in memory.add_many(["Ana lives in Faro", "Ben likes jazz"])}
    with (
        EmbeddingsServer(answer) as server,
        Memory(path, embedder="vowels", embedder_url=server.url) as memory,
    ):
        assert {hit.memory.id for hit in memory.search("Faro")} == ids
        assert memory.reembed() == 2
        assert memory.search("Faro")[0].memory.text == "Ana lives in Faro"
    with Memory(path) as memory:
        assert memory.reembed() == 2
        assert memory.search("what music does Ben enjoy?")[0].memory.text == "Ben likes jazz"


def test_the_forgotten_is_not_recalled(memory: Memory) -> None:
    record = memory.add("My old phone number is 555-0199")
    memory.add("My new phone number is 555-0123")
    memory.search("phone number")
    memory.forget(record.id)
    for _ in range(2):
        texts = [hit.memory.text for hit in memory.search("what is my phone number?", limit=10)]
        assert texts == ["My new phone number is 555-0123"]
    memory.forget(record.id, erase=True)
    assert len(memory.search("555-0199", states="any")) == 1


def test_forgetting_a_user_leaves_the_others_alone(memory: Memory) -> None:
    for user in ("ana", "ben", "carol", None):
        memory.add_many([f"note {n} of {user}" for n in range(3)], user_id=user)
    assert len(memory.forget(user_id="ben", erase=True)) == 3
    assert memory.count(user_id="ben", states="any") == 0
    for user in ("ana", "carol", None):
        assert memory.count(user_id=user) == 3
        assert len(memory.search("note", user_id=user)) == 3


def test_nothing_is_stored_but_what_was_given(memory: Memory) -> None:
    """What is recalled is not stored again, and nothing is made up."""
    memory.add("The sky is blue")
    for _ in range(20):
        memory.feedback(memory.search("sky")[0], useful=True)
    assert memory.count(all_users=True, states="any") == 1


def test_unrelated_facts_do_not_retire_each_other(memory: Memory) -> None:
    texts = [f"Person {n} works at company {n * 7}" for n in range(50)]
    memory.add_many(texts)
    memory.add("Person 3 works at company 99")
    assert memory.count() == 51


def test_contradictions_are_resolved_and_not_piled_up(memory: Memory) -> None:
    days = [datetime(2024, month, 1, tzinfo=UTC) for month in (1, 4, 7, 10)]
    for day, city in zip(days, ("Rome", "Oslo", "Bern", "Lima"), strict=True):
        memory.add(f"I live in {city}.", speaker="Ana", happened_at=day)
    memory.add("Back in 2019 I lived in Graz.", speaker="Ana", happened_at=days[3])
    now = memory.facts.about("Ana", predicate="lives in")
    assert [fact.object for fact in now] == ["Lima"]
    for day, city in zip(days, ("Rome", "Oslo", "Bern", "Lima"), strict=True):
        [then] = memory.facts.about("Ana", predicate="lives in", as_of=day + timedelta(days=9))
        assert then.object == city


def test_facts_of_others_retire_nothing(memory: Memory) -> None:
    memory.facts.add("Ana", "works at", "Acme")
    for n in range(100):
        memory.facts.add(f"Person {n}", "works at", f"Company {n}")
        memory.facts.add("Ana", "likes", f"thing {n}")
    [work] = memory.facts.about("Ana", predicate="works at")
    assert (work.object, work.standing) == ("Acme", "holds")
    assert len(memory.facts.find(standing="holds", limit=1000)) == 201


PROCESS = """
import sys
from remanence import Memory
with Memory(sys.argv[1]) as memory:
    for n in range(25):
        memory.add(f"process {sys.argv[2]} note {n}", user_id="shared")
"""


def test_processes_do_not_lose_each_others_writes(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    started = [Program(PROCESS, path, number) for number in range(3)]
    assert [program.ended() for program in started] == [0, 0, 0]
    with Memory(path) as memory:
        found = {record.text for record in memory.find(user_id="shared", limit=100)}
    assert found == {f"process {p} note {n}" for p in range(3) for n in range(25)}


def test_the_database_is_never_just_locked(memory: Memory, tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool, Memory(tmp_path / "memory.db") as other:
        both = (memory, other)
        list(pool.map(lambda n: both[n % 2].add(f"note {n}"), range(80)))
    assert memory.count() == 80


OFFLINE = """
import socket, sys

def refuse(*arguments, **named):
    raise AssertionError(f"a network call: {arguments}")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
socket.create_connection = socket.socket.sendto = refuse

import asyncio, json
from remanence import AsyncMemory, Memory

with Memory(sys.argv[1]) as memory:
    first, second = memory.add_many(["Ana moved to Lisbon", "Ben plays chess"], user_id="u")
    memory.add_messages([{"role": "user", "content": "hello"}], user_id="u", session_id="s")
    hits = memory.search("where does Ana live?", user_id="u")
    memory.feedback(hits[0], useful=True)
    memory.associate(first.id, second.id)
    memory.related(first.id)
    memory.update(first.id, text="Ana moved to Porto")
    memory.similarity("a", "b")
    memory.why_not("Ana", second.id, user_id="u")
    memory.history(first.id), memory.find(user_id="u"), memory.cleanup(user_id="u")
    memory.reembed(), memory.doctor(repair=True), memory.backup(sys.argv[1] + ".copy")
    memory.forget(second.id, erase=True)
    stats = memory.stats()
answer = asyncio.run(AsyncMemory(sys.argv[1] + ".copy").search("chess", user_id="u"))
print(json.dumps([hits[0].memory.text, hits.degraded, stats.memories, answer[0].memory.text]))
"""


def test_no_network_no_key_no_telemetry(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OFFLINE, str(tmp_path / "memory.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["Ana moved to Lisbon", [], 2, "Ben plays chess"]


def test_async_does_not_block_the_loop(tmp_path: Path) -> None:
    """While a search runs in its thread and cannot finish, the loop goes on turning."""

    async def work() -> None:
        async with AsyncMemory(tmp_path / "memory.db") as memory:
            await memory.add("first")
            inside, go_on = threading.Event(), threading.Event()
            turns = 0

            def progress(done: int, total: int) -> None:
                inside.set()
                assert go_on.wait(HANG_S)

            backup = asyncio.create_task(memory.backup(tmp_path / "copy.db", progress))
            while not inside.is_set():
                await asyncio.sleep(0)
                turns += 1
            assert len(await memory.search("first")) == 1
            assert not backup.done()
            go_on.set()
            assert (await backup).is_file()
            assert turns > 0

    asyncio.run(work())


def test_why_this_and_why_not_that(memory: Memory) -> None:
    memory.add_many([f"Weekly report number {n} about sales" for n in range(30)])
    garden = memory.add("The garden needs water")
    hits = memory.search("sales report", limit=5)
    assert all(abs(sum(hit.signals.values()) - hit.score) < 1e-4 for hit in hits)
    why = memory.why_not("sales report", garden.id, limit=5)
    assert why.stage in ("candidates", "pool", "rank")
    assert why.explanation


def test_there_is_a_way_out(tmp_path: Path) -> None:
    """Everything can be taken along: as records, or as one file that any SQLite opens."""
    with Memory(tmp_path / "memory.db") as memory:
        memory.add("mine to keep", metadata={"a": 1})
        [record] = memory.find()
        assert record.text == "mine to keep"
        copy = memory.backup(tmp_path / "copy.db")
    import apsw

    connection = apsw.Connection(str(copy))
    assert connection.execute("SELECT text FROM memories").fetchall() == [("mine to keep",)]
    connection.close()

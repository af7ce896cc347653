"""Nothing leaves the machine and nothing is written into the home, as a tracer outside sees it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from remanence.config import load_settings
from support.outbound import Watch, watches

EVERYTHING = """
import sys, httpx
from remanence import Memory
from support.server_process import server_process

path, index = sys.argv[1:]
with Memory(path, index=index) as memory:
    memory.add("Ana moved to Lisbon", user_id="u")
    hits = memory.search("where does Ana live?", user_id="u")
    assert not hits.degraded, hits.degraded
    memory.context("where does Ana live?", user_id="u")
    memory.sleep.run(user_id="u")
    memory.backup(path + ".copy")
    memory.doctor()
    memory.forget(hits[0].memory.id, erase=True)
with server_process(path, index=index) as server:
    made = httpx.post(f"{server.url}/v1/memories", json={"text": "Ben plays chess"}, timeout=60)
    found = httpx.post(f"{server.url}/v1/search", json={"query": "chess"}, timeout=60)
    print(made.status_code, found.json()["hits"][0]["memory"]["text"])
"""

ASKS_FOR_A_NAME = """
import socket
try:
    socket.getaddrinfo("remanence.invalid", 443)
except OSError as error:
    print(error)
"""
GOES_ELSEWHERE = """
import socket
socket.socket(type=socket.SOCK_DGRAM).sendto(b"hello", ("192.0.2.1", 9))
"""
STAYS_AT_A_RESOLVER = """
import socket, time
held = socket.socket(type=socket.SOCK_DGRAM)
held.connect(("127.0.0.1", 53))
held.send(b"hello")
time.sleep(5)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "temporary").mkdir()
    return tmp_path / "home"


@pytest.mark.parametrize("index", ["bits", "chroma"])
def test_a_memory_and_its_server_keep_to_themselves(home: Path, index: str) -> None:
    watch, *_ = watches()
    seen = run(watch, EVERYTHING, home, str(home.parent / "memory.db"), index)
    assert seen == ("200 Ben plays chess\n", ())
    assert left_in(home) == []
    assert left_in(home.parent / "temporary") == []


def test_every_way_of_watching_sees_a_socket(home: Path) -> None:
    for watch in watches():
        assert "udp 127.0.0.1:53" in run(watch, STAYS_AT_A_RESOLVER, home)[1]


def test_packets_to_a_resolver_or_elsewhere_are_seen(home: Path) -> None:
    watch, *polling = watches()
    if polling:
        assert "udp 192.0.2.1:9" in run(watch, GOES_ELSEWHERE, home)[1]
        assert any(one.endswith(":53") for one in run(watch, ASKS_FOR_A_NAME, home)[1])


def run(watch: Watch, program: str, home: Path, *given: str) -> tuple[str, tuple[str, ...]]:
    seen = watch([sys.executable, "-c", program, *given], environment(home))
    assert seen.code == 0, seen.output
    return seen.output, seen.reached


def environment(home: Path) -> dict[str, str]:
    """Of a user who has just been made."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "HOME": str(home),
        "TMPDIR": str(home.parent / "temporary"),
        "REMANENCE_CACHE": str(load_settings().cache_folder),
    }


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

"""mem0's own command line, as a process, against a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving

# Loaded by every Python that starts with it in its path: a connection elsewhere ends the process.
GUARD = """
import os, socket
connect = socket.socket.connect
def guarded(self, address):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
        os.write(2, b"LEFT THE MACHINE")
        os._exit(99)
    return connect(self, address)
socket.socket.connect = guarded
"""
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(Memory(tmp_path / "memory.db")) as server:
        yield server


@pytest.fixture
def cli(served: Served, tmp_path: Path) -> Cli:
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(tmp_path / "guard"),
        "PYTHONIOENCODING": "utf-8",
        "MEM0_TELEMETRY": "false",
        "MEM0_API_KEY": served.key(),
        "MEM0_BASE_URL": served.url,
    }

    def run(*words: str, fails: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "mem0_cli", *words],
            env=environment | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_S,
            stdin=subprocess.DEVNULL,
        )
        assert (done.returncode != 0) is fails, (words, done.stdout, done.stderr)
        return done

    return run


def told(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def test_a_memory_from_its_first_to_its_last_day(cli: Cli) -> None:
    [queued] = told(cli("add", "I live in Lisbon.", "-u", "alice", "-o", "json"))
    assert queued["status"] == "PENDING"
    status = told(cli("event", "status", queued["event_id"], "-o", "json"))
    assert status["status"] == "SUCCEEDED"
    id = status["results"][0]["id"]
    assert "I live in Lisbon." in cli("get", id).stdout
    assert "SUCCEEDED" in cli("event", "list").stdout
    cli("add", "I moved to Berlin.", "-u", "alice")
    found = told(cli("search", "Where do I live?", "-u", "alice", "-o", "json"))
    assert [one["memory"] for one in found] == ["I moved to Berlin."]
    listed = told(cli("list", "-u", "alice", "-o", "json"))
    assert [one["memory"] for one in listed["data"]] == ["I moved to Berlin."]
    cli("update", found[0]["id"], "I moved to Munich.", "-m", '{"sure": true}')
    changed = told(cli("get", found[0]["id"], "-o", "json"))
    assert (changed["memory"], changed["metadata"]) == ("I moved to Munich.", {"sure": True})
    cli("delete", found[0]["id"], "--force")
    assert "not found" in cli("get", found[0]["id"], fails=True).stderr
    assert "I live in Lisbon." in cli("search", "Where do I live?", "-u", "alice").stdout


def test_what_else_it_can_do(cli: Cli, tmp_path: Path) -> None:
    assert "Connected" in cli("status").stdout
    file = tmp_path / "memories.json"
    file.write_text(json.dumps([{"memory": "I like tea"}, {"text": "I like jazz"}]))
    assert told(cli("--json", "import", str(file), "-u", "bob"))["data"]["added"] == 2
    raw = told(cli("add", "as it is", "-u", "bob", "--no-infer", "-o", "json"))
    assert [one["event"] for one in raw["results"]] == ["ADD"]
    both = '{"AND": [{"user_id": "bob"}, {"keywords": {"contains": "jazz"}}]}'
    found = told(cli("search", "music", "--filter", both, "--threshold", "0", "-o", "json"))
    assert [one["memory"] for one in found] == ["I like jazz"]
    users = told(cli("--json", "entity", "list", "users"))["data"]
    assert users == [{"type": "user", "count": 3, "name": "bob"}]
    assert "at least one of" in cli("list", fails=True).stderr
    cli("add", "mine", "-u", "carol")
    cli("delete", "--all", "-u", "bob", "--force")
    assert told(cli("list", "-u", "bob", "-o", "json"))["count"] == 0
    assert told(cli("list", "-u", "carol", "-o", "json"))["count"] == 1
    cli("entity", "delete", "-u", "carol", "--force")
    assert told(cli("--json", "entity", "list", "users"))["data"] == []


def test_a_wrong_key_is_refused(cli: Cli) -> None:
    done = cli("list", "-u", "alice", fails=True, MEM0_API_KEY="rem_wrong")
    assert "Invalid or expired API key" in done.stderr

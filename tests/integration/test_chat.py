"""`rem chat`: once and in a conversation, with a model, without one, and interrupted."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from remanence import Memory
from remanence.cli.app import app
from remanence.testing.chat_server import ChatRequest, ChatServer, Turn, calls, fails, says
from remanence.testing.patience import HANG_S

Rem = Callable[..., Any]
COMMAND = [sys.executable, "-c", "from remanence.cli.app import main; main()"]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as scripted:
        yield scripted


@pytest.fixture
def environment(tmp_path: Path, server: ChatServer) -> dict[str, str]:
    return {
        "REMANENCE_DATABASE": str(tmp_path / "memory.db"),
        "REMANENCE_EMBEDDER": "no-such-model",
        "REMANENCE_LLM_URL": server.url,
        "REMANENCE_LLM_MODEL": "scripted",
        "COLUMNS": "200",
    }


@pytest.fixture
def rem(tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Rem:
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def call(*arguments: str, stdin: str | bytes | None = None) -> Any:
        return CliRunner().invoke(app, ["chat", *arguments], input=stdin)

    return call


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder="no-such-model") as opened:
        yield opened


def test_once(rem: Rem, server: ChatServer, memory: Memory) -> None:
    server.then(says("You live in Lisbon."))
    done = rem("-u", "ana", "--session", "s1", "--once", "Where do I live?")
    assert done.exit_code == 0, done.output
    assert done.stdout == "You live in Lisbon.\n"
    stored = memory.find(user_id="ana", session_id="s1", newest_first=False)
    assert [record.text for record in stored] == ["Where do I live?", "You live in Lisbon."]


def test_once_from_stdin(rem: Rem, server: ChatServer) -> None:
    server.then(says("Two lines."))
    assert rem("--once", "-", stdin="one\ntwo\n").exit_code == 0
    assert server.requests[0].last == "one\ntwo"


def test_once_for_programs(rem: Rem, server: ChatServer) -> None:
    server.then(calls("core_memory_append", {"label": "human", "content": "Ana"}), says("Hi."))
    done = rem("--once", "I am Ana", "-u", "ana", "--json")
    told = json.loads(done.stdout)
    assert told["ok"] is True
    assert told["data"]["text"] == "Hi."
    assert told["data"]["offline"] is False
    assert told["data"]["tool_calls"][0]["call"]["name"] == "core_memory_append"
    assert told["data"]["context"]["tokens"] <= told["data"]["context"]["max_tokens"]
    assert len(told["data"]["stored"]) >= 2


def test_a_model_that_fails(rem: Rem, server: ChatServer) -> None:
    server.then(fails(401, "wrong key"), fails(401, "wrong key"))
    done = rem("--once", "Hi")
    assert done.exit_code == 1
    assert "llm_key" in done.stderr
    told = rem("--once", "Hi", "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["error"]["type"] == "LanguageModelError"


def test_json_without_once_is_a_wrong_use(rem: Rem) -> None:
    assert rem("--json").exit_code == 2
    assert rem("Hi", "--once", "Hi").exit_code == 2


def test_a_text_alone_is_said_once(rem: Rem, server: ChatServer) -> None:
    server.then(says("Hello."), says("Piped."))
    done = rem("Hi there", "-u", "ana")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "Hello.\n", "")
    assert rem("-", "-u", "ana", stdin="from a pipe\n").stdout == "Piped.\n"
    assert [request.last for request in server.requests] == ["Hi there", "from a pipe"]


def test_nobody_is_told_that_everybody_sees_it(rem: Rem, server: ChatServer) -> None:
    server.then(*[says("Hi.")] * 3)
    for arguments in (["Hi"], ["Hi", "--json"], []):
        told = rem(*arguments, stdin="" if arguments else "Hi\n").stderr
        assert told.count("No user was named") == 1
        assert "seen by every user" in told
    assert "No user" not in rem("Hi", "-u", "ana", "--offline").stderr


def test_a_model_named_on_the_line(rem: Rem, server: ChatServer) -> None:
    server.then(says("Hi."))
    assert rem("--once", "Hi", "--model", "other").exit_code == 0
    assert server.requests[0].body["model"] == "other"
    assert rem("--once", "Hi", "--url", "nowhere").exit_code == 1


def test_offline_shows_what_would_be_sent(rem: Rem, server: ChatServer, memory: Memory) -> None:
    memory.add("Ana lives in Lisbon", user_id="ana")
    done = rem("-u", "ana", "--once", "Where do I live?", "--offline")
    assert done.exit_code == 0
    assert server.requests == []
    assert "Ana lives in Lisbon" in done.stdout
    assert done.stdout.rstrip().endswith("[user]\nWhere do I live?")
    assert "No language model was asked" in done.stderr
    told = json.loads(rem("--once", "Hi", "--offline", "--json").stdout)
    assert told["data"]["offline"] is True


def test_without_a_model_it_says_how_to_name_one(
    rem: Rem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REMANENCE_LLM_URL", "")
    for done in (rem("--once", "Hi"), rem("Hi"), rem(stdin="Hi\n")):
        assert done.exit_code == 1
        assert done.stdout == ""
        assert "set llm_url and llm_model" in done.stderr
    told = rem("--once", "Hi", "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["error"]["type"] == "ConfigError"
    assert "pass --url" in rem("Hi", "--model", "smollm2").stderr
    assert rem("Hi", "--offline").exit_code == 0
    with Memory(tmp_path / "memory.db", embedder="no-such-model") as memory:
        assert [record.text for record in memory.find()] == ["Hi"]


def test_a_conversation_with_commands(rem: Rem, server: ChatServer, memory: Memory) -> None:
    memory.add("Ana keeps bees", user_id="ana")
    server.then(
        calls("core_memory_append", {"label": "human", "content": "Likes bees"}),
        says("Bees are fine."),
    )
    lines = ["/context", "I like bees", "/blocks", "/undo human", "/blocks", "/search bees"]
    lines += ["/context", "/nonsense", "/undo nowhere", "/undo", "/quit", "never said"]
    done = rem("-u", "ana", stdin="\n".join(lines))
    out, err = done.stdout, done.stderr
    assert "Bees are fine." in out
    assert "human (10/2,048)\nLikes bees" in out
    assert out.count("human (0/2,048)") == 1
    assert "Ana keeps bees" in out
    assert "Nothing was asked yet." in err
    assert "[core_memory_append: done]" in err
    assert "tokens" in err
    assert "/blocks " in err
    assert "Error: There is no block 'nowhere'" in err
    assert "Go on with: rem chat -u ana --session chat-" in err
    assert len(server.requests) == 2
    assert done.exit_code == 1


def test_a_line_that_only_looks_like_a_command_is_said(rem: Rem, server: ChatServer) -> None:
    server.then(*[says("I see.")] * 3)
    lines = ["/etc/hosts is broken", "/etc/hosts", "/foo is a word", "/foo", "/help", "/search"]
    done = rem("-u", "ana", stdin="\n".join(lines))
    assert done.exit_code == 0, done.output
    assert [request.last for request in server.requests] == lines[:3]
    assert done.stderr.count("/undo LABEL") == 3


def test_a_broken_answer_ends_its_line(rem: Rem, server: ChatServer) -> None:
    server.then(says("Half a sentence", done=False), says("Whole."))
    done = rem("-u", "ana", stdin="one\ntwo\n")
    assert done.stdout == "Half a sentence\nWhole.\n"
    server.then(says("Half a sentence", done=False))
    assert rem("Hi", "-u", "ana").stdout == "Half a sentence\n"


def test_junk_from_the_model_ends_nothing(rem: Rem, server: ChatServer) -> None:
    junk = '{"query": "\\ud83d", "limit": 1' + "0" * 400 + "}"
    server.then(calls("conversation_search", junk), says("Sorry."))
    done = rem("Find it", "-u", "ana", "--json")
    told = json.loads(done.stdout)
    assert told["data"]["text"] == "Sorry."
    assert told["data"]["tool_calls"][0]["done"] is False


def test_a_failure_in_the_middle_does_not_end_it(rem: Rem, server: ChatServer) -> None:
    server.then(fails(500), says("Back again."))
    done = rem(stdin="one\ntwo\n")
    assert "Back again." in done.stdout
    assert done.exit_code == 1


def test_show_context(rem: Rem, server: ChatServer) -> None:
    server.then(says("Hi."))
    assert "of 500 tokens" in rem("--once", "Hi", "--show-context", "--max-tokens", "500").stderr


def test_no_tools(rem: Rem, server: ChatServer) -> None:
    server.then(says("Hi."))
    rem("--once", "Hi", "--no-tools")
    assert "tools" not in server.requests[0].body


def test_an_answer_cannot_upset_the_terminal(rem: Rem, server: ChatServer) -> None:
    server.then(says("\x1b]0;owned\x07\x1b[2J Hi"))
    done = rem("--once", "Hi")
    assert "\x1b" not in done.stdout
    assert "\\x1b" in done.stdout


@pytest.mark.parametrize("stdin", [b"\xff\xfe\n", b"a\0b\n"])
def test_hostile_lines(rem: Rem, server: ChatServer, stdin: bytes) -> None:
    server.then(says("Fine."))
    done = rem(stdin=stdin + b"and on\n")
    assert done.exit_code == 1
    assert "Error: " in done.stderr
    assert "Fine." in done.stdout
    assert "Traceback" not in done.output


def test_tenants_are_apart(rem: Rem, server: ChatServer) -> None:
    server.then(says("Noted."), says("No idea."))
    rem("--tenant", "one", "--session", "s1", "--once", "The code is 4711")
    rem("--tenant", "two", "--session", "s1", "--once", "What is the code?")
    assert "4711" not in json.dumps(server.requests[1].body)


def test_ctrl_c_ends_the_answer_and_not_the_program(
    tmp_path: Path, server: ChatServer, environment: dict[str, str]
) -> None:
    asked = threading.Event()

    def never(request: ChatRequest) -> Turn:
        asked.set()
        return Turn(hang=True)

    server.then(never, says("Still here."))
    main, child = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "chat", "--session", "s1", "-u", "ana"],
        stdin=child,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, **environment},
    ) as rem:
        os.close(child)
        os.write(main, b"first\n")
        assert asked.wait(HANG_S)
        rem.send_signal(signal.SIGINT)
        os.write(main, b"second\n/quit\n")
        out, err = rem.communicate(timeout=HANG_S)
        os.close(main)
    assert rem.returncode == 0, err
    assert b"Still here." in out
    assert b"not remembered" in err
    assert b"Model scripted, user ana, session s1. /help lists the commands." in err
    assert b"Traceback" not in err

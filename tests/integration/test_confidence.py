"""Confidence at every face: in the answer, as a bound, in contexts, the proxy and tools."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from remanence import Memory, RemoteMemory
from remanence.errors import InvalidInput
from remanence.model.context import Context
from remanence.model.hit import Hits
from remanence.testing.chat_server import ChatServer, says
from remanence.testing.serving import Served, serving
from remanence.tools.agent.tools import MemoryTools
from support import http

TEXTS = (
    "Marta is allergic to nuts and carries a pen against it",
    "The spare key hangs behind the boiler in the cellar",
    "Our anniversary is on the ninth of June",
)
PLAIN = "What is Marta allergic to?"
FOREIGN = "Which guitar strings did the luthier recommend?"
SURE = 0.4


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("confidence") / "memory.db"
    with Memory(path) as memory, serving(memory) as running:
        for text in TEXTS:
            memory.add(text, user_id="ana")
        yield running


def known(told: Hits | Context) -> float:
    assert told.confidence is not None
    return told.confidence


@pytest.fixture
def memory(served: Served) -> Memory:
    return served.memory


def test_a_search_says_how_sure_it_is_and_of_what(memory: Memory) -> None:
    plain, foreign = (memory.search(question, user_id="ana") for question in (PLAIN, FOREIGN))
    assert known(foreign) < SURE < known(plain)
    odds = math.log(known(plain) / (1 - known(plain)))
    assert sum(plain.confidence_signals.values()) == pytest.approx(odds, abs=1e-3)
    assert len(foreign) == len(TEXTS)


def test_below_the_bound_there_are_no_hits_and_it_is_told_why(memory: Memory) -> None:
    sure = memory.search(PLAIN, user_id="ana", min_confidence=SURE)
    assert sure[0].memory.text == TEXTS[0]
    unsure = memory.search(FOREIGN, user_id="ana", min_confidence=SURE)
    assert list(unsure) == []
    assert known(unsure) < SURE
    assert unsure.confidence_signals


def test_why_not_names_the_bound(memory: Memory) -> None:
    id = memory.search(PLAIN, user_id="ana")[0].memory.id
    stages = [
        memory.why_not(question, id, user_id="ana", min_confidence=SURE).stage
        for question in (FOREIGN, PLAIN)
    ]
    assert stages == ["min_confidence", "returned"]


def test_an_empty_memory_answers_nothing(memory: Memory) -> None:
    nowhere: list[dict[str, Any]] = [
        {"user_id": "nobody"},
        {"user_id": "ana", "filters": {"team": "none"}},
    ]
    for where in nowhere:
        found = memory.search(PLAIN, **where)
        assert (list(found), found.confidence) == ([], 0.0)


def test_without_vectors_it_is_not_known_and_bounds_nothing(tmp_path: Path) -> None:
    with Memory(tmp_path / "blind.db", embedder="no-such-model") as blind:
        blind.add(TEXTS[0])
        found = blind.search(PLAIN, min_confidence=0.99)
        assert found.degraded
        assert (len(found), found.confidence) == (1, None)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, "0.5", True])
def test_only_a_share_is_a_bound(wrong: Any, memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="min_confidence"):
        memory.search(PLAIN, min_confidence=wrong)
    with pytest.raises(InvalidInput, match="min_confidence"):
        memory.context(PLAIN, min_confidence=wrong)


def test_the_past_has_one_too(memory: Memory) -> None:
    now = memory.search(PLAIN, user_id="ana")
    then = memory.search(PLAIN, user_id="ana", known_at=now[0].memory.created_at)
    assert known(then) > 0


def test_a_result_from_the_cache_is_as_sure(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", cache_url="local") as memory:
        memory.add(TEXTS[0])
        first, second = (memory.search(PLAIN) for _ in range(2))
        assert second.confidence == first.confidence is not None
        assert second.confidence_signals == first.confidence_signals


def test_several_users_have_the_surest(memory: Memory) -> None:
    memory.add("The luthier recommended silk guitar strings", user_id="ben")
    alone = memory.search(FOREIGN, user_id="ben").confidence
    assert memory.search(FOREIGN, all_users=True).confidence == pytest.approx(alone, abs=0.05)
    memory.forget(user_id="ben", erase=True)


def test_a_context_keeps_all_but_the_memories(memory: Memory) -> None:
    memory.blocks.append("human", "Ana likes tea.", user_id="ana")
    plain, foreign = (
        memory.context(question, user_id="ana", min_confidence=SURE)
        for question in (PLAIN, FOREIGN)
    )
    assert TEXTS[0] in plain.text
    assert "Ana likes tea." in foreign.text
    assert not foreign.part("recalled").items
    assert known(foreign) < SURE
    assert not memory.context(FOREIGN, user_id="ana").part("recalled").items
    wanted = memory.context(FOREIGN, user_id="ana", min_confidence=0.0)
    assert wanted.part("recalled").items


def test_over_rest(served: Served) -> None:
    asked = {"query": FOREIGN, "user_id": "ana", "min_confidence": SURE}
    answer = http.post(f"{served.url}/v1/search", json=asked).json()
    assert answer["hits"] == []
    assert 0 <= answer["confidence"] < SURE
    own = served.memory.search(FOREIGN, user_id="ana")
    assert answer["confidence_signals"] == pytest.approx(own.confidence_signals, abs=1e-4)
    with RemoteMemory(served.url) as remote:
        far = remote.search(PLAIN, user_id="ana")
        assert known(far) > SURE
        assert far.confidence_signals.keys() == own.confidence_signals.keys()
    wrong = http.post(f"{served.url}/v1/search", json={**asked, "min_confidence": 2})
    assert wrong.status_code in (400, 422)


def test_over_mcp(served: Served) -> None:
    async def asked() -> tuple[Any, str]:
        async with Client(StreamableHttpTransport(f"{served.url}/mcp")) as client:
            told = await client.call_tool("search_memories", {"query": PLAIN, "user_id": "ana"})
            return told.structured_content, told.content[0].text

    answer, words = asyncio.run(asked())
    assert answer["confidence"] > SURE
    assert f"Confidence {answer['confidence']:.2f}." in words


def test_over_mcp_nothing_below_it_is_told(served: Served) -> None:
    async def asked(tool: str, question: str) -> str:
        sent = {"query": question, "user_id": "ana", "min_confidence": SURE}
        async with Client(StreamableHttpTransport(f"{served.url}/mcp")) as client:
            return str((await client.call_tool(tool, sent)).content[0].text)

    for tool in ("search_memories", "get_context"):
        assert TEXTS[0] in asyncio.run(asked(tool, PLAIN))
        assert TEXTS[0] not in asyncio.run(asked(tool, FOREIGN))


def test_tools_of_an_agent_find_nothing_below_it(memory: Memory) -> None:
    tools = MemoryTools(memory, user_id="ana", min_confidence=SURE)
    plain, foreign = (
        tools.call("archival_memory_search", json.dumps({"query": question}))
        for question in (PLAIN, FOREIGN)
    )
    assert TEXTS[0] in plain
    assert TEXTS[1] not in foreign


@pytest.mark.parametrize("least", [0.0, SURE])
def test_the_proxy_keeps_to_it(least: float, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db")
    memory.add(TEXTS[1], user_id="ana")
    settings = {"proxy_min_confidence": least}
    with ChatServer() as upstream, serving(memory, upstream_url=upstream.url, **settings) as server:
        upstream.then(says("I do not know."))
        chat = {"model": "m", "user": "ana", "messages": [{"role": "user", "content": FOREIGN}]}
        answer = http.post(f"{server.url}/v1/chat/completions", json=chat)
        assert not answer.headers["x-memory-ids"]

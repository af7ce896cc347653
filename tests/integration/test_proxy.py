"""The proxy with OpenAI's own client: what goes up, what comes back, what is remembered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from remanence import Memory
from remanence.language.fences import without_fenced
from remanence.model.memory import MemoryRecord
from remanence.testing.chat_server import ChatServer, calls, says
from remanence.testing.patience import HANG_S, until
from remanence.testing.serving import Served, serving
from support import http

MODEL = "scripted"
SISTER = "My sister's name is Marta and she lives in Porto."
ASKED = {"role": "user", "content": "What is my sister's name?"}
ANA = {"X-Memory-User-Id": "ana"}


@pytest.fixture
def upstream() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def served(upstream: ChatServer, tmp_path: Path) -> Iterator[Served]:
    memory = Memory(tmp_path / "memory.db")
    with serving(memory, upstream_url=upstream.url, upstream_key="up-secret") as server:
        yield server


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0) as opened:
        yield opened


def said(served: Served, count: int, **where: Any) -> list[tuple[str | None, str]]:
    """Role and text of what is stored, once it is so much."""
    found: list[MemoryRecord] = []

    def enough() -> bool:
        found[:] = served.memory.find(kinds="message", newest_first=False, **where)
        return len(found) >= count

    until(enough)
    return [(record.role, record.text) for record in found]


def post(served: Served, body: bytes | dict[str, Any], **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    url = f"{served.url}/v1/chat/completions"
    return http.post(url, content=content, headers=named, trust_env=False, timeout=HANG_S)


def system(upstream: ChatServer) -> str:
    first = upstream.requests[-1].messages[0]
    assert first["role"] == "system"
    return str(first["content"])


# -- the answer


def test_a_whole_answer_passes_as_it_is(
    client: openai.OpenAI, upstream: ChatServer, served: Served
) -> None:
    upstream.then(says("Hello, Ana."))
    raw = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=[{"role": "user", "content": "Hello"}], extra_headers=ANA
    )
    assert raw.content == upstream.sent[0]
    assert raw.parse().choices[0].message.content == "Hello, Ana."
    assert raw.headers["x-memory-ids"] == ""
    assert raw.headers["x-memory-tokens"] == "0"
    assert float(raw.headers["x-memory-latency-ms"]) > 0
    assert "x-memory-error" not in raw.headers
    stored = said(served, 2, user_id="ana")
    assert stored == [("user", "Hello"), ("assistant", "Hello, Ana.")]
    assert {record.source for record in served.memory.find(user_id="ana")} == {"proxy"}


@pytest.mark.parametrize(
    "how",
    [
        {"bytes_at_once": 1},
        {"bytes_at_once": 7, "crlf": True},
        {"bytes_at_once": 11, "comments": True},
        {"done": False},
        {},
    ],
)
def test_a_stream_passes_byte_by_byte(
    how: dict[str, Any], served: Served, upstream: ChatServer
) -> None:
    upstream.then(says("Olá, Ana: 日本語 and 🎻 all the same.", **how))
    body = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    answer = post(served, body | {"user": "ana"})
    assert answer.content == upstream.sent[0]
    assert answer.headers["content-type"] == "text/event-stream"
    stored = said(served, 2, user_id="ana")
    assert stored == [("user", "Hi"), ("assistant", "Olá, Ana: 日本語 and 🎻 all the same.")]
    assert all(not record.metadata for record in served.memory.find(user_id="ana"))


def test_a_stream_of_the_client(
    client: openai.OpenAI, upstream: ChatServer, served: Served
) -> None:
    upstream.then(says("One two three."))
    stream = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "Count"}], stream=True, user="ana"
    )
    pieces = [chunk.choices[0].delta.content or "" for chunk in stream]
    assert "".join(pieces) == "One two three."
    assert said(served, 2, user_id="ana")[1] == ("assistant", "One two three.")


def test_the_asynchronous_client(upstream: ChatServer, served: Served) -> None:
    upstream.then(says("Whole."), says("In pieces."))

    async def talk() -> tuple[str | None, str]:
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="any") as client:
            chat = client.chat.completions
            whole = await chat.create(
                model=MODEL, messages=[{"role": "user", "content": "First"}], user="ana"
            )
            stream = await chat.create(
                model=MODEL,
                messages=[{"role": "user", "content": "Then"}],
                user="ana",
                stream=True,
            )
            text = "".join([one.choices[0].delta.content or "" async for one in stream])
            return whole.choices[0].message.content, text

    assert asyncio.run(talk()) == ("Whole.", "In pieces.")
    assert [text for _, text in said(served, 4, user_id="ana")] == [
        *("First", "Whole.", "Then", "In pieces.")
    ]


def test_the_first_byte_does_not_wait_for_the_last(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Slowly but surely.", hold_after=200))
    body = {"stream": True, "messages": [{"role": "user", "content": "Go"}], "user": "ana"}
    with (
        http.Client(trust_env=False, timeout=HANG_S) as client,
        client.stream("POST", f"{served.url}/v1/chat/completions", json=body) as answer,
    ):
        chunks = answer.iter_raw()
        first = next(chunks)
        assert first == upstream.sent[0][: len(first)]
        upstream.go_on()
        assert first + b"".join(chunks) == upstream.sent[0]


def test_models_pass(client: openai.OpenAI, upstream: ChatServer) -> None:
    assert [model.id for model in client.models.list()] == ["scripted"]
    assert upstream.requests[0].headers["authorization"] == "Bearer up-secret"


@pytest.mark.parametrize("path", ["completions", "embeddings", "models/scripted", "responses"])
def test_other_paths_of_the_api_are_not_there(path: str, served: Served) -> None:
    answer = http.post(f"{served.url}/v1/{path}", json={}, trust_env=False)
    assert answer.status_code == 404


# -- what is recalled


def test_what_was_said_in_one_session_is_known_in_the_next(
    client: openai.OpenAI, upstream: ChatServer, served: Served
) -> None:
    upstream.then(says("I will remember."), says("Marta."))
    first = ANA | {"X-Memory-Session-Id": "monday"}
    chat = client.chat.completions
    chat.create(model=MODEL, messages=[{"role": "user", "content": SISTER}], extra_headers=first)
    said(served, 2, user_id="ana")
    raw = chat.with_raw_response.create(
        model=MODEL,
        messages=[{"role": "system", "content": "Be brief."}, ASKED],  # type: ignore[list-item]
        extra_headers=ANA | {"X-Memory-Session-Id": "tuesday"},
    )
    told = system(upstream)
    assert told.startswith("Be brief.\n\n<")
    assert without_fenced(told) == "Be brief."
    assert SISTER in told.partition("<memories>")[2].partition("</memories>")[0]
    assert upstream.requests[-1].messages[1:] == [ASKED]
    shown = raw.headers["x-memory-ids"].split(",")
    assert SISTER in [served.memory.get(id).text for id in shown]
    assert 0 < int(raw.headers["x-memory-tokens"]) <= served.app.state.settings.proxy_tokens
    sessions = {one.session_id for one in served.memory.find(user_id="ana", kinds="message")}
    assert "monday" in sessions


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"role": "system", "content": "Be brief."}, "Be brief.\n\n"),
        ({"role": "system", "content": ""}, ""),
        ({"role": "system", "content": None}, ""),
        ({"role": "system"}, ""),
        ({"role": "developer", "content": 'A "quoted" \\ word'}, 'A "quoted" \\ word\n\n'),
    ],
)
def test_the_block_goes_to_the_end_of_the_system_message(
    given: dict[str, Any], kept: str, served: Served, upstream: ChatServer
) -> None:
    served.memory.add(SISTER, user_id="ana")
    upstream.then(says("Marta."))
    post(served, {"messages": [given, ASKED], "user": "ana"})
    first, *rest = upstream.requests[0].messages
    assert first["role"] == given["role"]
    assert first["content"].startswith(f"{kept}<")
    assert first["content"].rstrip().endswith("</memories>")
    assert rest == [ASKED]


def test_a_system_message_in_parts_gets_one_more(served: Served, upstream: ChatServer) -> None:
    served.memory.add(SISTER, user_id="ana")
    upstream.then(says("Marta."), says("Marta."))
    part = {"type": "text", "text": "Be brief."}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    asked = {"role": "user", "content": [picture, {"type": "text", "text": ASKED["content"]}]}
    for parts in ([part], []):
        messages = [{"role": "system", "content": parts}, asked]
        post(served, {"messages": messages, "user": "ana"})
        first, second = upstream.requests[-1].messages
        assert first["content"][:-1] == parts
        assert SISTER in first["content"][-1]["text"]
        assert second == asked
    assert ("user", ASKED["content"]) in said(served, 2, user_id="ana")


def test_without_a_system_message_there_is_one(served: Served, upstream: ChatServer) -> None:
    served.memory.add(SISTER, user_id="ana")
    upstream.then(says("Marta."))
    post(served, {"messages": [ASKED], "user": "ana"})
    assert SISTER in system(upstream)
    assert upstream.requests[0].messages[1:] == [ASKED]


def test_every_other_byte_stays(served: Served, upstream: ChatServer) -> None:
    served.memory.add(SISTER, user_id="ana")
    upstream.then(says("Marta."), says("Marta."))
    body = (
        '{ "seed" : 123456789012345678901234567890, "temperature":0.10, "top_p": 1E-2,\n'
        '  "odd": {"a": -0, "a2": [1.0, 1e400], "é": "\\u00e9 \\ud83d é"}, "user":"ana",'
        '\t"messages": [ {"role":"system","content":"Be brief.","x":1.50}, '
        '{"content":"What is my sister\'s \\u006eame?","role":"user"} ] , "model":"m" }\n'
    ).encode()
    post(served, body)
    sent = upstream.requests[0].raw.decode()
    start = sent.index("Be brief.") + len("Be brief.")
    end = sent.index('","x":1.50')
    assert SISTER in sent[start:end]
    assert (sent[:start] + sent[end:]).encode() == body
    post(served, body, x_memory_mode="off")
    assert upstream.requests[1].raw == body


def test_core_blocks_are_told_too(served: Served, upstream: ChatServer) -> None:
    served.memory.blocks.append("human", "Likes short answers.", user_id="ana")
    upstream.then(says("Hi."))
    post(served, {"messages": [{"role": "user", "content": "Hello"}], "user": "ana"})
    assert "Likes short answers." in system(upstream)


def test_a_client_without_history_gets_the_last_turns(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Which colour?"), says("Green it is."), says("Yes."))
    place = {"x_memory_user_id": "ana", "x_memory_session_id": "s1"}
    post(served, {"messages": [{"role": "user", "content": "Paint my door."}]}, **place)
    said(served, 2, user_id="ana")
    post(served, {"messages": [{"role": "user", "content": "Green."}]}, **place)
    assert "assistant: Which colour?" in system(upstream).partition("<recent_turns>")[2]
    said(served, 4, user_id="ana")
    history = [
        {"role": "user", "content": "Paint my door."},
        {"role": "assistant", "content": "Which colour?"},
        {"role": "user", "content": "Is it done?"},
    ]
    post(served, {"messages": history}, **place)
    assert "recent_turns" not in json.dumps(upstream.requests[-1].messages)


def test_the_budget_holds(upstream: ChatServer, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db")
    for n in range(60):
        memory.add(f"Ana's sister Marta told her story number {n} about Porto.", user_id="ana")
    upstream.then(says("Marta."))
    with serving(memory, upstream_url=upstream.url, proxy_tokens=120) as served:
        answer = post(served, {"messages": [ASKED], "user": "ana"})
        assert 60 < int(answer.headers["x-memory-tokens"]) <= 120


# -- what is stored


def test_only_what_is_new_is_stored(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Hello."), says("Good."), says("Good."), says("Better."))
    place = {"x_memory_user_id": "ana", "x_memory_session_id": "s1"}
    history = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    post(served, {"messages": history}, **place)
    said(served, 2, user_id="ana")
    history += [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "And?"}]
    for _ in range(3):  # the same again is a retry, another answer to it is one more answer
        post(served, {"messages": history}, **place)
    want = [("user", "Hi"), ("assistant", "Hello."), ("user", "And?"), ("assistant", "Good.")]
    assert said(served, 5, user_id="ana") == [*want, ("assistant", "Better.")]
    talk = served.memory.conversations.messages("s1", user_id="ana")
    assert len(talk) == 5


def test_who_sends_no_history_may_repeat_themselves(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("Question one?"), says("Question two?"), says("Question two?"))
    place = {"x_memory_user_id": "ana", "x_memory_session_id": "quiz"}
    for count in (2, 4, 4):
        post(served, {"messages": [{"role": "user", "content": "Next"}]}, **place)
        said(served, count, user_id="ana")
    talk = [text for _, text in said(served, 4, user_id="ana")]
    assert talk == ["Next", "Question one?", "Next", "Question two?"]


def test_tools_pass_and_the_exchange_around_them_is_stored(
    client: openai.OpenAI, upstream: ChatServer, served: Served
) -> None:
    upstream.then(calls("weather", {"city": "Porto"}), says("It rains in Porto."))
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tool: Any = {"type": "function", "function": {"name": "weather", "parameters": parameters}}
    messages: list[Any] = [{"role": "user", "content": "How is the weather in Porto?"}]
    where = ANA | {"X-Memory-Session-Id": "s1"}
    chat = client.chat.completions
    first = chat.create(model=MODEL, messages=messages, tools=[tool], extra_headers=where)
    [call] = first.choices[0].message.tool_calls or []
    assert json.loads(call.function.arguments) == {"city": "Porto"}  # type: ignore[union-attr]
    assert upstream.requests[0].body["tools"] == [tool]
    messages.append(first.choices[0].message.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "Rain, 12 degrees"})
    chat.create(model=MODEL, messages=messages, tools=[tool], extra_headers=where)
    assert upstream.requests[1].messages[-2]["tool_calls"][0]["id"] == call.id
    assert said(served, 2, user_id="ana") == [
        ("user", "How is the weather in Porto?"),
        ("assistant", "It rains in Porto."),
    ]


def test_what_memory_told_is_not_stored_again(served: Served, upstream: ChatServer) -> None:
    served.memory.add(SISTER, user_id="ana")
    upstream.then(lambda asked: says(f"I was told:\n{asked.messages[0]['content']}\nSo: Marta."))
    post(served, {"messages": [ASKED], "user": "ana"})
    stored = said(served, 2, user_id="ana")
    assert stored == [("user", ASKED["content"]), ("assistant", "I was told:\n\nSo: Marta.")]


def test_several_choices_store_the_first(served: Served, upstream: ChatServer) -> None:
    choices = [
        {"index": n, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for n, text in ((1, "Second."), (0, "First."))
    ]
    upstream.then(says("", body=json.dumps({"choices": choices}).encode()))
    post(served, {"messages": [{"role": "user", "content": "Hi"}], "user": "ana", "n": 2})
    assert said(served, 2, user_id="ana")[1] == ("assistant", "First.")


def test_an_answer_that_was_cut_short_says_so(served: Served, upstream: ChatServer) -> None:
    upstream.then(says("A long story that", finish="length"))
    post(served, {"messages": [{"role": "user", "content": "Tell"}], "user": "ana"})
    said(served, 2, user_id="ana")
    answer = served.memory.find(user_id="ana", filters={"partial": "length"})
    assert [record.text for record in answer] == ["A long story that"]


@pytest.mark.parametrize(
    ("mode", "reads", "writes"),
    [
        ("off", False, False),
        ("read", True, False),
        ("write", False, True),
        ("ReadWrite", True, True),
    ],
)
def test_modes(mode: str, reads: bool, writes: bool, served: Served, upstream: ChatServer) -> None:
    served.memory.add(SISTER, user_id="ana")
    upstream.then(says("Marta."), says("Bye."))
    post(served, {"messages": [ASKED], "user": "ana"}, x_memory_mode=mode)
    assert (SISTER in upstream.requests[0].raw.decode()) is reads
    post(served, {"messages": [{"role": "user", "content": "End"}], "user": "ana"})
    stored = said(served, 4 if writes else 2, user_id="ana")
    assert (("user", ASKED["content"]) in stored) is writes

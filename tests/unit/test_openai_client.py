"""Reading chat answers: streams cut anywhere, calls in pieces, and whatever else is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.backends.llm import answers
from remanence.backends.llm.answers import DONE, Joined, data_lines, whole_reply
from remanence.backends.llm.openai_compatible import OpenAiCompatibleModel, _is_local
from remanence.config import Settings
from remanence.config.assembly.models import make_language_model
from remanence.errors import ConfigError, InvalidInput, LanguageModelError
from remanence.model.ports.language_model import Reply, ToolCall


def event(delta: dict[str, Any], finish: str | None = None) -> str:
    return json.dumps(
        {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}, ensure_ascii=False
    )


def joined(*events: str) -> tuple[list[str], Reply]:
    answer = Joined()
    pieces = [answer.take(one) for one in events]
    return [piece for piece in pieces if piece], answer.reply()


@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
        max_size=6,
    ),
    ends=st.lists(st.sampled_from(["\n", "\r\n"]), min_size=12, max_size=12),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=5),
)
def test_a_stream_reads_the_same_however_it_is_cut(
    texts: list[str], ends: list[str], sizes: list[int]
) -> None:
    lines = []
    for n, text in enumerate(texts):
        lines += [f": comment {n}", f"data: {event({'content': text})}", "", "event: x", "id:1"]
    lines.append(f"data:{DONE}")
    stream = "".join(line + ends[n % len(ends)] for n, line in enumerate(lines)).encode()
    chunks, at, turn = [], 0, 0
    while at < len(stream):
        chunks.append(stream[at : at + sizes[turn % len(sizes)]])
        at, turn = at + len(chunks[-1]), turn + 1
    found = [line for line in data_lines(chunks) if line]
    assert found.pop() == DONE
    assert joined(*found)[1].text == "".join(texts)


def test_a_last_line_without_an_end_counts() -> None:
    assert list(data_lines([b"data: a\ndata", b": b"])) == ["a", "b"]


def test_calls_are_joined_by_their_index() -> None:
    def part(index: int, id: str | None, name: str | None, arguments: str) -> str:
        function = {"name": name, "arguments": arguments}
        return event({"tool_calls": [{"index": index, "id": id, "function": function}]})

    pieces, reply = joined(
        event({"content": "One moment."}),
        part(1, "b", "search", ""),
        part(0, "a", "append", '{"la'),
        part(1, None, None, '{"query": 1}'),
        part(0, None, None, 'bel": 2}'),
        event({}, "tool_calls"),
    )
    assert pieces == ["One moment."]
    assert reply.finish == "tool_calls"
    assert reply.tool_calls == (
        ToolCall(id="a", name="append", arguments='{"label": 2}'),
        ToolCall(id="b", name="search", arguments='{"query": 1}'),
    )


def test_servers_differ_in_how_they_send_a_call() -> None:
    function = {"name": "append", "arguments": {"label": "human"}}
    _, streamed = joined(event({"tool_calls": [{"function": function}]}, "stop"))
    message = {"content": None, "tool_calls": [{"function": function}]}
    whole = whole_reply(json.dumps({"choices": [{"message": message}]}))
    for reply in (streamed, whole):
        [call] = reply.tool_calls
        assert call == ToolCall(id="call_1", name="append", arguments='{"label": "human"}')


def one(id: str | None, name: str | None, arguments: str, **index: int) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": id, "function": function, **index}


@pytest.mark.parametrize(
    "parts",
    [
        [[one("a", "append", '{"n": 1}'), one("b", "search", '{"n": 2}')]],
        [[one("a", "append", '{"n": 1}')], [one("b", "search", '{"n": 2}')]],
        [[one("a", "append", '{"n"')], [one(None, None, ": 1}")], [one("b", "search", '{"n": 2}')]],
        [[one("a", "append", '{"n": 1}', index=0)], [one("b", "search", '{"n": 2}', index=0)]],
        [
            [one("a", "append", '{"n"', index=0), one("b", "search", '{"n"', index=0)],
            [one("b", None, ": 2}", index=0), one("a", None, ": 1}", index=0)],
        ],
        [
            [one("a", "append", '{"n"', index=0), one("b", "search", '{"n"', index=1)],
            [one("made-up", None, ": 1}", index=0), one("made-up-too", None, ": 2}", index=1)],
        ],
        [
            [one("a", "append", '{"n"', index=0)],
            [one("a", "append", ": 1}", index=0)],
            [one("b", "search", '{"n": 2}', index=0)],
        ],
    ],
)
def test_calls_with_ids_are_told_apart_whatever_their_index(parts: list[Any]) -> None:
    _, reply = joined(*(event({"tool_calls": part}) for part in parts), event({}, "tool_calls"))
    assert reply.tool_calls == (
        ToolCall(id="a", name="append", arguments='{"n": 1}'),
        ToolCall(id="b", name="search", arguments='{"n": 2}'),
    )


@pytest.mark.parametrize("index", [{}, {"index": 0}])
def test_calls_without_ids_are_told_apart_by_their_names(index: dict[str, int]) -> None:
    parts = [one(None, "append", '{"n": 1}', **index), one(None, "search", '{"n": 2}', **index)]
    _, reply = joined(*(event({"tool_calls": [part]}) for part in parts))
    assert reply.tool_calls == (
        ToolCall(id="call_1", name="append", arguments='{"n": 1}'),
        ToolCall(id="call_2", name="search", arguments='{"n": 2}'),
    )


def test_every_call_has_a_name_and_an_id_that_can_be_sent_back() -> None:
    ids = ["a", "a", " ", "call_2", "i" * 999, "i" * 999, None, "b\0\n"]
    wanted = [one(id, "x" * 999 if n else " drop table;", "") for n, id in enumerate(ids)]
    message = {"content": None, "tool_calls": wanted}
    calls = whole_reply(json.dumps({"choices": [{"message": message}]})).tool_calls
    made = [call.id for call in calls]
    assert made == ["a", "call_1", "call_3", "call_2", "i" * 200, "call_4", "call_5", "b"]
    assert [call.name for call in calls] == ["drop_table_", *["x" * 64] * 7]


def test_a_text_may_come_in_parts() -> None:
    content = [{"type": "text", "text": "Hello, "}, {"type": "text", "text": "Ana."}]
    assert whole_reply(json.dumps({"choices": [{"message": {"content": content}}]})).text == (
        "Hello, Ana."
    )


def test_an_event_about_usage_says_nothing() -> None:
    pieces, _ = joined(event({"content": "Hi"}, "stop"), json.dumps({"choices": [], "usage": {}}))
    assert pieces == ["Hi"]


def test_what_cannot_be_stored_is_mended() -> None:
    body = '{"choices": [{"message": {"content": "\\ud83c\\udf89 and\\u0000 \\ud800."}}]}'
    assert whole_reply(body).text == "🎉 and \ufffd."


WRONG = {
    "html": ("<html>", "did not answer with JSON"),
    "a list": ("[1]", "no chat answer"),
    "nothing": ("{}", "without choices"),
    "no choice": ('{"choices": [7]}', "without choices"),
    "a text": ('{"choices": "none"}', "without choices"),
    "an error": ('{"error": {"message": "model not loaded"}}', "model not loaded"),
    "a plain error": ('{"error": "out of memory"}', "out of memory"),
    "deep": ("[" * 100_000, "did not answer with JSON"),
}


@pytest.mark.parametrize(("body", "told"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_answer_is_an_error_and_never_a_reply(body: str, told: str) -> None:
    with pytest.raises(LanguageModelError, match=told):
        whole_reply(body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["content", "tool_calls", "function", "name", "arguments", "id", "index"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(json_values, json_values)
def test_whatever_a_message_holds_gives_a_reply_of_plain_texts(
    delta: object, finish: object
) -> None:
    choice = {"delta": delta, "message": delta, "finish_reason": finish}
    body = json.dumps({"choices": [choice]})
    for reply in (joined(body)[1], whole_reply(body)):
        texts = [reply.text, reply.finish]
        texts += [text for c in reply.tool_calls for text in (c.id, c.name, c.arguments)]
        assert all(isinstance(text, str) for text in texts)
        "".join(texts).encode()


def test_an_endless_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_ANSWER", 100)
    monkeypatch.setattr(answers, "MAX_LINE", 1_000)
    call = {"tool_calls": [{"index": 0, "function": {"name": "x", "arguments": "y" * 10}}]}
    for endless in (event({"content": "word "}), event({}), event(call)):
        with pytest.raises(LanguageModelError, match="more than 100 characters"):
            joined(*[endless] * 200)
    with pytest.raises(LanguageModelError, match="a line of more than"):
        list(data_lines([b"data: "] + [b"x" * 100] * 20))
    with pytest.raises(LanguageModelError, match="more than 100 characters"):
        whole_reply(json.dumps({"choices": [{"message": {"content": "x" * 101}}]}))


def test_a_model_that_wants_everything_called_is_stopped() -> None:
    many = [{"index": n, "function": {"name": "x", "arguments": ""}} for n in range(129)]
    with pytest.raises(LanguageModelError, match="more than 128 tools"):
        joined(event({"tool_calls": many}))


@pytest.mark.parametrize(
    "url", ["", "localhost", "ftp://localhost/v1", "http://[/v1", "http://", "http://h:99999/v1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="must be like http"):
        OpenAiCompatibleModel(url, "model")
    if url:
        with pytest.raises(ConfigError, match="must be like http"):
            make_language_model(Settings(llm_url=url, llm_model="model"))


def test_a_login_in_a_wrong_address_is_not_told() -> None:
    with pytest.raises(InvalidInput) as raised:
        OpenAiCompatibleModel("ftp://ana:hunter2@localhost/v1", "model")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("key", ["two words", "new\nline", "schlüssel", "\u200bkey"])
def test_a_key_that_no_header_can_carry_is_refused_unsaid(key: str) -> None:
    with pytest.raises(InvalidInput, match="llm_key") as raised:
        OpenAiCompatibleModel("http://localhost/v1", "model", api_key=key)
    assert key not in str(raised.value)


def test_the_settings_make_the_model_or_none() -> None:
    assert make_language_model(Settings()) is None
    with pytest.raises(ConfigError, match="llm_model"):
        make_language_model(Settings(llm_url="http://localhost/v1"))
    made = make_language_model(Settings(llm_url="http://localhost/v1", llm_model="smollm2"))
    assert made is not None
    assert made.name == "smollm2"
    made.close()
    made.close()


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.9/v1", True),
        ("http://[::1]:8/v1", True),
        ("https://api.example.com/v1", False),
        ("http://192.168.0.1/v1", False),
    ],
)
def test_proxies_of_the_environment_are_for_other_machines(url: str, local: bool) -> None:
    assert _is_local(url) is local

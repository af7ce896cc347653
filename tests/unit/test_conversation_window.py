"""The window and the segments: pure rules, whatever the messages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.layers.conversation.thread import MOST_MESSAGES, MOST_TOKENS, PAUSE, cut
from remanence.layers.conversation.window import as_chat, fitted, tokens_of
from remanence.memories.messages import message_of
from remanence.model.memory import Kind, MemoryRecord

START = datetime(2026, 3, 1, tzinfo=UTC)


def message(number: int, tokens: int = 10, at: datetime = START, **fields: Any) -> MemoryRecord:
    """A message of so many tokens, as `size` counts them."""
    times = dict.fromkeys(("happened_at", "created_at", "updated_at"), at)
    return MemoryRecord(
        id=str(number), text="x" * tokens, tenant="t", kind=Kind.MESSAGE, **(times | fields)
    )


def size(record: MemoryRecord) -> int:
    return len(record.text)


def called(number: int, id: str, **fields: Any) -> MemoryRecord:
    return message(number, metadata={"tool_calls": [{"id": id}]}, **fields)


def answered(number: int, id: str, **fields: Any) -> MemoryRecord:
    return message(number, metadata={"tool_call_id": id}, **fields)


spoken = st.tuples(
    st.sampled_from(["says", "calls", "answers"]),
    st.sampled_from(["a", "b"]),
    st.integers(1, 60),
    st.sampled_from([0.1, 0.5, 0.9]),
)
talks = st.lists(spoken, max_size=25)
MAKE = {"says": lambda n, _, **f: message(n, **f), "calls": called, "answers": answered}


def talk(given: list[tuple[str, str, int, float]]) -> list[MemoryRecord]:
    return [
        MAKE[what](n, id, tokens=tokens, importance=importance)
        for n, (what, id, tokens, importance) in enumerate(given)
    ]


@given(talks, st.integers(1, 30), st.integers(1, 400))
def test_what_the_window_promises(
    given: list[tuple[str, str, int, float]], most: int, budget: int
) -> None:
    messages = talk(given)
    kept = fitted(messages, most, budget, size)
    places = [int(record.id) for record in kept]
    assert places == sorted(set(places))
    for record in kept:
        if answer := record.metadata.get("tool_call_id"):
            calls = [r for r in kept[: kept.index(record)] if r.metadata.get("tool_calls")]
            assert any(r.metadata["tool_calls"][0]["id"] == answer for r in calls)
    newest = _newest_unit(messages)
    assert newest <= set(places)
    if set(places) != newest:
        assert len(kept) <= most
        assert sum(map(size, kept)) <= budget


def _newest_unit(messages: list[MemoryRecord]) -> set[int]:
    """Places of the newest message that can stay, and of what must stay with it."""
    call_of: dict[int, int] = {}
    latest: dict[str, int] = {}
    for place, record in enumerate(messages):
        if answer := record.metadata.get("tool_call_id"):
            if answer in latest:
                call_of[place] = latest[answer]
        else:
            call_of[place] = place
            for call in record.metadata.get("tool_calls", []):
                latest[call["id"]] = place
    if not call_of:
        return set()
    last = call_of[max(call_of)]
    return {place for place, call in call_of.items() if call == last}


@given(talks.map(lambda each: [("says", *rest) for _, *rest in each]), st.integers(1, 400))
def test_the_newest_half_stays_and_the_least_important_go_first(
    given: list[tuple[str, str, int, float]], budget: int
) -> None:
    messages = talk(given)
    kept = {record.id for record in fitted(messages, 100, budget, size)}
    total = 0
    older = messages
    for place in range(len(messages) - 1, -1, -1):
        total += size(messages[place])
        if total > budget // 2:
            break
        older = messages[:place]
        assert messages[place].id in kept
    if older is messages:
        older = messages[:-1]
    gone = [r for r in older if r.id not in kept]
    left = [r for r in older if r.id in kept]
    assert all((g.importance, int(g.id)) < (k.importance, int(k.id)) for g in gone for k in left)
    if sum(map(size, messages)) <= budget:
        assert not gone


def test_a_message_beyond_the_budget_stays_alone() -> None:
    messages = [message(0), message(1), message(2, tokens=10_000)]
    assert [r.id for r in fitted(messages, 10, 100, size)] == ["2"]


def test_an_answer_brings_its_call_even_beyond_the_count() -> None:
    messages = [called(0, "a"), answered(1, "a"), answered(2, "a")]
    assert [r.id for r in fitted(messages, 1, 5, size)] == ["0", "1", "2"]
    assert fitted([answered(0, "a")], 10, 100, size) == []


pauses = st.sampled_from([timedelta(), timedelta(minutes=1), PAUSE, PAUSE * 2])
lines = st.lists(st.tuples(pauses, st.sampled_from([1, 50, 400, 2_000])), max_size=60)


@given(lines, st.sets(st.integers(0, 59)), st.booleans())
def test_segments_hold_every_uncovered_message_once(
    given: list[tuple[timedelta, int]], covered: set[int], all_of_it: bool
) -> None:
    at, messages = START, []
    for number, (pause, tokens) in enumerate(given):
        at += pause
        messages.append(message(number, tokens, at))
    known = {str(number) for number in covered}
    found = cut(messages, known, all_of_it=all_of_it, count=size)
    flat = [record for run in found for record in run]
    wanted = [record for record in messages if record.id not in known]
    assert flat == wanted[: len(flat)]
    rest = wanted[len(flat) :]
    assert not (all_of_it and rest)
    assert len(rest) < MOST_MESSAGES
    assert sum(map(size, rest)) < MOST_TOKENS
    for run in found:
        assert len(run) <= MOST_MESSAGES
        assert len(run) == 1 or sum(map(size, run)) <= MOST_TOKENS
        places = [int(record.id) for record in run]
        assert places == list(range(places[0], places[-1] + 1))
        steps = pairwise(run)
        assert all(b.happened_at - a.happened_at <= PAUSE for a, b in steps)


@given(lines)
def test_going_on_later_makes_the_same_cuts(given: list[tuple[timedelta, int]]) -> None:
    at, messages = START, []
    for number, (pause, tokens) in enumerate(given):
        at += pause
        messages.append(message(number, tokens, at))
    at_once = cut(messages, (), count=size)
    one_by_one: list[list[MemoryRecord]] = []
    for end in range(len(messages) + 1):
        known = {record.id for run in one_by_one for record in run}
        one_by_one += cut(messages[:end], known, count=size)
    assert one_by_one == at_once


def test_a_pause_before_the_window_ends_a_segment() -> None:
    messages = [message(0), message(1)]
    assert cut(messages, (), START + PAUSE, count=size) == []
    assert cut(messages, (), START + PAUSE * 2, count=size) == [messages]


CALLS = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"q": 1}'}}]


@pytest.mark.parametrize(
    "chat",
    [
        {"role": "user", "content": "Hello", "name": "Ana"},
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        {"role": "assistant", "content": "Let me see.", "tool_calls": CALLS},
        {"role": "tool", "content": "42", "tool_call_id": "c1"},
        {"role": "tool", "content": "", "tool_call_id": "c1"},
    ],
)
def test_a_message_comes_back_as_it_was_given(chat: dict[str, Any]) -> None:
    read = message_of(chat, 0, tools=True)
    assert read is not None
    record = message(0, role=read.role, speaker=read.name, metadata=read.metadata)
    record = replace(record, text=read.content)
    assert as_chat(record) == chat
    assert tokens_of(record) > 4


@pytest.mark.parametrize("junk", ["x", 7, {"id": "a"}, ["a"], [{"id": 3}], [], None])
def test_foreign_metadata_is_no_trouble(junk: Any) -> None:
    record = message(0, metadata={"tool_calls": junk, "tool_call_id": None})
    assert as_chat(record)["content"] == record.text
    assert fitted([record, record], 10, 1_000) == [record, record]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"role": None}, {"role": "user"}),
        ({"role": "narrator", "speaker": "Ana"}, {"role": "user", "name": "Ana"}),
        ({"role": "tool"}, {"role": "user"}),
        ({"role": "system"}, {"role": "user", "content": "[system message] x"}),
        ({"role": "developer"}, {"role": "user", "content": "[developer message] x"}),
        (
            {"role": "user", "metadata": {"tool_calls": CALLS, "tool_call_id": "c"}},
            {"role": "user"},
        ),
        ({"role": "ai", "metadata": {"tool_calls": CALLS}}, {"role": "assistant"}),
        ({"role": "function", "metadata": {"tool_call_id": "c"}}, {"role": "tool"}),
        ({"role": "system", "metadata": {"tool_call_id": "c"}}, {"role": "user"}),
        ({"role": "user", "speaker": "Ana María\n"}, {"name": "Ana_Mar_a_"}),
        ({"role": "user", "speaker": "李雷"}, {}),
        ({"role": "user", "speaker": "x" * 100}, {"name": "x" * 64}),
    ],
)
def test_roles_and_names_are_what_chat_apis_take(
    given: dict[str, Any], told: dict[str, Any]
) -> None:
    chat = as_chat(message(0, tokens=1, **given))
    assert chat | told == chat
    assert "name" in told or "name" not in chat
    assert ("tool_calls" in chat, "tool_call_id" in chat) == (
        chat["role"] == "assistant",
        chat["role"] == "tool",
    )

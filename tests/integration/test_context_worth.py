"""A context that earns its tokens: the best evidence, and nothing that bears on nothing asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remanence import Memory

ANA: dict[str, Any] = {"user_id": "ana"}
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
TALK = (
    "I adopted a beagle called Bruno from the shelter in May.",
    "My sister teaches chemistry at a school in Ghent.",
    "I am allergic to peanuts and to penicillin.",
    "We spent the summer on a farm near Évora.",
    "I repaired the old bicycle that my father left me.",
    "The landlord wants to sell the flat next spring.",
    "I started to learn the cello with a teacher on Tuesdays.",
    "My knee hurts since the half marathon in October.",
)
OFF = "what is 17 times 23?"


@pytest.fixture
def talked(memory: Memory) -> Memory:
    """Some things that Ana said, a day apart."""
    for n, text in enumerate(TALK):
        said = {"role": "user", "content": text, "at": START + timedelta(days=n)}
        memory.add_messages([said], session_id=f"s{n}", **ANA)
    return memory


def test_nothing_is_recalled_where_nothing_bears_on_the_question(talked: Memory) -> None:
    talked.blocks.rethink("persona", "Short answers.")
    turn = {"role": "user", "content": OFF}
    talked.conversations.append([turn], session_id="today", **ANA)
    made = talked.context(OFF, session_id="today", max_tokens=1000, **ANA)
    recalled = made.part("recalled")
    assert not recalled.items
    assert "Short answers." in made.text
    assert OFF in made.text
    assert len(recalled.omitted) >= len(TALK)
    assert any("hardly bears on the question" in one.why for one in recalled.omitted)


def test_a_caller_may_want_all_the_same(talked: Memory) -> None:
    made = talked.context(OFF, max_tokens=1000, min_confidence=0.0, **ANA)
    assert len(made.part("recalled").items) == len(TALK)
    asked = talked.context("Who teaches chemistry?", max_tokens=1000, **ANA)
    assert len(asked.part("recalled").items) == len(TALK)


def test_a_doubtful_search_gets_a_part_of_the_budget(talked: Memory) -> None:
    for question in (
        "Who painted the ceiling of the chapel?",
        "What should a school teach of art?",
    ):
        made = talked.context(question, max_tokens=400, **ANA)
        assert made.confidence is not None
        if made.confidence < 0.15:
            assert made.part("recalled").tokens <= 0.15 * 400 + 40


def test_a_long_answer_does_not_push_out_what_the_user_said(memory: Memory) -> None:
    paragraph = "A budget for books is best planned by month, and a reading list helps with it. "
    said = [
        {"role": "user", "content": "I want to read more. How do I plan a budget for books?"},
        {"role": "assistant", "content": paragraph * 40},
        {"role": "user", "content": "My budget for books is $40 a month, from the library fund."},
        {"role": "assistant", "content": paragraph * 40},
    ]
    memory.add_messages(said, session_id="s", **ANA)
    made = memory.context("What is my budget for books?", max_tokens=300, **ANA)
    assert "My budget for books is $40 a month" in made.text
    assert "I want to read more." in made.text


def test_a_fact_is_told_only_where_it_bears_on_the_question(memory: Memory) -> None:
    memory.facts.add("Tom", "likes", "jazz", **ANA)
    memory.facts.add("Tom", "lives in", "Porto", **ANA)
    home = memory.context("Where does Tom live?", **ANA)
    assert "Tom lives in Porto" in home.text
    assert "jazz" not in home.text
    everything = memory.context("What do you know about Tom?", **ANA)
    assert "jazz" in everything.text


def test_what_is_left_out_is_told_with_the_reason(talked: Memory) -> None:
    question = "Which instrument does Ana learn?"
    talked.add(question, **ANA)
    made = talked.context(question, max_tokens=120, **ANA)
    why = {one.why for one in made.part("recalled").omitted}
    assert {"did not fit", "the question itself"} <= why


def test_a_context_says_what_is_outdated(memory: Memory) -> None:
    old = "My monthly grocery budget is $400."
    for n, text in enumerate([old, "My monthly grocery budget was raised to $520."]):
        said = {"role": "user", "content": text, "at": START + timedelta(days=n)}
        memory.add_messages([said], session_id=f"s{n}", **ANA)
    made = memory.context("What is my monthly grocery budget?", **ANA)
    assert f"[outdated] user: {old}" in made.text
    assert "[outdated]: a newer record says otherwise." in made.text
    assert "[outdated]" not in memory.context("How many groceries did I order?", **ANA).text

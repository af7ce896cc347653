from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.language import cues
from remanence.language.english.dates import asks_when


@pytest.mark.parametrize(
    ("ask", "yes", "no"),
    [
        (cues.is_question, "You like tea?", "See https://x.org/?a=b now"),
        (cues.is_question, "so what did Ana buy", "What a day"),
        (cues.is_question, "do you know her", "I do know her"),
        (cues.is_question, "你好吗？", "你好"),
        (cues.has_number, "I have two cats", "I have one cat"),
        (cues.has_number, "room 12", "the room"),
        (cues.asks_how_many, "How many cats?", "Many cats"),
        (cues.asks_how_many, "how much was it in total", "that was a lot"),
        (cues.asks_who, "Who did I meet?", "the friend who moved"),
        (cues.asks_who, "And whose car is it?", "She knows the man who came"),
        (cues.asks_where, "Where does Ana live?", "the city where I live"),
        (cues.asks_where, "Which restaurant did we try?", "I tried a restaurant"),
        (cues.asks_about_assistant, "what did you suggest for dinner", "what did I suggest"),
        (cues.asks_about_assistant, "the book you recommended", "Can you recommend a book?"),
        (cues.asks_about_assistant, "remind me what you said", "remind me what she said"),
        (cues.asks_about_assistant, "in our previous conversation", "in our previous house"),
        (asks_when, "When was that?", "What was that?"),
    ],
)
def test_cues(ask: Callable[[str], bool], yes: str, no: str) -> None:
    assert ask(yes)
    assert not ask(no)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("Please remember that I'm allergic to peanuts", 0.9, 1),
        ("Don't forget: dentist on 3 June 2023", 0.9, 1),
        ("My name is Ana and my wife is called Joana", 0.75, 1),
        ("I moved to Lisbon last May and work as a nurse", 0.7, 1),
        ("I decided to sell the flat", 0.6, 0.8),
        ("The train stops near the bridge.", 0.45, 0.55),
        ("What time does the shop open?", 0.35, 0.45),
        ("Haha that's awesome", 0.1, 0.2),
        ("Thanks so much!", 0.1, 0.2),
        ("Hi, how are you?", 0.1, 0.2),
        ("", 0.1, 0.2),
    ],
)
def test_importance(text: str, low: float, high: float) -> None:
    assert low <= cues.importance(text, "user") <= high


def test_the_assistant_counts_a_little_less() -> None:
    text = "Green tea goes well with rice."
    assert cues.importance(text, "assistant") < cues.importance(text, "user")
    assert cues.importance(text, None) == cues.importance(text, "user")


@given(st.text(), st.sampled_from(["user", "assistant", "system", None]))
def test_reasons_add_up_to_the_importance(text: str, role: str | None) -> None:
    value = cues.importance(text, role)
    assert 0 <= value <= 1
    assert value == pytest.approx(sum(w for _, w in cues.importance_reasons(text, role)), abs=1e-4)

"""Whose and which time a question asks for, and that no score is ever anything but a number."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from remanence import Memory

NOW = datetime(2026, 9, 20, 12, tzinfo=UTC)
YEAR = (
    ("2026-05-11", "The cellar was pumped dry after the storm."),
    ("2026-06-19", "Our choir sang at the town hall."),
    ("2026-07-04", "We painted the balcony green."),
    ("2026-07-23", "Grandma's clock was repaired at last."),
    ("2026-08-02", "The neighbours brought us plums."),
    ("2026-08-30", "A heron stood on the garage roof."),
)
ODD = ("?", "…", "🙂🙂", "\u0301\u0301", "0", "a " * 4_000, "ﷺ" * 90, "nan inf -inf", "I", "\t.\t")


def test_what_happened_in_a_month_is_what_happened_then(memory: Memory) -> None:
    for day, text in YEAR:
        memory.add(text, user_id="ana", happened_at=f"{day}T18:00:00Z")
    hits = memory.search("What happened in July?", user_id="ana", limit=4, now=NOW)
    assert {hit.memory.text for hit in hits[:2]} == {YEAR[2][1], YEAR[3][1]}
    hits = memory.search("What happened in January?", user_id="ana", limit=4, now=NOW)
    assert hits  # nothing did: whatever there is


@pytest.mark.parametrize("question", ["Where does the user's mother live?", "Where is my mother?"])
def test_the_user_is_who_says_i(memory: Memory, question: str) -> None:
    memory.add("Users of the library live all over town.", user_id="ana")
    memory.add("Paula's mother lives in Graz with two cats.", user_id="ana")
    memory.add("My mother lives in Turku.", user_id="ana")
    assert memory.search(question, user_id="ana")[0].memory.text == "My mother lives in Turku."


@pytest.mark.parametrize(
    ("before", "after", "question"),
    [
        (
            "The dentist appointment is on 3 March.",
            "The dentist appointment was moved to 12 March.",
            "When is the dentist appointment now?",
        ),
        (
            "My monthly budget for books is 40 euros.",
            "My monthly budget for books is 65 euros.",
            "What is my current budget for books?",
        ),
        ("I drive a red Fiat.", "I drive a blue Skoda.", "Which car do I currently drive?"),
    ],
)
def test_asked_how_it_is_now_the_newest_comes_first(
    memory: Memory, before: str, after: str, question: str
) -> None:
    memory.add(before, user_id="ana", happened_at="2026-01-10T09:00:00Z")
    memory.add("The bakery closes at six.", user_id="ana", happened_at="2026-02-01T09:00:00Z")
    memory.add(after, user_id="ana", happened_at="2026-02-20T09:00:00Z")
    hits = memory.search(question, user_id="ana", now=NOW)
    assert [hit.memory.text for hit in hits[:2]] == [after, before]


def test_no_text_and_no_question_gives_a_score_that_is_no_number(memory: Memory) -> None:
    memory.add_many(list(ODD), user_id="ana")
    said = [{"role": "user", "name": "Ana", "content": text} for text in ODD]
    memory.add_messages(said, user_id="ana", session_id="s1")
    for question in ODD:
        hits = memory.search(question, user_id="ana", limit=30, now=NOW)
        assert len(hits) == 2 * len(ODD)
        for hit in hits:
            assert all(map(math.isfinite, (hit.score, *hit.details.values())))
            assert sum(hit.details.values()) == pytest.approx(hit.score, abs=1e-3)
        assert hits.confidence is None or 0 <= hits.confidence <= 1

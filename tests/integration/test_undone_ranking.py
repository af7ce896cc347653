"""What was archived moves no score of what is left: answers are those of before, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from remanence import Memory
from remanence.model.clock import FixedClock

AT = datetime(2024, 3, 4, 10, tzinfo=UTC)
SAID = [
    "I started climbing at the gym on Elm Street",
    "We did a hard climbing route with Ben at the gym",
    "I bought new climbing shoes for the gym",
    "I learned a better grip from my climbing coach Maria",
    "The bus to work was late again",
    "I saw Maria at the bakery",
    "The gym on Elm Street closes at ten",
]
ASKED = ["who teaches climbing?", "which shoes did I buy for the gym?", "Maria", "elm street gym"]


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    where = ":memory:" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    clock = FixedClock(AT + timedelta(days=100))
    with Memory(where, clock=clock) as opened:
        for number, text in enumerate(SAID):
            at = AT + timedelta(days=4 * number)
            said = {"role": "user", "name": "Ana", "content": text, "at": at}
            opened.add_messages([said], user_id="ana", session_id=f"s{number}")
        yield opened


def answers(memory: Memory, **more: str) -> list[tuple[str, float, float]]:
    found = [memory.search(one, user_id="ana", limit=20, **more) for one in ASKED]
    return [(hit.memory.id, hit.score, hits.confidence or 0.0) for hits in found for hit in hits]


def test_after_undo_all_answers_are_those_of_before(memory: Memory) -> None:
    before = answers(memory)
    (run,) = memory.sleep.run(["distil"])
    assert run.counts["derive"] == 1
    assert answers(memory) != before
    memory.sleep.undo(run.id)
    assert answers(memory) == before


def test_what_was_forgotten_weighs_nothing_and_can_be_asked_for(memory: Memory) -> None:
    before = answers(memory)
    extra = memory.add("Maria climbs at the gym with her coach", user_id="ana")
    whole = answers(memory, states="any")
    memory.forget(extra.id)
    assert answers(memory) == before
    again = answers(memory, states="any")
    assert {id for id, *_ in again} == {id for id, *_ in whole}
    why = memory.why_not(ASKED[0], extra.id, user_id="ana")
    assert (why.stage, "not active" in why.explanation) == ("filter", True)
    memory.update(extra.id, state="active")
    assert answers(memory) == answers(memory, states="any")

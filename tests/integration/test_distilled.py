"""What distilling and reflecting say: whole, true, told once, never against their owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remanence import Memory
from remanence.model.clock import FixedClock
from remanence.model.memory import MemoryRecord

AT = datetime(2024, 3, 4, 10, tzinfo=UTC)
RUNS = [
    "Went for a run along the canal this morning, {n} km.",
    "Morning run by the canal: {n} kilometres.",
    "Ran {n} km along the canal before work.",
    "I did my run along the canal again, {n} km today.",
]
CLIMBING = [
    "I started climbing at the gym on Elm Street.",
    "We did a hard climbing route with Ben at the gym.",
    "I bought new climbing shoes for the gym.",
    "I learned a better grip from my climbing coach Maria.",
]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", clock=FixedClock(AT)) as opened:
        yield opened


def add(
    memory: Memory, texts: Sequence[str], every: float = 4, first: float = 0, **more: Any
) -> list[MemoryRecord]:
    """Notes of one user, some days apart; what is to come is not in the future any more after."""
    found = []
    for number, text in enumerate(texts):
        at = AT + timedelta(days=first + every * number)
        memory.service._clock.at = max(memory.service._clock.at, at)  # type: ignore[attr-defined]
        found.append(memory.add(text, user_id="ana", happened_at=at, **more))
    return found


def say(
    memory: Memory, texts: Sequence[str], every: float = 4, first: float = 0
) -> list[MemoryRecord]:
    return add(memory, texts, every, first, kind="message", role="user", speaker="Ana")


def later(memory: Memory, days: float) -> None:
    memory.service._clock.at += timedelta(days=days)  # type: ignore[attr-defined]


def night(memory: Memory, *steps: str) -> None:
    for run in memory.sleep.run(list(steps) or ["distil", "reflect"]):
        assert run.error is None


def told(memory: Memory, kind: str = "semantic") -> list[str]:
    found = memory.find(user_id="ana", kinds=kind)
    return [one.text for one in found if one.origin == "sleep"]


# -- what is said


def test_what_is_denied_and_said_is_not_distilled(memory: Memory) -> None:
    add(
        memory,
        [
            "I did not eat bread from the corner bakery.",
            "I ate bread from the corner bakery.",
            "I ate rye bread from the corner bakery.",
            "I bought the bread at the corner bakery.",
        ],
    )
    night(memory)
    assert told(memory) == []


def test_only_what_somebody_did_is_told(memory: Memory) -> None:
    say(
        memory,
        [
            "I want to bake a sourdough loaf one day.",
            "I baked a sourdough loaf, best crumb so far.",
            "I fed the sourdough starter and baked two loaves.",
            "I'll give a sourdough loaf to the neighbours upstairs.",
            "Did you bake your sourdough loaf?",
            "You baked a nice sourdough loaf!",
            "[photo: a photo of a sourdough loaf that we baked]",
        ],
    )
    night(memory)
    assert told(memory) == []
    say(memory, ["I gave a sourdough loaf to the neighbours upstairs."], first=30)
    night(memory)
    (text,) = told(memory)
    quoted = [part.split('"')[1] for part in text.split(";")]
    assert len(quoted) > 1
    assert set(quoted) <= {
        "I baked a sourdough loaf, best crumb so far",
        "I fed the sourdough starter and baked two loaves",
        "I gave a sourdough loaf to the neighbours upstairs",
    }


@pytest.mark.parametrize(
    "texts",
    [
        [
            "I got a ride to work from my brother, because the bus was late again.",
            "We played Ticket to Ride until midnight and Tom won every round.",
            "I had my first ride on a horse at the farm where my aunt works.",
        ],
        [
            "I got great support from the bank when my card was stolen in Rome.",
            "We put up a wooden support for the tomatoes behind the shed.",
            "I ran in the spring marathon and the support of the crowd was amazing.",
        ],
    ],
)
def test_a_word_in_common_is_no_theme(memory: Memory, texts: list[str]) -> None:
    say(memory, texts)
    night(memory)
    assert told(memory) == []


def test_two_conversations_are_no_theme(memory: Memory) -> None:
    for number, text in enumerate(CLIMBING):
        said = {"role": "user", "name": "Ana", "content": text, "at": AT + timedelta(days=number)}
        memory.service._clock.at = AT + timedelta(days=9)  # type: ignore[attr-defined]
        memory.add_messages([said], user_id="ana", session_id=f"s{number % 2}")
    night(memory, "distil")
    assert told(memory) == []


@pytest.mark.parametrize(
    "texts",
    [
        ["Zoe lives in Porto.", "Zoe lives in Porto, by the sea.", "Zoe lives in Porto still."],
        ["Ben is allergic to nuts.", "Ben has a nut allergy.", "Ben is very allergic to nuts."],
        ["Ben prefers jazz.", "Ben likes jazz a lot.", "Ben loves jazz and swing."],
        ["The wifi password is tulip.", "My wifi password is rose.", "New wifi password: lily."],
        ["Expressing myself freely helps.", "Expressing anger helps.", "Expressing joy helps."],
    ],
)
def test_facts_secrets_and_verbs_are_no_themes(memory: Memory, texts: list[str]) -> None:
    add(memory, texts)
    night(memory)
    assert told(memory) == []
    assert told(memory, "reflection") == []


def test_one_habit_is_one_theme_of_whole_sentences(memory: Memory) -> None:
    texts = [RUNS[n % 4].format(n=5 + n % 3) for n in range(20)]
    say(memory, texts)
    night(memory)
    (text,) = told(memory)
    assert text.startswith("Ana spoke of canal at least 15 times on 15 days, from 4 March 2024 to ")
    quoted = [part.split('"')[1] for part in text.split(";")]
    assert all(f"{one}." in texts for one in quoted)


def test_others_are_told_apart(memory: Memory) -> None:
    mine = [
        "I saw the dentist about a crown.",
        "The dentist fixed my tooth.",
        "The dentist called.",
    ]
    hers = ["My sister saw the dentist.", "My sister fears the dentist.", "My sister hates drills."]
    say(memory, [text for pair in zip(mine, hers, strict=True) for text in pair])
    night(memory)
    for text in told(memory):
        assert ("sister" in text) != ("fixed" in text)


def test_counts_hold_what_was_merged(memory: Memory) -> None:
    say(memory, [CLIMBING[n % 4] for n in range(12)], every=2)
    night(memory, "merge")
    night(memory)
    (text,) = told(memory)
    assert text.startswith(
        "Ana spoke of climbing at least 12 times on 12 days, from 4 March 2024 to 2"
    )


# -- what is reflected on


LIVED = ["Zoe lives in Porto.", "Zoe still lives in Porto."]


def move(memory: Memory, *texts: str, every: float, first: float = 0) -> list[MemoryRecord]:
    return add(memory, texts, every, first)


def test_a_change_has_its_day_and_must_last(memory: Memory) -> None:
    move(memory, *LIVED, every=1)
    moved = move(memory, "Zoe moved to Lisbon.", "Zoe lives in Lisbon.", every=0, first=40)
    later(memory, 5)
    night(memory)
    assert told(memory, "reflection") == []
    later(memory, 10)
    night(memory)
    (thought,) = memory.find(user_id="ana", kinds="reflection")
    assert thought.text == (
        "Something changed for Zoe in April 2024: before, Zoe lives in Porto; after, Zoe lives in "
        "Lisbon."
    )
    assert thought.happened_at.date() == moved[0].happened_at.date()


def test_what_was_said_once_is_not_certain_enough_for_a_change(memory: Memory) -> None:
    move(memory, *LIVED, "Zoe moved to Lisbon.", every=40)
    later(memory, 60)
    night(memory)
    assert told(memory, "reflection") == []


def test_what_was_taken_back_at_once_is_no_change(memory: Memory) -> None:
    move(memory, "Ben loves cats.", "Ben hates cats.", "Ben loves cats so much.", every=1)
    later(memory, 60)
    night(memory)
    assert told(memory, "reflection") == []


def test_a_month_is_not_told_beside_its_theme(memory: Memory) -> None:
    say(memory, CLIMBING)
    later(memory, 60)
    night(memory, "reflect")
    assert len(told(memory, "reflection")) == 1
    night(memory, "distil", "reflect")
    assert len(told(memory)) == 1
    assert told(memory, "reflection") == []


# -- what its owner undid


def test_undo_lasts_until_the_theme_has_doubled(memory: Memory) -> None:
    say(memory, CLIMBING)
    later(memory, 60)
    (run,) = memory.sleep.run(["distil"])
    memory.sleep.undo(run.id)
    night(memory)
    assert told(memory) == []
    assert told(memory, "reflection") == []
    say(memory, ["I spent a climbing evening at the gym with Ben."])
    night(memory)
    assert told(memory) == []
    more = "I finished the climbing wall at the gym, number {}."
    for number in range(5):
        add(memory, [more.format(number)], kind="message", role="user", speaker="Ana")
    night(memory)
    assert len(told(memory)) == 1

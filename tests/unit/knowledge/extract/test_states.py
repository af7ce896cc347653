"""States of a person: only what is plainly said of them, and what ends or opens a state."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity
from remanence.language.english.extraction.worth import ENOUGH, is_kept, worth
from remanence.model.knowledge import EntityType

AT = datetime(2024, 3, 12, tzinfo=UTC)
MIA = NamedEntity("Mia", EntityType.PERSON)


def told(text: str) -> set[str]:
    found = read(text, speaker=MIA, at=AT, all=True)
    return {
        f"{one.subject.text} | {one.predicate} | {one.value}"
        for one in found.statements
        if one.predicate != "did"
    }


@pytest.mark.parametrize(
    "text",
    [
        "I think I'll start with Babbel.",
        "I serve sorbet as a starter.",
        "I'll be staying in Porto for two weeks.",
        "It's so cool that you teach there!",
        "They never made me manager.",
        "When I turned ten we moved to Leeds.",
        "Your dad, Deborah, was such a kind man.",
        "I'm married to my job.",
        "My hobbies let me take a break from reality.",
        "I'm 87.5% toward my goal.",
        "My mom is an excellent baker.",
        "I'm a pretty cautious driver.",
        "Kate is playing chess and Marie is cooking.",
        "As a contractor, he can't ask for more time.",
        "As a chat assistant, I can't book a room.",
        "I need help with my pills.",
        "I think I'll get a Suica card.",
        "I got a candle set for my sister.",
        "- **Backing**: Linguistic studies support the use of similes. " * 6,
        "Emma met Celeste Ng. He works at a bakery.",
    ],
)
def test_nothing_is_stated(text: str) -> None:
    assert {
        one for one in told(text) if "| likes |" not in one and "| plans to |" not in one
    } == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm allergic to penicillin, in case you ever help me with a form.",
         "Mia | allergic to | penicillin"),
        ("I'm allergic to nuts, if that matters.", "Mia | allergic to | nuts"),
        ("Second day at Novartis and I love it.", "Mia | works at | Novartis"),
        ("First day at Siemens today!", "Mia | works at | Siemens"),
        ("I was hired as a cook.", "Mia | works as | cook"),
        ("Acme hired me as a cook.", "Mia | works at | Acme"),
        ("I've been promoted to head of sales.", "Mia | works as | head of sales"),
        ("I work in the IT industry as a software engineer.", "Mia | works as | software engineer"),
        ("I'm worried about my progress as a senior producer at Island Media Group.",
         "Mia | works as | senior producer"),
        ("As a writer, my laptop is half of my life.", "Mia | works as | writer"),
        ("We moved into our new house in Bristol last week.", "Mia | lives in | Bristol"),
        ("I paid $2,000 for a bike and I have a dog named Rex.", "Mia | has pet | Rex"),
    ],
)  # fmt: skip
def test_what_is_plainly_said_is_stated(text: str, expected: str) -> None:
    assert expected in told(text)


def test_a_job_begins_on_the_day_that_the_next_sentence_names() -> None:
    text = "I got the job at Novartis! I start on 1 April."
    (job,) = read(text, speaker=MIA, at=AT).statements
    assert (job.predicate, job.value) == ("works at", "Novartis")
    assert job.began is not None
    assert job.began.start == datetime(2024, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ["I'm moving to Berlin soon.", "I will live in Berlin one day."])
def test_what_is_to_come_without_a_day_is_a_plan(text: str) -> None:
    assert not any("lives in" in one for one in told(text))


def test_acts_are_told_whole() -> None:
    text = "I ordered a custom planner from Etsy for my sister because she likes them."
    (act,) = read(text, speaker=MIA, at=AT, all=True).statements
    assert act.value == "ordered a custom planner from Etsy for my sister"


def test_what_is_of_no_use_is_left_out_and_counted() -> None:
    text = "It was a quiet day. I cleaned the kitchen."
    kept, everything = (read(text, speaker=MIA, at=AT, all=all) for all in (False, True))
    assert everything.statements
    assert kept.statements == ()
    assert kept.refused["not worth keeping"] == len(everything.statements)


def test_states_are_kept_whatever_they_are_worth() -> None:
    (home,) = read("I live in Porto.", speaker=MIA, at=AT, all=True).statements
    assert is_kept(home, "x" * 5000, MIA)
    (chore,) = read("I cleaned the kitchen.", speaker=MIA, at=AT, all=True).statements
    assert worth(chore, "I cleaned the kitchen.", MIA) < ENOUGH


def test_what_is_named_after_an_animal_is_no_pet() -> None:
    assert not any("has pet" in one for one in told("I just got a new dog tag for Max."))
    assert "Mia | has pet | dog" in told("I adopted a dog from the shelter.")

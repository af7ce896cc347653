from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from remanence.knowledge.learner import Learner, unheard
from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity, Reading
from remanence.model.knowledge import Claim, EntityType
from remanence.model.memory import Kind, MemoryRecord

AT = datetime(2023, 5, 10, 15, tzinfo=UTC)


def reading(text: str, speaker: str = "Sam") -> Reading:
    return read(text, speaker=NamedEntity(speaker, EntityType.PERSON), at=AT, all=True)


def told(text: str) -> set[str]:
    return {
        f"{one.subject.text} | {one.predicate} | {one.value}" for one in reading(text).statements
    }


@pytest.mark.parametrize(
    "text",
    [
        "Ana said: I live in Rome. I work at Acme.",
        "She texted, I work at Acme now",
        "My brother wrote me: my wife lives in Rome",
        "I love tea, said Ana",
        "I live in Rome, she wrote.",
        "From: Bob\nTo: Sam\nSubject: news\n\nI live in Oslo now.\nBest,\nBob",
        "Dear Sam,\nI moved to Rome and I love it.\nLove,\nAna",
        "On Mon, 8 May 2023, Bob wrote:\nI live in Oslo.",
        "Lyrics:\nI was born in Memphis\nI live in Rome",
        "Here it is. Song lyrics: I live in Paris",
    ],
)
def test_another_says_i(text: str) -> None:
    found = reading(text)
    assert found.statements == ()
    assert found.refused["reported"] >= 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Porto. Ana told me: I moved to Rome!", {"Sam | lives in | Porto"}),
        ("My sister Eva wrote me: I love tea", {"Sam | sister | Eva"}),
        ("I told Ana: I live in Porto", {"Sam | lives in | Porto"}),
        ("Hi there,\nI live in Rome.\nBest,\nSam", {"Sam | lives in | Rome"}),
        ("Subject: the move\nI live in Rome", {"Sam | lives in | Rome"}),
    ],
)
def test_the_speaker_says_i(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "In the book I'm reading, Harry lives in London",
        "In the series we watch, Ana works at Acme",
    ],
)
def test_a_story(text: str) -> None:
    assert reading(text).statements == ()
    assert reading(text).refused == {"story": 1}


@pytest.mark.parametrize(
    "text",
    [
        "Had I stayed in Rome, I would work at Acme",
        "In another life I live in Rome",
        "In a perfect world I live in Rome",
    ],
)
def test_what_is_only_supposed(text: str) -> None:
    assert reading(text).statements == ()
    assert reading(text).refused == {"hypothetical": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I work at Acme", {1.0}),
        ("I think Ana works at Acme", {1.0}),
        ("Bob thinks I work at Globex", {0.6}),
        ("Rui said that Ana works at Noma", {0.6}),
        ("According to Rui, Ana works at Noma", {0.6}),
        ("Ana told me she works at Noma", {1.0}),
    ],
)
def test_hearsay_is_less_trusted(text: str, expected: set[float]) -> None:
    assert {one.trust for one in reading(text).statements} == expected


def test_whose_friend_said_so() -> None:
    text = "My friend Bea said she's pregnant"
    assert told(text) == {"Sam | friend | Bea", "Bea | has condition | pregnant"}
    assert {one.trust for one in reading(text).statements} == {1.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in a castle in Porto. Just kidding!", set()),
        ("I moved to Rome. jk. I love tea.", {"Sam | likes | tea"}),
        ("I live in Rome. lol not really", set()),
        ("Just kidding, I live in Porto", {"Sam | lives in | Porto"}),
        ("I live in Porto. I have a boat. Only joking.", {"Sam | lives in | Porto"}),
    ],
)
def test_a_joke_takes_back_the_sentence_before(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Porto. Actually no, I live in Lisbon.", {"Sam | lives in | Lisbon"}),
        ("My favourite colour is red. Sorry, my favourite colour is blue.",
         {"Sam | favourite colour | blue"}),
        ("I work at Acme. Bob thinks I work at Globex.", {"Sam | works at | Acme"}),
    ],
)  # fmt: skip
def test_the_last_word_of_a_text_counts(text: str, expected: set[str]) -> None:
    assert told(text) == expected
    assert reading(text).refused == {"corrected": 1}


def test_dated_values_do_not_correct_each_other() -> None:
    text = "In 2010 I moved to Rome. In 2015 I moved to Lisbon."
    assert told(text) == {"Sam | lives in | Rome", "Sam | lives in | Lisbon"}


def test_a_sentence_ends_with_three_dots() -> None:
    found = told("If I lived in Rome... My sister Eva plays chess.")
    assert found == {"Sam | sister | Eva", "Eva | plays | chess"}


def record(text: str, role: str | None = "user", speaker: str | None = None) -> MemoryRecord:
    return MemoryRecord(
        id="m1",
        text=text,
        kind=Kind.MESSAGE,
        role=role,
        speaker=speaker,
        tenant="default",
        user_id="Sam",
        created_at=AT,
        updated_at=AT,
        happened_at=AT,
    )


def claims(one: MemoryRecord) -> list[Claim]:
    ids = iter(range(100))
    learner = Learner(lambda: next(ids))  # type: ignore[arg-type, return-value]
    return list(learner.learn([one])[0].claims)


@pytest.mark.parametrize("name", ["assistant", "AI", "Bot", "ChatGPT", "system", None])
def test_an_assistant_without_a_name_is_not_heard(name: str | None) -> None:
    assert unheard(record("I live in Rome", "assistant", name)) == "the assistant's words"


def test_a_named_assistant_is_trusted_less() -> None:
    assert unheard(record("I live in Rome", "assistant", "Maya")) is None
    assert [one.trust for one in claims(record("Ana lives in Rome", "assistant", "Maya"))] == [0.6]
    assert [one.trust for one in claims(record("Ana lives in Rome"))] == [1.0]


def test_hearsay_lowers_the_trust_of_a_claim() -> None:
    said = record("Rui said that Ana works at Noma", "assistant", "Maya")
    assert [one.trust for one in claims(said)] == [pytest.approx(0.36)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I passed my driving test", "passed their driving test"),
        ("Ana baked me a cake", "baked Sam a cake"),
        ("Ana plans to visit us in June", "visit Sam"),
        ("Ana visited my brother", "visited Sam's brother"),
        ("I plan to sell my car", "sell their car"),
    ],
)
def test_a_claim_is_told_as_others_tell_it(text: str, value: str) -> None:
    note = replace(record(text), kind=Kind.EPISODIC)
    assert value in [one.value for one in claims(note)]

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity
from remanence.model.knowledge import EntityType

AT = datetime(2023, 5, 10, 15, tzinfo=UTC)
SAM = NamedEntity("Sam", EntityType.PERSON)


def types(text: str) -> dict[str, str]:
    return {one.text: one.type for one in read(text, speaker=SAM, at=AT).names}


@pytest.mark.parametrize(
    ("text", "name", "type"),
    [
        ("We went to Paris", "Paris", "place"),
        ("I met Priya at the station", "Priya", "person"),
        ("I had lunch with Xanthe", "Xanthe", "person"),
        ("We stopped near Llanfair", "Llanfair", "place"),
        ("The Harbour Museum was closed", "Harbour Museum", "organisation"),
        ("I work at Zyx", "Zyx", "organisation"),
        ("My sister Oriel sings", "Oriel", "person"),
        ("I love the French coast", "French", "topic"),
        ("we saw Dr. Quill", "Dr. Quill", "person"),
    ],
)
def test_names_are_typed_by_what_is_around_them(text: str, name: str, type: str) -> None:
    assert types(text)[name] == type


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hey Zork! How are you?", "Zork"),
        ("Thanks, Zork!", "Zork"),
        ("I saw Mr. Zork there", "Mr. Zork"),
        ("My mentor Zork helps a lot", "Zork"),
        ("It was Zork, who lives next door", "Zork"),
        ("We had dinner with Zork", "Zork"),
        ("Yesterday I met Tom Oakes", "Tom Oakes"),
    ],
)
def test_a_person_has_evidence(text: str, name: str) -> None:
    assert types(text)[name] == "person"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I want to try Zorkly and Blisp 2", "Zorkly"),
        ("I pay for Netflix with my Visa card", "Netflix"),
        ("I know Django and love Postgres", "Django"),
        ("She told me to ask Grammarly", "Grammarly"),
        ("Fingers crossed! Counter-Strike said no", "Counter-Strike"),
        ("I'm reading The Quiet Harbour", "Quiet Harbour"),
        ("I am Buddhist and met Christian monks", "Christian"),
    ],
)
def test_a_capital_makes_nobody_a_person(text: str, name: str) -> None:
    assert types(text).get(name, "none") != "person"


@pytest.mark.parametrize(
    "text", ["My cat, Miso, is asleep", "I have a dog named Max", "Max is my old labrador"]
)
def test_a_pet_is_an_animal(text: str) -> None:
    assert "animal" in types(text).values()
    assert "person" not in types(text).values()


@pytest.mark.parametrize(
    "text",
    [
        "```\n# Create the table\nCreate(db)\n# Insert rows\n```",
        "Steps:\n- Define the goal: Testing\n- Reviewing",
    ],
)
def test_code_and_headings_name_nothing(text: str) -> None:
    assert not {"Create", "Insert", "Testing", "Reviewing"} & types(text).keys()


def test_what_a_sentence_says_makes_a_person_of_a_likely_name_alone() -> None:
    assert types("Clara works at Acme")["Clara"] == "person"
    assert types("Basalt works at Acme")["Basalt"] != "person"


def test_a_statement_knows_the_type_better() -> None:
    assert types("I live in Rowan") == {"Rowan": "place"}


def test_names_alone() -> None:
    reading = read("Ana lives in Rome", speaker=SAM, at=AT, relations=False, all=True)
    assert reading.statements == ()
    assert {one.text for one in reading.names} == {"Ana", "Rome"}


def test_a_name_finder_takes_the_place_of_capital_letters() -> None:
    def find(text: str) -> Sequence[NamedEntity]:
        return [NamedEntity("ana", EntityType.PERSON)]

    reading = read("ana says hi to Bo", speaker=SAM, at=AT, find_names=find, all=True)
    assert reading.names == (NamedEntity("ana", EntityType.PERSON),)

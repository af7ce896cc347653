from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity, Reading, Statement
from remanence.model.knowledge import EntityType, Timespan
from remanence.model.predicates import Holds, predicate_of

AT = datetime(2023, 5, 10, 15, tzinfo=UTC)


def reading(text: str, speaker: str = "Sam") -> Reading:
    return read(text, speaker=NamedEntity(speaker, EntityType.PERSON), at=AT, all=True)


def short(statements: Iterable[Statement]) -> set[str]:
    return {
        f"{one.subject.text} | {one.predicate} | {one.value}{' †' if one.ended else ''}"
        for one in statements
    }


def told(text: str) -> set[str]:
    return short(reading(text).statements)


def implied(text: str, speaker: str = "Sam") -> set[str]:
    return short(reading(text, speaker).implied)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't live in Porto", "Sam | lives in | Porto †"),
        ("I'm not allergic to nuts", "Sam | allergic to | nuts †"),
        ("I don't work at Acme", "Sam | works at | Acme †"),
        ("I'm not vegan", "Sam | diet | vegan †"),
        ("I never work at Acme", "Sam | works at | Acme †"),
        ("Ana isn't married to Tom", "Ana | married to | Tom †"),
        ("I'm not married", "Sam | married to |  †"),
    ],
)
def test_a_denial_ends_what_held_and_says_nothing(text: str, expected: str) -> None:
    found = reading(text)
    assert found.statements == ()
    assert found.refused == {"negation": 1}
    assert short(found.implied) == {expected}
    assert found.implied[0].ended == Timespan(end=AT)


@pytest.mark.parametrize(
    "text",
    [
        "I don't work at Acme yet",
        "I'm not only a nurse",
        "I don't work at Acme on Fridays",
        "I don't have a car",
        "I wish I didn't live in Porto",
        "Don't you live in Porto?",
        "I never lived in Paris",
        "Zoe and I are not dating",
    ],
)
def test_what_is_no_plain_denial(text: str) -> None:
    assert reading(text).statements == ()
    assert implied(text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("we broke up", {"engaged to", "relationship status"}),
        ("Tom and I split up", {"engaged to", "relationship status", "married to"}),
        ("We are divorced", {"married to"}),
        ("I'm single", {"dating", "engaged to", "married to"}),
        ("I'm married", {"dating", "engaged to"}),
        ("I'm married to Eva", {"dating", "engaged to", "relationship status"}),
        ("I'm dating Eva", {"relationship status"}),
        ("My ex-husband Bruno is late", set()),
        ("I live in Rome", set()),
    ],
)
def test_what_a_partner_or_a_parting_ends(text: str, expected: set[str]) -> None:
    assert implied(text) == {f"Sam | {one} |  †" for one in expected}


def test_a_divorce_ends_the_marriage() -> None:
    expected = {"Sam | married to |  †", "Sam | relationship status | divorced"}
    assert told("We got divorced") == expected


def test_an_end_is_that_of_the_wedding() -> None:
    ends = {one.ended for one in reading("I married Eva in 2020").implied}
    year = Timespan(start=datetime(2020, 1, 1, tzinfo=UTC), end=datetime(2021, 1, 1, tzinfo=UTC))
    assert ends == {year}


@pytest.mark.parametrize(
    ("text", "said", "follows"),
    [
        ("My mom lives in Rome", {"Sam's mom | lives in | Rome"},
         {"Sam's mom | same as | Sam's mother"}),
        ("My sister works at Acme", {"Sam's sister | works at | Acme"}, set()),
        ("My mom works at Acme. Her name is Teresa.",
         {"Teresa | works at | Acme", "Sam | mother | Teresa"},
         {"Sam's mom | same as | Teresa", "Sam's mother | same as | Teresa"}),
        ("My mom Teresa lives in Rome", {"Sam | mother | Teresa", "Teresa | lives in | Rome"},
         {"Sam's mom | same as | Teresa", "Sam's mother | same as | Teresa"}),
        ("My mother is Teresa", {"Sam | mother | Teresa"}, {"Sam's mother | same as | Teresa"}),
        ("My sister works at Acme. Her name is Maria.",
         {"Maria | works at | Acme", "Sam | sister | Maria"}, set()),
        ("My future wife lives in Rome", {"Sam's wife | lives in | Rome"}, set()),
    ],
)  # fmt: skip
def test_who_my_mom_is(text: str, said: set[str], follows: set[str]) -> None:
    assert told(text) == said
    assert implied(text) == follows


def test_a_wife_is_who_is_called_so() -> None:
    text = "My wife is called Eva. She works at Siemens."
    assert told(text) == {"Sam | married to | Eva", "Eva | works at | Siemens"}
    assert "Sam's wife | same as | Eva" in implied(text)


@pytest.mark.parametrize(
    ("speaker", "expected"),
    [
        ("user_7", {"user_7 | same as | Ana"}),
        ("user", {"user | same as | Ana"}),
        ("ana", set()),
        ("Sam", set()),
    ],
)
def test_who_has_only_an_id_gets_a_name(speaker: str, expected: set[str]) -> None:
    assert implied("My name is Ana", speaker) == expected


@pytest.mark.parametrize("text", ["I plan to visit Rome next month", "I want to see Rome in June"])
def test_a_plan_holds_until_it_is_over(text: str) -> None:
    (one,) = reading(text).statements
    assert one.began is None
    assert one.ended is not None
    assert one.ended.start == datetime(2023, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("I left Porto at 8am", False),
        ("We left Porto this morning", False),
        ("I left Porto yesterday", False),
        ("I left Porto by train", False),
        ("I left Porto for good", True),
        ("I left Porto yesterday, for good this time", True),
        ("I left Porto in March", True),
        ("I moved away from Porto", True),
    ],
)
def test_who_leaves_a_town_may_come_back(text: str, over: bool) -> None:
    assert ("Sam | lives in | Porto †" in told(text)) is over


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My new address is Rua Augusta 12.", {"Sam | address | Rua Augusta 12"}),
        ("Our address is 4 Mill Lane, York", {"Sam | address | 4 Mill Lane, York"}),
        ("My address is sam@example.com", set()),
        ("I'm vegan. I'm gluten-free too.", {"Sam | diet | vegan", "Sam | diet | gluten-free"}),
        ("My birthday is 4 May.", {"Sam | born on | 4 May"}),
        ("My birthday is May 4th, 1990.", {"Sam | born on | 4 May 1990"}),
        ("I was born on the 4th of May 1990.", {"Sam | born on | 4 May 1990"}),
        ("Ana's birthday is 1990-05-04", {"Ana | born on | 4 May 1990"}),
        ("I live in Paris, Texas", {"Sam | lives in | Paris, Texas"}),
        ("I live in Paris, France", {"Sam | lives in | Paris"}),
        ("I live in fear", set()),
        ("I live in constant fear", set()),
        ("I'm basically married to my job", set()),
        ("I'm married to my laptop", set()),
        ("I've got a bad back", {"Sam | has condition | bad back"}),
        ("I'm blind without my glasses", set()),
    ],
)
def test_values(text: str, expected: set[str]) -> None:
    assert told(text) == expected


def test_how_many_addresses_and_diets_there_are() -> None:
    assert predicate_of("address").holds is Holds.ONE
    assert predicate_of("diet").holds is Holds.MANY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Globex laid me off", {"Sam | works at | Globex †"}),
        ("Globex fired Bob", {"Bob | works at | Globex †"}),
        ("Acme hired me as a cook", {"Sam | works at | Acme", "Sam | works as | cook"}),
        ("They laid me off", {"Sam | works at |  †"}),
        ("I was let go from Globex", {"Sam | works at | Globex †"}),
        ("I was let go", {"Sam | works at |  †"}),
        ("I got fired from Globex", {"Sam | works at | Globex †", "Sam | did | got fired"}),
        ("I'm unemployed", {"Sam | works at |  †"}),
        ("I'm retired", {"Sam | works at |  †", "Sam | is | retired"}),
        ("I also work part-time at Globex", set()),
        ("I work at Globex as well", set()),
        ("Also, I work at Globex", {"Sam | works at | Globex"}),
        ("My job is boring", set()),
        ("My job is sales manager", {"Sam | works as | sales manager"}),
        ("I work as fast as I can", set()),
        ("I was working at my desk", set()),
        ("I work at the post office", {"Sam | works at | post office"}),
        ("I left my phone at the office", set()),
        ("I got an offer from Acme", set()),
        ("I accepted an offer from Acme", {"Sam | works at | Acme"}),
        ("I work for a living", set()),
        ("I started at 9", set()),
    ],
)  # fmt: skip
def test_jobs(text: str, expected: set[str]) -> None:
    assert {one for one in told(text) if "| left" not in one} == expected


def test_who_is_out_of_work_works_as_nothing() -> None:
    assert implied("I'm unemployed") == {"Sam | works as |  †"}


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("I have a dog named Bella. Bella died.", True),
        ("Rex died", True),
        ("Rex passed away last week", True),
        ("Rex passed the exam", False),
        ("Bob died", False),
        ("My brother Rex died", False),
    ],
)
def test_a_pet_that_died_is_nobodys(text: str, ends: bool) -> None:
    found = told(text) | implied(text)
    assert any("has pet" in one and one.endswith("†") for one in found) is ends

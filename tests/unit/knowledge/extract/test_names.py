from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity
from remanence.model.knowledge import EntityType

AT = datetime(2023, 5, 10, 15, tzinfo=UTC)
SAM = NamedEntity("Sam", EntityType.PERSON)


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
    found = {one.text: one.type for one in read(text, speaker=SAM, at=AT, all=True).names}
    assert found[name] == type


def test_a_statement_knows_the_type_better() -> None:
    found = {
        one.text: one.type for one in read("I live in Rowan", speaker=SAM, at=AT, all=True).names
    }
    assert found == {"Rowan": "place"}


def test_names_alone() -> None:
    reading = read("Ana lives in Rome", speaker=SAM, at=AT, relations=False, all=True)
    assert reading.statements == ()
    assert {one.text for one in reading.names} == {"Ana", "Rome"}


def test_a_name_finder_takes_the_place_of_capital_letters() -> None:
    def find(text: str) -> Sequence[NamedEntity]:
        return [NamedEntity("ana", EntityType.PERSON)]

    reading = read("ana says hi to Bo", speaker=SAM, at=AT, find_names=find, all=True)
    assert reading.names == (NamedEntity("ana", EntityType.PERSON),)

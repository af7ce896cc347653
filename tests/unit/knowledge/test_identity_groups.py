"""Identity: who is one by what was said and by name, and who stands for whom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count, permutations
from typing import Any

import pytest

from remanence.knowledge.identity import groups
from remanence.model.knowledge import Claim, Entity, entity_id

NOW = datetime(2024, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
numbers = count()


def person(name: str, **others: Any) -> Entity:
    fields: dict[str, Any] = {"type": "person", "created_at": NOW, "user_id": None}
    fields |= others
    return Entity(id=entity_id(fields["user_id"], name), name=name, **fields)


def same(one: str, other: str, day: int = 0, **others: Any) -> Claim:
    at = NOW + day * DAY
    return Claim(
        id=str(next(numbers)),
        subject=entity_id(None, one),
        predicate="same as",
        value=other,
        object=entity_id(None, other),
        text="",
        observed_at=at,
        recorded_at=at,
        **others,
    )


def named(entities: list[Entity], *claims: Claim, **options: Any) -> dict[str, str]:
    """Names and the names of those that stand for them, of all that do not stand for themselves."""
    found = groups(entities, claims, **options)
    assert found.keys() == {one.id for one in entities}
    names = {one.id: one.name for one in entities}
    return {names[id]: names[leader] for id, leader in found.items() if id != leader}


class TestByClaim:
    def test_said_to_be_the_same(self) -> None:
        two = [person("Bob", type="thing"), person("Robert", type="thing")]
        assert named(two) == {}
        assert named(two, same("Bob", "Robert")) == {"Bob": "Robert"}
        assert named(two, same("Robert", "Bob")) == {"Robert": "Bob"}

    def test_denied_and_said_again(self) -> None:
        two = [person("Bob"), person("Robert")]
        merged, undone = same("Bob", "Robert"), same("Robert", "Bob", 1, denies=True)
        assert named(two, merged, undone) == {}
        assert named(two, undone, merged, known_at=NOW) == {"Bob": "Robert"}
        assert named(two, merged, undone, same("Bob", "Robert", 2)) == {"Bob": "Robert"}
        assert named(two, merged, same("Bob", "Robert", 0, denies=True)) == {}

    def test_less_trust_does_not_undo(self) -> None:
        two = [person("Bob"), person("Robert")]
        undone = same("Bob", "Robert", 1, denies=True, trust=0.5)
        assert named(two, same("Bob", "Robert"), undone) == {"Bob": "Robert"}

    def test_chains(self) -> None:
        three = [person("Bob"), person("Robert"), person("Rob")]
        found = named(three, same("Bob", "Rob"), same("Rob", "Robert"))
        assert found == {"Bob": "Robert", "Rob": "Robert"}

    @pytest.mark.parametrize("gone", ["rested_at", "retired_at"])
    def test_claims_that_rest_or_retired_do_not_count(self, gone: str) -> None:
        two = [person("Bob"), person("Robert")]
        mark: dict[str, Any] = {gone: NOW + DAY}
        claim = same("Bob", "Robert", **mark)
        assert named(two, claim) == {}
        assert named(two, claim, known_at=NOW) == {"Bob": "Robert"}

    def test_of_somebody_unknown_or_oneself(self) -> None:
        assert named([person("Bob")], same("Bob", "Robert"), same("Bob", "Bob")) == {}


class TestByName:
    def test_the_only_longer_name(self) -> None:
        assert named([person("Ana"), person("Ana Souza")]) == {"Ana": "Ana Souza"}
        assert named([person("ána"), person("ANA Souza")]) == {"ána": "ANA Souza"}
        assert named([person("Ana"), person("Ana Souza"), person("Ana Lima")]) == {}
        assert named([person("Ana"), person("Anabel Souza"), person("Mariana Souza")]) == {}
        assert named([person("Souza"), person("Ana Souza")]) == {}

    def test_longer_names_that_are_one(self) -> None:
        three = [person("Ana"), person("Ana Souza"), person("Ana Souza Lima")]
        assert named(three) == {"Ana": "Ana Souza Lima", "Ana Souza": "Ana Souza Lima"}
        married = [person("Ana"), person("Ana Souza"), person("Ana Lima")]
        found = named(married, same("Ana Souza", "Ana Lima"))
        assert found == {"Ana": "Ana Lima", "Ana Souza": "Ana Lima"}

    def test_denied(self) -> None:
        two = [person("Ana"), person("Ana Souza")]
        assert named(two, same("Ana", "Ana Souza", denies=True)) == {}
        titled = [*two, person("Dr. Ana Souza")]
        found = named(titled, same("Ana", "Dr. Ana Souza", denies=True))
        assert found == {"Ana Souza": "Dr. Ana Souza"}
        found = named([*two, person("Ana Lima")], same("Ana", "Ana Lima", denies=True))
        assert found == {}

    def test_only_people_of_one_user(self) -> None:
        assert named([person("Paris", type="place"), person("Paris Hilton")]) == {}
        assert named([person("Ana", user_id="u"), person("Ana Souza")]) == {}

    def test_titles(self) -> None:
        assert named([person("Dr. Ana Souza"), person("Ana Souza")]) == {
            "Ana Souza": "Dr. Ana Souza"
        }
        assert named([person("Mr Souza"), person("Mrs Souza"), person("Souza")]) == {}
        assert named([person("Dr. Ana Souza"), person("Ana")]) == {}

    def test_known_then(self) -> None:
        three = [person("Ana"), person("Ana Souza"), person("Ana Lima", created_at=NOW + DAY)]
        assert named(three, known_at=NOW) == {"Ana": "Ana Souza"}
        assert named(three) == {}


class TestStandingFor:
    def test_given_before_found_then_long_then_old(self) -> None:
        two = [person("Ana", given=True), person("Ana Souza")]
        assert named(two) == {"Ana Souza": "Ana"}
        two = [person("Mr. Bo Lee"), person("Dr. Bo Lee", created_at=NOW - DAY)]
        assert named(two) == {"Mr. Bo Lee": "Dr. Bo Lee"}

    def test_what_others_were_merged_into(self) -> None:
        three = [person("Bob", given=True), person("Robert"), person("Rob")]
        assert named(three, same("Bob", "Rob")) == {"Bob": "Rob"}
        chain = [same("Bob", "Rob", 1), same("Rob", "Robert")]
        assert named(three, *chain) == {"Bob": "Robert", "Rob": "Robert"}
        ring = [*chain, same("Robert", "Bob", 2)]
        assert named(three, *ring) == {"Robert": "Bob", "Rob": "Bob"}
        assert named(three, *ring, known_at=NOW + DAY) == {"Bob": "Robert", "Rob": "Robert"}
        undone = same("Robert", "Bob", 3, denies=True)
        back = same("Robert", "Rob", 4)
        assert named(three, *ring, undone, back) == {"Bob": "Rob", "Robert": "Rob"}

    def test_a_merge_that_was_undone_or_rests_does_not_lead(self) -> None:
        two = [person("Ana"), person("Ana Souza")]
        assert named(two, same("Ana Souza", "Ana")) == {"Ana Souza": "Ana"}
        resting = same("Ana Souza", "Ana", rested_at=NOW)
        assert named(two, resting) == {"Ana": "Ana Souza"}
        assert named(two, same("Ana Souza", "Bea")) == {"Ana": "Ana Souza"}

    def test_the_order_does_not_matter(self) -> None:
        people = [person(name) for name in ("Ana", "Ana Souza", "Dr. Ana Souza", "Annie")]
        claims = [same("Annie", "Ana"), same("Ana Souza", "Annie", 1, denies=True)]
        found = [groups(list(order), claims) for order in permutations(people)]
        assert all(one == found[0] for one in found)

    def test_nor_does_that_of_first_names(self) -> None:
        people = [person(name) for name in ("Ana Souza", "Ana Souza Lima", "Bob", "Bob Lee")]
        claims = [same("Ana Souza", "Bob", denies=True), same("Ana Souza Lima", "Bob Lee")]
        found = [groups(list(order), claims) for order in permutations(people)]
        assert all(one == found[0] for one in found)

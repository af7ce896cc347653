"""Belief's laws, under any claims: order, other slots, less trust and erasure."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.knowledge.belief import believe, holding
from remanence.model.knowledge import Claim, Fact, Standing, Timespan, entity_id

DAY = datetime(2024, 1, 1, tzinfo=UTC)
VALUES = ("Rome", "Bonn", "Oslo")
PREDICATES = ("lives in", "born in", "likes", "dislikes", "did", "has")
BELIEVED = (Standing.HOLDS, Standing.ENDED, Standing.DISPUTED)

days = st.integers(0, 12).map(lambda number: DAY + timedelta(days=number))


@st.composite
def times(draw: st.DrawFn) -> Timespan | None:
    if draw(st.booleans()):
        return None
    start, end = sorted((draw(days), draw(days)))
    known = draw(st.sampled_from(("both", "start", "end", "none")))
    return Timespan(
        start=start if known in ("both", "start") else None,
        end=end if known in ("both", "end") else None,
    )


@st.composite
def claims(
    draw: st.DrawFn,
    trust: tuple[float, ...] = (1.0, 0.5),
    predicates: tuple[str, ...] = PREDICATES,
    user: str | None = None,
) -> Claim:
    value = draw(st.sampled_from((*VALUES, "")))
    said = draw(days)
    return Claim(
        id=str(draw(st.uuids())),
        subject=entity_id(user, "Ana"),
        predicate=draw(st.sampled_from(predicates)),
        value=value,
        object=entity_id(user, value) if value and draw(st.booleans()) else None,
        text="said",
        observed_at=said,
        recorded_at=said + timedelta(hours=draw(st.integers(0, 48))),
        confidence=0.5,
        trust=draw(st.sampled_from(trust)),
        began=draw(times()),
        ended=draw(times()),
        denies=draw(st.integers(0, 9)) == 0,
        rested_at=draw(st.one_of(st.none(), st.none(), days)),
        retired_at=draw(st.one_of(st.none(), st.none(), days)),
        user_id=user,
    )


def many(**options: Any) -> st.SearchStrategy[list[Claim]]:
    return st.lists(claims(**options), max_size=8, unique_by=lambda one: one.id)


def believed(said: list[Claim], known_at: datetime | None = None) -> list[Fact]:
    return believe(said, names={}, known_at=known_at)


def held(facts: list[Fact]) -> dict[int, set[str]]:
    """What held at each half day, leaving out moments at which nothing did."""
    moments = [DAY + timedelta(hours=12 * number) for number in range(-2, 30)]
    found = {
        number: {f"{one.predicate} {one.object}" for one in holding(facts, moment)}
        for number, moment in enumerate(moments)
    }
    return {number: names for number, names in found.items() if names}


@pytest.mark.slow
@given(many(), st.randoms(use_true_random=False), st.one_of(st.none(), days))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_claims_does_not_matter(
    said: list[Claim], random: Random, known_at: datetime | None
) -> None:
    shuffled = random.sample(said, len(said))
    assert believed(shuffled, known_at) == believed(said, known_at)


@pytest.mark.slow
@given(many(), many(user="another"))
@settings(max_examples=100, deadline=None)
def test_another_slot_changes_nothing(said: list[Claim], others: list[Claim]) -> None:
    together = believed([*said, *others])
    assert [one for one in together if one.user_id is None] == believed(said)


@pytest.mark.slow
@given(
    many(trust=(1.0, 0.6), predicates=("lives in",)),
    many(trust=(0.5, 0.2), predicates=("lives in",)),
)
@settings(max_examples=150, deadline=None)
def test_less_trust_never_changes_what_holds(said: list[Claim], low: list[Claim]) -> None:
    # Less trust may tell since when it was so: that is left out here.
    said = [one for one in said if one.ended is None or _has_start(one)]
    before, after = held(believed(said)), held(believed([*said, *low]))
    assert {number: after[number] for number in before} == before


@pytest.mark.slow
@given(many(predicates=("lives in",)))
@settings(max_examples=100, deadline=None)
def test_one_at_a_time_unless_disputed(said: list[Claim]) -> None:
    facts = believed(said)
    for number in range(-2, 30):
        there = holding(facts, DAY + timedelta(hours=12 * number))
        assert len(there) <= 1 or {one.standing for one in there} == {Standing.DISPUTED}


@pytest.mark.slow
@given(many())
@settings(max_examples=100, deadline=None)
def test_each_claim_is_in_one_fact_and_ids_are_its_first_claims(said: list[Claim]) -> None:
    facts = believed(said)
    counted = [id for one in facts for id in one.claims]
    expected = {one.id for one in said if one.value and not one.denies and one.rested_at is None}
    assert sorted(counted) == sorted(expected)
    recorded = {one.id: (one.recorded_at, one.id) for one in said}
    assert all(one.id == min(one.claims, key=recorded.__getitem__) for one in facts)


@pytest.mark.slow
@given(many())
@settings(max_examples=100, deadline=None)
def test_facts_make_sense(said: list[Claim]) -> None:
    facts = believed(said)
    by_id = {one.id: one for one in facts}
    for one in facts:
        assert one.valid_from is None or one.valid_to is None or one.valid_from <= one.valid_to
        assert (one.standing is Standing.RETRACTED) == (one.retired_at is not None)
        assert 0 <= one.confidence <= 1
        assert one.id not in one.rivals
        if one.standing is Standing.DISPUTED:
            assert one.rivals
            assert all(one.id in by_id[other].rivals for other in one.rivals)
        if one.standing is Standing.DOUBTED:
            assert all(by_id[other].standing in BELIEVED for other in one.rivals)


@pytest.mark.slow
@given(many(), days)
@settings(max_examples=100, deadline=None)
def test_known_then_is_what_the_claims_known_then_say(
    said: list[Claim], known_at: datetime
) -> None:
    then = [one for one in said if one.known_at(known_at)]
    fresh = [_unmarked(one) for one in then]
    standing = [one for one in believed(said, known_at) if one.standing in BELIEVED]
    assert standing == [one for one in believed(fresh) if one.standing in BELIEVED]


def test_a_thousand_claims_of_one_slot_take_less_than_a_second() -> None:
    random = Random(5)
    said = [_random(random, number) for number in range(1000)]
    started = time.thread_time()
    assert believed(said)
    assert time.thread_time() - started < 1


def _has_start(claim: Claim) -> bool:
    told = claim.began is not None and (claim.began.start or claim.began.end) is not None
    return told or not claim.value


def _unmarked(claim: Claim) -> Claim:
    values = {name: getattr(claim, name) for name in Claim.__dataclass_fields__}
    return Claim(**(values | {"rested_at": None, "retired_at": None}))


def _random(random: Random, number: int) -> Claim:
    said = DAY + timedelta(hours=random.randrange(50_000))
    dated = random.random() < 0.3
    return Claim(
        id=f"{number:06}",
        subject="ana",
        predicate="lives in",
        value=f"City {random.randrange(40)}",
        text="said",
        observed_at=said,
        recorded_at=said,
        trust=random.choice((1.0, 1.0, 0.7, random.random())),
        began=Timespan(start=said - timedelta(days=30), end=said) if dated else None,
        ended=Timespan(start=said, end=said) if random.random() < 0.1 else None,
    )

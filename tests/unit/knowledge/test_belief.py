"""Belief: what supersedes, fills, ends, disputes, doubts and denies what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remanence.knowledge.belief import believe, holding
from remanence.model.knowledge import Claim, Fact, Standing, Timespan, entity_id

NAMES = {entity_id(None, name): name for name in ("Ana", "Bob", "Rome", "Bonn", "Oslo", "Acme")}
ANA = entity_id(None, "Ana")


def day(text: str) -> datetime:
    """2024, 2024-03 or 2024-03-05, or with a time, as the moment it begins."""
    whole = text + "-01-01"[len(text) - 4 :] if len(text) < 10 else text
    return datetime.fromisoformat(whole).replace(tzinfo=UTC)


def span(text: str) -> Timespan:
    """A year, a month or a day as a range; A..B from one to before the other."""
    if ".." in text:
        first, last = text.split("..")
        return Timespan(start=day(first) if first else None, end=day(last) if last else None)
    start = day(text)
    days = {4: 366, 7: 31, 10: 1}[len(text)]
    end = start + timedelta(days=days)
    return Timespan(start=start, end=end.replace(day=1) if len(text) < 10 else end)


class Told:
    """Makes claims with running ids; `at` is when they were said and, unless told, recorded."""

    def __init__(self) -> None:
        self._made = 0

    def __call__(
        self,
        value: str,
        at: str,
        *,
        predicate: str = "lives in",
        subject: str = "Ana",
        began: str | None = None,
        ended: str | None = None,
        recorded: str | None = None,
        entity: bool = True,
        **others: Any,
    ) -> Claim:
        self._made += 1
        fields: dict[str, Any] = {"confidence": 0.8, "text": f"{subject} {predicate} {value}"}
        return Claim(
            id=f"{self._made:04}",
            subject=entity_id(None, subject),
            predicate=predicate,
            value=value,
            object=entity_id(None, value) if value and entity else None,
            observed_at=day(at),
            recorded_at=day(recorded or at),
            began=None if began is None else span(began),
            ended=None if ended is None else span(ended),
            **(fields | others),
        )


@pytest.fixture
def told() -> Told:
    return Told()


def facts(claims: Iterable[Claim], **options: Any) -> list[Fact]:
    return believe(list(claims), names=NAMES, **options)


def shown(claims: Iterable[Claim], **options: Any) -> list[str]:
    """Facts as "Rome 2010-01-01..2014-01-01 ended"."""
    return [_shown(fact) for fact in facts(claims, **options)]


def at(claims: Iterable[Claim], moment: str, **options: Any) -> list[str]:
    """The objects that held then."""
    return [fact.object for fact in holding(facts(claims, **options), day(moment))]


def _shown(fact: Fact) -> str:
    start, end = (_moment(one) for one in (fact.valid_from, fact.valid_to))
    return f"{fact.object} {start}..{end} {fact.standing}"


def _moment(when: datetime | None) -> str:
    if when is None:
        return ""
    text = when.isoformat()[:16]
    return text.removesuffix("T00:00")


class TestOneAtATime:
    def test_what_starts_later_ends_what_was(self, told: Told) -> None:
        claims = [told("Rome", "2024-01"), told("Bonn", "2024-06")]
        assert shown(claims) == ["Rome 2024-01-01..2024-06-01 ended", "Bonn 2024-06-01.. holds"]
        assert at(claims, "2023") == []
        assert at(claims, "2024-03") == ["Rome"]
        assert at(claims, "2024-06") == ["Bonn"]

    def test_saying_it_again_confirms(self, told: Told) -> None:
        claims = [
            told("Rome", "2024-01", memory="m1"),
            told("rome", "2024-02", memory="m2", confidence=0.5, entity=False),
            told("Rome", "2024-03", memory="m1"),
        ]
        (fact,) = facts(claims)
        assert fact.id == "0001"
        assert fact.claims == ("0001", "0002", "0003")
        assert fact.sources == ("m1", "m2")
        assert fact.confidence == pytest.approx(1 - 0.2 * 0.5 * 0.2)
        assert (fact.valid_from, fact.valid_to) == (day("2024-01"), None)
        assert (fact.subject, fact.object, fact.object_id) == ("Ana", "Rome", _id("Rome"))

    def test_moving_back_makes_a_new_stretch(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Bonn", "2021"), told("Rome", "2022")]
        assert shown(claims) == [
            "Rome 2020-01-01..2021-01-01 ended",
            "Bonn 2021-01-01..2022-01-01 ended",
            "Rome 2022-01-01.. holds",
        ]
        assert len({fact.id for fact in facts(claims)}) == 3

    def test_a_later_word_on_an_earlier_time_does_not_change_now(self, told: Told) -> None:
        claims = [told("Bonn", "2023"), told("Rome", "2024", began="2010")]
        assert shown(claims) == ["Rome 2010-01-01..2023-01-01 ended", "Bonn 2023-01-01.. holds"]

    def test_a_past_stretch_fills_only_itself(self, told: Told) -> None:
        claims = [told("Bonn", "2023"), told("Rome", "2024", began="2010", ended="2014")]
        assert shown(claims) == ["Rome 2010-01-01..2014-01-01 ended", "Bonn 2023-01-01.. holds"]
        assert at(claims, "2016") == []

    def test_a_stretch_inside_what_goes_on_interrupts_it(self, told: Told) -> None:
        claims = [
            told("Bonn", "2023", began="2005"),
            told("Rome", "2024", began="2010", ended="2014"),
        ]
        assert shown(claims) == ["Bonn 2005-01-01.. holds", "Rome 2010-01-01..2014-01-01 ended"]
        assert [at(claims, year) for year in ("2006", "2012", "2015", "2024")] == [
            ["Bonn"], ["Rome"], ["Bonn"], ["Bonn"],
        ]  # fmt: skip

    def test_a_stretch_ends_what_nobody_spoke_of_after_it(self, told: Told) -> None:
        claims = [told("Bonn", "2005"), told("Rome", "2024", began="2010", ended="2014")]
        assert shown(claims) == [
            "Bonn 2005-01-01..2010-01-01 ended",
            "Rome 2010-01-01..2014-01-01 ended",
        ]

    def test_one_range_for_both_ends_is_that_stretch(self, told: Told) -> None:
        assert shown([told("Rome", "2024", began="2012", ended="2012")]) == [
            "Rome 2012-01-01..2013-01-01 ended"
        ]

    def test_what_begins_later_does_not_hold_before(self, told: Told) -> None:
        claims = [told("Rome", "2024-01"), told("Bonn", "2024-05", began="2024-09")]
        assert at(claims, "2024-06") == ["Rome"]
        assert at(claims, "2024-09") == ["Bonn"]
        standing = [fact.standing for fact in facts(claims, now=day("2024-06"))]
        assert standing == [Standing.HOLDS, Standing.HOLDS]

    def test_started_long_ago_and_said_twice_is_one_stretch(self, told: Told) -> None:
        claims = [told("Rome", "2024-01"), told("Rome", "2024-06", began="2020")]
        (fact,) = facts(claims)
        assert (fact.id, fact.valid_from) == ("0001", day("2020"))
        assert fact.began == span("2020")

    def test_other_subjects_predicates_and_users_are_not_touched(self, told: Told) -> None:
        claims = [
            told("Rome", "2020"),
            told("Bonn", "2021", subject="Bob"),
            told("Acme", "2022", predicate="works at"),
            told("Bonn", "2023", user_id="other"),
        ]
        assert {fact.standing for fact in facts(claims)} == {Standing.HOLDS}

    def test_callers_name_further_predicates_with_one_object(self, told: Told) -> None:
        claims = [told("red", "2020", predicate="team"), told("blue", "2021", predicate="team")]
        assert len(at(claims, "2022")) == 2
        assert at(claims, "2022", one_at_a_time=frozenset({"team"})) == ["blue"]
        claims = [replace(one, predicate="favourite colour") for one in claims]
        assert at(claims, "2022") == ["blue"]


class TestNotes:
    def test_a_note_is_no_name(self, told: Told) -> None:
        texts = ("Rome", "Bonn", "rome")
        notes = [told(one, "2024-01-01", predicate="note", entity=False) for one in texts]
        same = {entity_id(None, "Bonn"): entity_id(None, "Rome")}
        found = facts(notes, same=same)
        assert sorted(one.object for one in found) == ["Bonn", "Rome"]
        homes = [told(one, "2024-01-01", entity=False) for one in ("Rome", "Bonn")]
        assert len(facts(homes, same=same)) == 1

    def test_a_note_is_taken_back_by_its_words(self, told: Told) -> None:
        said = told("likes tea", "2024-01-01", predicate="note", entity=False)
        other = told("likes milk", "2024-01-01", predicate="note", entity=False)
        denial = told("Likes tea", "2024-01-02", predicate="note", entity=False, denies=True)
        found = {one.object: one.standing for one in facts([said, other, denial])}
        assert found == {"likes tea": Standing.RETRACTED, "likes milk": Standing.HOLDS}


class TestVagueTimes:
    def test_moved_this_month_is_after_what_was_said_this_month(self, told: Told) -> None:
        claims = [told("Rome", "2024-06-05"), told("Bonn", "2024-06-10", began="2024-06")]
        assert shown(claims) == [
            "Rome 2024-06-05..2024-06-10 ended",
            "Bonn 2024-06-10.. holds",
        ]
        assert facts(claims)[1].began == span("2024-06")

    def test_moved_last_week_is_by_its_end(self, told: Told) -> None:
        claims = [
            told("Rome", "2024-06-05"),
            told("Bonn", "2024-06-20", began="2024-06-03..2024-06-10"),
        ]
        assert shown(claims)[1] == "Bonn 2024-06-10.. holds"

    def test_two_moves_of_a_year_told_as_they_happened(self, told: Told) -> None:
        claims = [told("Rome", "2024-03", began="2024"), told("Bonn", "2024-11", began="2024")]
        assert at(claims, "2024-12") == ["Bonn"]
        assert at(claims, "2024-05") == ["Rome"]

    def test_said_again_in_the_range_pushes_nothing(self, told: Told) -> None:
        claims = [told("Rome", "2024-06-05"), told("Rome", "2024-06-10", began="2024-06")]
        assert shown(claims) == ["Rome 2024-06-01.. holds"]

    def test_less_trust_pushes_nothing(self, told: Told) -> None:
        claims = [
            told("Rome", "2024-06-05", trust=0.5),
            told("Bonn", "2024-06-10", began="2024-06"),
        ]
        assert "Bonn 2024-06-01.. holds" in shown(claims)

    def test_left_today_is_after_this_morning(self, told: Told) -> None:
        claims = [
            told("Rome", "2024-06-10T09:00"),
            told("Rome", "2024-06-10T12:00", ended="2024-06-10"),
        ]
        assert shown(claims) == ["Rome 2024-06-10T09:00..2024-06-10T12:00 ended"]

    @pytest.mark.parametrize("began", ["2020..", "..2020"])
    def test_half_known_starts(self, told: Told, began: str) -> None:
        (fact,) = facts([told("Rome", "2024", began=began)])
        assert fact.valid_from == day("2020")
        assert fact.began is not None
        assert fact.began.precision == "open"

    def test_nothing_known_of_the_start_is_true_when_said(self, told: Told) -> None:
        claim = replace(told("Rome", "2024"), began=Timespan())
        assert shown([claim]) == ["Rome 2024-01-01.. holds"]


class TestEndings:
    def test_an_end_closes_its_object(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Rome", "2024", ended="2022")]
        (fact,) = facts(claims)
        assert (fact.valid_to, fact.ended) == (day("2022"), span("2022"))
        assert fact.claims == ("0001", "0002")
        assert fact.text == "Ana lives in Rome"

    def test_an_end_of_whatever_held(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Bonn", "2021"), told("", "2024", ended="2022")]
        assert at(claims, "2023") == []
        assert at(claims, "2021-06") == ["Bonn"]
        assert len(facts(claims)) == 2

    def test_the_end_of_something_else_changes_nothing(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Bonn", "2024", ended="2022")]
        assert at(claims, "2024") == ["Rome"]
        assert "Bonn ..2022-01-01 ended" in shown(claims)

    def test_only_an_end_leaves_the_start_open(self, told: Told) -> None:
        claims = [told("Rome", "2024", ended="2014"), told("Rome", "2024-02", ended="2015")]
        (fact,) = facts(claims)
        assert (fact.valid_from, fact.valid_to) == (None, day("2015"))

    def test_ends_on_both_sides_of_a_stretch_are_two(self, told: Told) -> None:
        claims = [
            told("Rome", "2024", ended="2010"),
            told("Rome", "2024", began="2012", ended="2013"),
            told("Rome", "2024", ended="2020"),
        ]
        assert shown(claims) == [
            "Rome ..2010-01-01 ended",
            "Rome ..2020-01-01 ended",
            "Rome 2012-01-01..2013-01-01 ended",
        ]

    def test_an_end_yet_to_come(self, told: Told) -> None:
        claims = [told("Rome", "2024-01", ended="2024-12")]
        assert at(claims, "2024-06") == ["Rome"]
        assert at(claims, "2025") == []
        assert facts(claims, now=day("2024-06"))[0].standing is Standing.HOLDS
        assert facts(claims, now=day("2025"))[0].standing is Standing.ENDED

    def test_said_again_after_the_end_begins_anew(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Rome", "2021", ended="2021"), told("Rome", "2024")]
        assert shown(claims) == ["Rome 2020-01-01..2021-01-01 ended", "Rome 2024-01-01.. holds"]

    def test_a_known_end_closes_what_is_told_of_before(self, told: Told) -> None:
        claims = [told("Rome", "2014", ended="2014"), told("Rome", "2024", began="2010")]
        assert shown(claims) == ["Rome 2010-01-01..2014-01-01 ended"]

    def test_of_two_ends_the_one_said_later_counts(self, told: Told) -> None:
        longer = [
            told("Rome", "2024-01", ended="2024-06"),
            told("Rome", "2024-05", ended="2024-12"),
        ]
        assert shown(longer) == ["Rome 2024-01-01..2024-12-01 ended"]
        shorter = [
            told("Rome", "2024-01", ended="2024-12"),
            told("Rome", "2024-05", ended="2024-06"),
        ]
        assert shown(shorter) == ["Rome 2024-01-01..2024-06-01 ended"]

    def test_an_end_nobody_dated_is_when_it_was_said(self, told: Told) -> None:
        left = replace(told("Rome", "2022"), ended=Timespan())
        assert shown([told("Rome", "2020"), left]) == ["Rome 2020-01-01..2022-01-01 ended"]

    def test_an_end_before_the_start_holds_never(self, told: Told) -> None:
        claims = [told("Rome", "2024", began="2020", ended="2010")]
        assert shown(claims) == ["Rome 2020-01-01..2020-01-01 ended"]
        assert at(claims, "2020") == at(claims, "2015") == []

    def test_an_empty_value_without_an_end_says_nothing(self, told: Told) -> None:
        assert facts([told("", "2024")]) == []


class TestTrust:
    def test_less_trust_is_doubted_and_ends_nothing(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Bonn", "2022", trust=0.4)]
        assert shown(claims) == ["Rome 2020-01-01.. holds", "Bonn 2022-01-01.. doubted"]
        assert facts(claims)[1].rivals == ("0001",)
        assert facts(claims)[0].rivals == ()
        assert at(claims, "2024") == ["Rome"]

    def test_less_trust_ends_nothing_by_telling_an_end(self, told: Told) -> None:
        for value in ("Rome", ""):
            claims = [told("Rome", "2020"), told(value, "2022", ended="2022", trust=0.4)]
            assert at(claims, "2024") == ["Rome"]

    def test_more_trust_takes_the_place_of_less(self, told: Told) -> None:
        claims = [told("Rome", "2020", trust=0.4), told("Bonn", "2022")]
        assert shown(claims) == ["Rome 2020-01-01..2022-01-01 ended", "Bonn 2022-01-01.. holds"]

    def test_at_the_same_time_more_trust_wins(self, told: Told) -> None:
        claims = [told("Rome", "2020", trust=0.4), told("Bonn", "2020")]
        assert shown(claims) == ["Rome 2020-01-01.. doubted", "Bonn 2020-01-01.. holds"]

    def test_less_trust_waits_for_the_end_of_a_trusted_stretch(self, told: Told) -> None:
        claims = [
            told("Bonn", "2012", trust=0.4),
            told("Rome", "2024", began="2010", ended="2014"),
        ]
        assert shown(claims) == ["Rome 2010-01-01..2014-01-01 ended", "Bonn 2014-01-01.. holds"]

    def test_what_ended_leaves_room_for_less_trust(self, told: Told) -> None:
        claims = [
            told("Rome", "2020"),
            told("Rome", "2021", ended="2021"),
            told("Bonn", "2022", trust=0.4),
        ]
        assert at(claims, "2023") == ["Bonn"]

    def test_less_trust_can_confirm(self, told: Told) -> None:
        (fact,) = facts([told("Rome", "2020"), told("Rome", "2022", trust=0.4)])
        assert (fact.trust, fact.claims) == (1.0, ("0001", "0002"))

    def test_less_trust_cannot_stretch_an_end(self, told: Told) -> None:
        claims = [
            told("Rome", "2024", began="2010", ended="2014"),
            told("Rome", "2025", began="2012", ended="2018", trust=0.4),
        ]
        assert shown(claims) == ["Rome 2010-01-01..2014-01-01 ended"]


class TestDisputes:
    def test_said_at_once_both_are_disputed(self, told: Told) -> None:
        claims = [told("Rome", "2024"), told("Bonn", "2024")]
        rome, bonn = facts(claims)
        assert (rome.standing, bonn.standing) == (Standing.DISPUTED, Standing.DISPUTED)
        assert (rome.rivals, bonn.rivals) == ((bonn.id,), (rome.id,))
        assert sorted(at(claims, "2025")) == ["Bonn", "Rome"]

    def test_told_of_overlapping_times(self, told: Told) -> None:
        claims = [
            told("Rome", "2024-01", began="2014"),
            told("Bonn", "2024-02", began="2014-06"),
        ]
        assert {fact.standing for fact in facts(claims)} == {Standing.DISPUTED}
        apart = [told("Rome", "2024-01", began="2014"), told("Bonn", "2024-02", began="2015")]
        assert Standing.DISPUTED not in {fact.standing for fact in facts(apart)}

    def test_said_again_settles(self, told: Told) -> None:
        claims = [told("Rome", "2024-01"), told("Bonn", "2024-01"), told("Rome", "2024-06")]
        assert shown(claims) == [
            "Rome 2024-01-01.. holds",
            "Bonn 2024-01-01..2024-06-01 ended",
        ]
        assert [fact.rivals for fact in facts(claims)] == [(), ()]

    def test_less_trust_does_not_settle(self, told: Told) -> None:
        claims = [
            told("Rome", "2024-01"), told("Bonn", "2024-01"), told("Rome", "2024-06", trust=0.3)
        ]  # fmt: skip
        assert {fact.standing for fact in facts(claims)} == {Standing.DISPUTED}

    def test_a_third_ends_both_and_they_stay_disputed(self, told: Told) -> None:
        claims = [told("Rome", "2024-01"), told("Bonn", "2024-01"), told("Oslo", "2024-06")]
        assert shown(claims) == [
            "Rome 2024-01-01..2024-06-01 disputed",
            "Bonn 2024-01-01..2024-06-01 disputed",
            "Oslo 2024-06-01.. holds",
        ]
        assert at(claims, "2024-07") == ["Oslo"]

    def test_bounded_stretches_can_be_disputed(self, told: Told) -> None:
        claims = [
            told("Rome", "2024", began="2010", ended="2014"),
            told("Bonn", "2024", began="2010", ended="2012"),
        ]
        assert {fact.standing for fact in facts(claims)} == {Standing.DISPUTED}


class TestOnce:
    def test_the_time_is_told_as_the_first_did(self, told: Told) -> None:
        first = told("Rome", "2020-01-01", predicate="born in", began="1990-01-01")
        later = told("Rome", "2020-01-02", predicate="born in", began="1990")
        for claims in ([first, later], [later, first]):
            assert [one.began for one in facts(claims)] == [first.began]

    def test_values_of_one_trust_are_disputed(self, told: Told) -> None:
        claims = [
            told("Rome", "2020", predicate="born in"),
            told("Bonn", "2024", predicate="born in"),
        ]
        assert {fact.standing for fact in facts(claims)} == {Standing.DISPUTED}
        assert len(at(claims, "1990")) == 2

    def test_the_most_trusted_wins(self, told: Told) -> None:
        claims = [
            told("Rome", "2024", predicate="born in", trust=0.5),
            told("Bonn", "2020", predicate="born in"),
            told("Rome", "2025", predicate="born in", trust=0.6),
        ]
        assert shown(claims) == ["Bonn .. holds", "Rome .. doubted"]
        assert facts(claims)[1].rivals == ("0002",)

    def test_a_told_start_counts(self, told: Told) -> None:
        assert shown([told("Bob", "2024", predicate="father", began="1990")]) == [
            "Bob 1990-01-01.. holds"
        ]


class TestMany:
    def test_objects_accumulate(self, told: Told) -> None:
        claims = [told("Rome", "2020", predicate="likes"), told("Bonn", "2021", predicate="likes")]
        assert at(claims, "2022") == ["Rome", "Bonn"]

    def test_ends_of_one_and_of_all(self, told: Told) -> None:
        claims = [told(one, "2020", predicate="has") for one in ("Rome", "Bonn")]
        one = told("Rome", "2022", predicate="has", ended="2022")
        assert at([*claims, one], "2023") == ["Bonn"]
        all_of_them = told("", "2022", predicate="has", ended="2022")
        assert at([*claims, all_of_them], "2023") == []

    def test_opposites_end_each_other_by_object(self, told: Told) -> None:
        claims = [
            told("Rome", "2020", predicate="likes"),
            told("Bonn", "2020", predicate="likes"),
            told("Rome", "2022", predicate="dislikes"),
        ]
        held = {(fact.predicate, fact.object) for fact in holding(facts(claims), day("2023"))}
        assert held == {("likes", "Bonn"), ("dislikes", "Rome")}
        before = {(fact.predicate, fact.object) for fact in holding(facts(claims), day("2021"))}
        assert before == {("likes", "Rome"), ("likes", "Bonn")}

    def test_the_end_of_liking_ends_no_disliking(self, told: Told) -> None:
        claims = [
            told("Rome", "2020", predicate="dislikes"),
            told("", "2022", predicate="likes", ended="2022"),
        ]
        assert at(claims, "2023") == ["Rome"]

    def test_things_that_happened_twice_are_two(self, told: Told) -> None:
        ran: dict[str, Any] = {"predicate": "did", "entity": False}
        claims = [
            told("ran a marathon", "2023", began="2020-05-03", **ran),
            told("ran a marathon", "2023", began="2022-05-01", **ran),
            told("ran a marathon", "2024", began="2022-05", **ran),
        ]
        assert [fact.claims for fact in facts(claims)] == [("0001",), ("0002", "0003")]


class TestDenials:
    def test_what_was_recorded_before_is_retracted(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Rome", "2022", denies=True)]
        (fact,) = facts(claims)
        assert (fact.standing, fact.retired_at) == (Standing.RETRACTED, day("2022"))
        assert at(claims, "2021") == []
        assert at(claims, "2021", known_at=day("2021")) == ["Rome"]

    def test_what_it_had_superseded_comes_back(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Bonn", "2021"), told("Bonn", "2022", denies=True)]
        assert shown(claims) == ["Rome 2020-01-01.. holds", "Bonn 2021-01-01.. retracted"]

    def test_a_later_claim_revives(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Rome", "2022", denies=True), told("Rome", "2023")]
        assert shown(claims) == ["Rome 2020-01-01.. retracted", "Rome 2023-01-01.. holds"]

    def test_of_the_whole_slot(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Bonn", "2021"), told("", "2022", denies=True)]
        assert {fact.standing for fact in facts(claims)} == {Standing.RETRACTED}

    def test_of_another_object_changes_nothing(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Bonn", "2022", denies=True)]
        assert shown(claims) == ["Rome 2020-01-01.. holds"]

    def test_less_trust_denies_nothing(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Rome", "2022", denies=True, trust=0.5)]
        assert at(claims, "2023") == ["Rome"]

    def test_of_one_stretch(self, told: Told) -> None:
        claims = [
            told("Rome", "2020"), told("Bonn", "2021"), told("Rome", "2022"),
            told("Rome", "2024", denies=True, ended="2020..2021"),
        ]  # fmt: skip
        assert shown(claims) == [
            "Rome 2020-01-01.. retracted",
            "Bonn 2021-01-01..2022-01-01 ended",
            "Rome 2022-01-01.. holds",
        ]

    def test_a_plain_value_denies_an_entity_of_that_name(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("ROME", "2022", denies=True, entity=False)]
        assert at(claims, "2023") == []

    def test_liking_denied_is_not_disliking_denied(self, told: Told) -> None:
        claims = [
            told("Rome", "2020", predicate="dislikes"),
            told("Rome", "2022", predicate="likes", denies=True),
        ]
        assert at(claims, "2023") == ["Rome"]

    def test_an_end_can_be_taken_back(self, told: Told) -> None:
        claims = [
            told("Rome", "2020"),
            told("Rome", "2021", ended="2021"),
            told("Rome", "2022", denies=True, began="2021..2021", ended="2021..2021"),
        ]
        assert at(claims, "2023") == ["Rome"]


class TestKnownAt:
    def test_what_was_recorded_later_is_not_known(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Bonn", "2021", recorded="2024")]
        assert at(claims, "2022", known_at=day("2023")) == ["Rome"]
        assert at(claims, "2022", known_at=day("2024")) == ["Bonn"]

    def test_claims_of_resting_memories_are_left_out(self, told: Told) -> None:
        claims = [told("Rome", "2020", rested_at=day("2022"), memory="m")]
        assert facts(claims) == []
        assert facts(claims, known_at=day("2022")) == []
        assert at(claims, "2021", known_at=day("2021")) == ["Rome"]

    def test_claims_of_a_former_text_were_believed_until_it_changed(self, told: Told) -> None:
        claims = [told("Rome", "2020", retired_at=day("2022"), memory="m")]
        (fact,) = facts(claims)
        assert (fact.standing, fact.retired_at) == (Standing.RETRACTED, day("2022"))
        assert at(claims, "2021", known_at=day("2021")) == ["Rome"]

    def test_a_retired_denial_denies_nothing(self, told: Told) -> None:
        claims = [told("Rome", "2020"), told("Rome", "2021", denies=True, retired_at=day("2022"))]
        assert at(claims, "2023") == ["Rome"]
        assert at(claims, "2023", known_at=day("2021")) == []


class TestMerged:
    def test_merged_entities_are_one_subject_and_one_object(self, told: Told) -> None:
        same = {_id("Ana Souza"): ANA, _id("Roma"): _id("Rome")}
        claims = [told("Rome", "2020"), told("Roma", "2021", subject="Ana Souza")]
        (fact,) = facts(claims, same=same)
        assert (fact.subject_id, fact.object, fact.object_id) == (ANA, "Rome", _id("Rome"))
        assert fact.claims == ("0001", "0002")

    def test_a_denial_reaches_through_a_merge(self, told: Told) -> None:
        same = {_id("Roma"): _id("Rome")}
        claims = [told("Rome", "2020"), told("Roma", "2021", denies=True)]
        assert at(claims, "2022", same=same) == []


def _id(name: str) -> str:
    return entity_id(None, name)

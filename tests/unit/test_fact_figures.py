"""How facts are judged, on sentences made here."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence.errors import InvalidInput
from remanence.language.english.extraction.statement import NamedEntity, Reading, Statement
from remanence.model.knowledge import Fact, Standing, Timespan
from remanence.model.predicates import PREDICATES
from remanence.tools.evaluation.facts import IN_ALL, answers, by_sort, judge, score
from remanence.tools.evaluation.judged_facts import (
    Expected,
    Sentence,
    Wanted,
    fits,
    load_judged,
    same_object,
    times_fit,
)

AT = datetime(2025, 3, 14, 9, 0, tzinfo=UTC)
PAST = Timespan(start=AT - timedelta(days=30), end=AT - timedelta(days=29))
LATER = Timespan(start=AT + timedelta(days=30), end=AT + timedelta(days=31))


def said(subject: str, predicate: str, value: str, **more: Any) -> Statement:
    named = NamedEntity(subject, "person")
    return Statement(subject=named, predicate=predicate, value=value, sentence="", **more)


def want(subject: str, predicate: str, *objects: str, **more: Any) -> Wanted:
    return Wanted(subjects=(subject,), predicates=(predicate,), objects=objects, **more)


def sentence(*facts: Wanted, sort: str = "work") -> Sentence:
    return Sentence(id="s1", text="", speaker="Ana", at=AT, split="tuning", sort=sort, facts=facts)


def held(subject: str, predicate: str, object: str) -> Fact:
    return Fact(
        id="1",
        subject=subject,
        subject_id="2",
        predicate=predicate,
        object=object,
        text="",
        kind="fact",
        confidence=1.0,
        trust=1.0,
        standing=Standing.HOLDS,
        recorded_at=AT,
    )


@pytest.mark.parametrize(
    ("predicate", "given", "accepted", "same"),
    [
        ("likes", "The Old Café.", ["old cafe"], True),
        ("likes", "my garden", ["garden"], True),
        ("likes", "old books", ["books"], False),
        ("has", "cat", ["dog", "cat"], True),
        ("did", "ran the marathon in four hours", ["ran the marathon"], True),
        ("did", "ran", ["ran the marathon"], False),
        ("did", "overran the marathon", ["ran the marathon"], False),
        ("did", "slept", [""], False),
        ("works at", "", [""], True),
        ("did", "anything at all", ["*"], True),
    ],
)
def test_objects_are_compared_folded(
    predicate: str, given: str, accepted: list[str], same: bool
) -> None:
    assert same_object(predicate, given, accepted) is same


def test_subject_and_predicate_must_be_those() -> None:
    wanted = want("Ana", "lives in", "Porto")
    assert fits(wanted, said("ana", "lives in", "Porto"), AT)
    assert not fits(wanted, said("Bo", "lives in", "Porto"), AT)
    assert not fits(wanted, said("Ana", "born in", "Porto"), AT)


def test_mirrored_predicates_fit_from_both_ends() -> None:
    assert fits(want("Ana", "married to", "Bo"), said("Bo", "married to", "Ana"), AT)
    assert not fits(want("Ana", "sister", "Bo"), said("Bo", "sister", "Ana"), AT)


def test_what_is_over_must_be_said_to_be_over() -> None:
    over, current = want("Ana", "works at", "Acme", ended=""), want("Ana", "works at", "Acme")
    left = said("Ana", "works at", "Acme", ended=PAST)
    assert fits(over, left, AT)
    assert not fits(current, left, AT)
    assert not fits(over, said("Ana", "works at", "Acme"), AT)
    assert fits(current, said("Ana", "works at", "Acme", ended=LATER), AT)
    assert fits(want("Ana", "did", "left"), said("Ana", "did", "left", ended=PAST), AT)


def test_times_are_checked_by_their_beginning() -> None:
    given = said("Ana", "works at", "Acme", began=PAST)
    assert times_fit(want("Ana", "works at", "Acme", began="2025-02"), given, AT) is True
    assert times_fit(want("Ana", "works at", "Acme", began="2024"), given, AT) is False
    assert times_fit(want("Ana", "works at", "Acme", ended="2025"), given, AT) is False
    assert times_fit(want("Ana", "works at", "Acme", ended=""), given, AT) is None


def test_found_missed_wrong_and_neither() -> None:
    one = sentence(
        want("Ana", "has pet", "Rex", "dog"),
        want("Ana", "lives in", "Porto", began="2025"),
        want("Ana", "works at", "Acme"),
        want("Ana", "did", "*", optional=True),
    )
    statements = (
        said("Ana", "has pet", "Rex"),
        said("Ana", "has pet", "dog"),
        said("Ana", "lives in", "Porto", began=PAST),
        said("Ana", "did", "moved"),
        said("Ana", "likes", "Porto"),
    )
    outcome = judge([one], lambda _: Reading(statements=statements))[0]
    assert outcome.found == 2
    assert [wanted.predicates for wanted in outcome.missed] == [("works at",)]
    assert [given.predicate for given in outcome.wrong] == ["likes"]
    assert (outcome.timed, outcome.times_right) == (1, 1)


def test_figures_are_over_all_facts_and_by_sort() -> None:
    good, bad = sentence(want("Ana", "age", "30")), sentence(sort="question")
    outcomes = judge([good, bad], lambda _: Reading(statements=(said("Ana", "age", "30"),)))
    figures = by_sort(outcomes)
    assert list(figures) == [IN_ALL, "question", "work"]
    assert (figures[IN_ALL].precision, figures[IN_ALL].recall) == (0.5, 1.0)
    assert figures[IN_ALL].f1 == pytest.approx(0.6667)
    assert (figures["question"].precision, figures["question"].facts) == (0.0, 0)
    assert score(judge([good], lambda _: Reading())).recall == 0.0


def test_an_answer_holds_nothing_beside_what_there_is_one_of() -> None:
    lives = Expected(subject="Ana", predicates=("lives in",), objects=("Porto",))
    likes = Expected(subject="Ana", predicates=("likes",), objects=("tea",))
    porto, faro = held("Ana", "lives in", "Porto"), held("Ana", "lives in", "Faro")
    assert answers(lives, [porto, held("Ana", "likes", "tea")])
    assert not answers(lives, [porto, faro])
    assert not answers(lives, [faro])
    assert not answers(lives, [])
    assert answers(likes, [held("Ana", "likes", "tea"), held("Ana", "likes", "figs")])


def test_nothing_expected_means_that_nothing_holds() -> None:
    none = Expected(subject="Ana", predicates=("dating",), objects=())
    assert answers(none, [held("Ana", "lives in", "Porto")])
    assert not answers(none, [held("Ana", "dating", "Bo")])


def test_a_mirrored_fact_answers_from_the_other_end() -> None:
    wed = Expected(subject="Ana", predicates=("married to",), objects=("Bo",))
    assert answers(wed, [held("Bo", "married to", "Ana")])
    assert not answers(wed, [held("Bo", "married to", "Cy")])


def test_what_others_have_is_no_answer() -> None:
    lives = Expected(subject="Ana", predicates=("lives in",), objects=("Porto",))
    sister = Expected(subject="Bo", predicates=("sister",), objects=())
    assert not answers(lives, [held("Bo", "lives in", "Porto")])
    assert answers(lives, [held("Ana", "lives in", "Porto"), held("Bo", "lives in", "Faro")])
    assert answers(sister, [held("Ana", "sister", "Bo")])


def test_the_packaged_sets_are_whole() -> None:
    judged = load_judged()
    ids = [one.id for one in judged.sentences] + [one.id for one in judged.scenarios]
    assert len(set(ids)) == len(ids)
    assert len(judged.sentences) >= 180
    assert len(judged.scenarios) >= 60
    assert all(3 <= len(one.statements) <= 8 for one in judged.scenarios)
    wanted = [fact for one in judged.sentences for fact in one.facts]
    asked = [one for s in judged.scenarios for one in (*s.now, *s.past, *s.untouched)]
    names = {name for one in wanted for name in one.predicates}
    names |= {name for one in asked for name in one.predicates}
    assert {n for n in names if not n.startswith(("favourite ", "favorite "))} <= set(PREDICATES)
    assert all(one.optional for one in wanted if "*" in one.objects)
    assert all(one.at.tzinfo for one in judged.sentences)


def test_sentences_and_scenarios_are_told_apart(tmp_path: Path) -> None:
    row = {
        "id": "a",
        "text": "Hi",
        "speaker": "Ana",
        "at": AT.isoformat(),
        "split": "own",
        "sort": "other",
        "facts": [],
    }
    (tmp_path / "mine.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert [one.split for one in load_judged(tmp_path).sentences] == ["own"]
    assert load_judged(tmp_path / "mine.jsonl").scenarios == ()


@pytest.mark.parametrize("content", ["{", "[]", '{"id": 1}'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "mine.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 1"):
        load_judged(tmp_path / "mine.jsonl")


def test_a_folder_without_sets_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none.jsonl"):
        with pytest.raises(InvalidInput, match="no fact sets"):
            load_judged(place)

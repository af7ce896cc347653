"""What an operation takes and gives survives the way through JSON unchanged."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from remanence.api.answers import SearchResult
from remanence.api.values import Misfit, plain, read
from remanence.api.verb import AnyVerb
from remanence.api.verbs.table import VERBS, verb_of
from remanence.model.hit import Hit
from remanence.model.sleep import Step
from support.instances import instances

Get, Search, Add, AddMany, Set = (
    verb_of(name).request for name in ("get", "search", "add", "add_many", "working.set")
)
SOME = settings(max_examples=10, suppress_health_check=list(HealthCheck), deadline=None)


def there_and_back(kind: type) -> None:
    @SOME
    @given(instances(kind))
    def check(value: Any) -> None:
        data = json.loads(json.dumps(plain(value), allow_nan=False))
        assert read(kind, data) == value

    check()


@pytest.mark.parametrize("operation", VERBS, ids=lambda one: one.name)
def test_a_request_survives(operation: AnyVerb) -> None:
    there_and_back(operation.request)


@pytest.mark.slow
@pytest.mark.parametrize("operation", VERBS, ids=lambda one: one.name)
def test_an_answer_survives(operation: AnyVerb) -> None:
    there_and_back(operation.response)


@pytest.mark.parametrize(
    ("kind", "data", "told"),
    [
        (Get, {}, "id is missing."),
        (Get, {"id": 5}, "id must be text."),
        (Get, {"id": "a", "ids": "b"}, "ids is unknown; there are id."),
        (Get, [], "The value must be an object."),
        (Get, None, "The value must be an object."),
        (Add, {"text": "a", "pinned": 1}, "pinned must be true or false."),
        (Add, {"text": "a", "trust": True}, "trust must be a number."),
        (Add, {"text": "a", "trust": None}, "trust must be a number."),
        (Add, {"text": "a", "importance": "0.5"}, "importance must be a number."),
        (Add, {"text": "a", "metadata": []}, "metadata must be an object."),
        (Add, {"text": "a", "happened_at": "May"}, "happened_at must be a time such as"),
        (Add, {"text": "a", "happened_at": "2026-05-01T09:30:00"}, "happened_at lacks a time zone"),
        (Search, {"query": "a", "limit": 2.5}, "limit must be a whole number."),
        (Search, {"query": "a", "limit": 1e30}, "limit is larger than JSON's numbers are exact."),
        (Search, {"query": "a", "limit": 2**53}, "limit is larger than JSON's numbers are exact."),
        (Search, {"query": "a", "kinds": "message"}, "kinds must be a list."),
        (Search, {"query": "a", "kinds": ["message", 1]}, r"kinds\[1\] must be text."),
        (AddMany, {"memories": [{"text": "a"}, "b"]}, r"memories\[1\] must be an object."),
        (Step, "dream", "The value must be one of"),
        (Step, 3, "The value must be one of"),
    ],
    ids=str,
)
def test_other_shapes_are_refused_by_name(kind: type, data: Any, told: str) -> None:
    with pytest.raises(Misfit, match=told):
        read(kind, data)


def test_what_is_left_out_has_its_default() -> None:
    assert read(Search, {"query": "a"}) == Search(query="a")


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert read(Search, {"query": "a", "limit": 3.0}).limit == 3


def test_a_value_that_is_kept_stays_as_it_is() -> None:
    for value in (2**63 - 1, 3.0, True, [2**60, 1.0], {"a": [1, 2.0]}):
        kept = read(Set, {"key": "k", "session_id": "s", "value": value}).value
        assert repr(kept) == repr(value)


def test_times_of_any_zone_are_the_same_moment() -> None:
    given = {"text": "a", "happened_at": "2026-05-01T11:30:00+02:00"}
    found = read(Add, given).happened_at
    assert found == datetime.fromisoformat("2026-05-01T09:30:00Z")


def test_what_is_computed_may_stand_in_an_answer() -> None:
    @SOME
    @given(instances(Hit))
    def check(hit: Hit) -> None:
        data = plain(hit)
        assert isinstance(data, dict)
        assert data["relevance"] == hit.relevance
        assert read(Hit, data) == hit
        assert read(Hit, {n: v for n, v in data.items() if n != "relevance"}) == hit

    check()


def test_a_misfit_deep_inside_is_named() -> None:
    hit = {"memory": 3, "score": 1, "signals": {}, "passage": ""}
    with pytest.raises(Misfit, match=r"hits\[0\]\.memory must be an object"):
        read(SearchResult, {"hits": [hit], "understood": {}, "degraded": []})

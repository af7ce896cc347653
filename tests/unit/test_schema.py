"""What operations take and give is as their schemas say; what they refuse is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from remanence.api.schema import Schema, Schemas
from remanence.api.values import Misfit, plain, read
from remanence.api.verb import AnyVerb
from remanence.api.verbs.table import VERBS, verb_of
from support.instances import JSON, instances

SOME = settings(max_examples=10, suppress_health_check=list(HealthCheck), deadline=None)


def validator(schemas: Schemas, schema: Schema) -> Draft202012Validator:
    whole = {"components": {"schemas": schemas.components}, **schema}
    Draft202012Validator.check_schema(whole)
    return Draft202012Validator(whole)


def of_request(kind: type) -> Draft202012Validator:
    schemas = Schemas()
    return validator(schemas, schemas.request(kind))


def of_answer(kind: type) -> Draft202012Validator:
    schemas = Schemas()
    return validator(schemas, schemas.of(kind))


@pytest.mark.parametrize("operation", VERBS, ids=lambda one: one.name)
def test_every_request_is_valid(operation: AnyVerb) -> None:
    valid = of_request(operation.request)

    @SOME
    @given(instances(operation.request))
    def check(request: Any) -> None:
        valid.validate(json.loads(json.dumps(plain(request))))

    check()


@pytest.mark.slow
@pytest.mark.parametrize("operation", VERBS, ids=lambda one: one.name)
def test_every_answer_is_valid(operation: AnyVerb) -> None:
    valid = of_answer(operation.response)

    @SOME
    @given(instances(operation.response))
    def check(answer: Any) -> None:
        valid.validate(json.loads(json.dumps(plain(answer))))

    check()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["add", "find", "search", "working.set", "sleep.run", "facts.add"])
def test_what_cannot_be_read_is_not_valid(name: str) -> None:
    """Whatever stands in place of a field: the schema takes nothing that reading refuses."""
    request = verb_of(name).request
    valid = of_request(request)

    @settings(max_examples=50, suppress_health_check=list(HealthCheck), deadline=None)
    @given(instances(request), JSON)
    def check(one: Any, other: Any) -> None:
        whole = plain(one)
        assert isinstance(whole, dict)
        for field in whole:
            changed = {**whole, field: other}
            try:
                read(request, changed)
            except Misfit:
                if not _is_time(other):
                    assert not valid.is_valid(changed), (field, other)

    check()


def _is_time(value: Any) -> bool:
    """Whether only the format tells that a text is none; a format is a note, not a rule."""
    return isinstance(value, str)


def test_an_unknown_field_is_not_valid() -> None:
    assert not of_request(verb_of("find").request).is_valid({"colour": "blue"})


def test_bounds_are_told() -> None:
    valid = of_request(verb_of("search").request)
    assert valid.is_valid({"query": "a", "limit": 1})
    for wrong in ({"limit": 0}, {"limit": 10_001}, {"min_trust": 2}, {"query": ""}):
        assert not valid.is_valid({"query": "a", **wrong}), wrong


def test_the_limit_of_a_block_is_not_that_of_a_list() -> None:
    valid = of_request(verb_of("blocks.create").request)
    assert valid.is_valid({"label": "human", "limit": 1_000_000})
    assert not valid.is_valid({"label": "human", "limit": 1_000_001})


def test_every_type_in_a_document_has_a_name_of_its_own() -> None:
    schemas = Schemas()
    for each in VERBS:
        schemas.of(each.response)
    assert [name for name in schemas.components if name[-1].isdigit()] == []

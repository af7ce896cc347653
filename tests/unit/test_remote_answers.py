"""What a client makes of an answer is what the verb gives: the inverse of each operation's wrap."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import GenericAlias
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, assume, given, settings

from remanence.client.answers import INSTEAD, UNWRAP, unwrapped
from remanence.client.remote import SHORT, reachable
from remanence.operations.operation import Operation
from remanence.operations.remembering import Forget
from remanence.operations.responses import Forgotten
from remanence.operations.routes import LOCAL, routes
from remanence.operations.table import LEFT_OUT
from remanence.testing.instances import instances

OPERATIONS = [route.operation for route in routes()]
SOME = settings(max_examples=5, suppress_health_check=list(HealthCheck), deadline=None)
# Answers that tell less, or in other words, than the verb's own value.
SHORTENED = {"facts.extract", "sleep.plan", "sleep.show"}


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of the type that an annotation names."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in args)
    if origin is tuple:
        return isinstance(value, tuple) and all(fits(one, args[0]) for one in value)
    if origin in (list, Sequence):
        return isinstance(value, origin) and all(fits(one, args[0]) for one in value)
    if origin in (dict, Mapping):
        return isinstance(value, origin) and all(fits(one, args[1]) for one in value.values())
    return type(value) is kind


class Stand:
    """A memory, or a layer of one, whose only verb gives the value that is wanted."""

    def __init__(self, name: str, value: Any) -> None:
        layer, _, verb = name.rpartition(".")
        target = self if not layer else type("Layer", (), {})()
        if layer:
            setattr(self, layer, target)
        setattr(target, verb, lambda *args, **named: value)


def test_every_answer_is_a_verbs_own_or_has_an_inverse() -> None:
    verbs = reachable()
    for operation in OPERATIONS:
        own = get_type_hints(verbs[operation.name])["return"]
        assert operation.response is own or operation.response in UNWRAP, operation.name


def test_no_inverse_is_left_over() -> None:
    assert set(UNWRAP) <= {operation.response for operation in OPERATIONS}
    assert set(INSTEAD) <= {operation.name for operation in OPERATIONS}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_what_comes_back_is_what_the_verb_is_annotated_with(operation: Operation) -> None:
    verb = reachable()[operation.name]
    wanted: Any = get_type_hints(verb)["return"]
    if operation.name in INSTEAD:
        wanted = GenericAlias(list, (INSTEAD[operation.name],))

    @SOME
    @given(instances(operation.response))
    def check(answer: Any) -> None:
        assert fits(unwrapped(verb, answer), wanted)

    check()


@pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if one.name not in SHORTENED],
    ids=lambda one: one.name,
)
def test_unwrapping_is_the_inverse_of_wrapping(operation: Operation) -> None:
    """An operation that gets from its verb what was unwrapped gives the answer once more."""
    verb = reachable()[operation.name]

    @SOME
    @given(instances(operation.request), instances(operation.response))
    def check(request: Any, answer: Any) -> None:
        assume(getattr(request, "receipt", True))
        answer = consistent(request, answer)
        value = unwrapped(verb, answer)
        stand: Any = Stand(operation.name, value)
        assert operation.perform(stand, request) == answer

    check()


def consistent(request: Any, answer: Any) -> Any:
    """The answer with what an operation puts into it out of the request itself."""
    match answer:
        case Forgotten() if isinstance(request, Forget):
            ids = tuple(one.id for one in answer.memories)
            return replace(answer, dry_run=request.dry_run, erased=request.erase, ids=ids)
    kind = type(answer).__name__
    if kind == "Noted":
        return replace(answer, id=request.id, useful=request.useful)
    if kind == "Examination":
        return replace(answer, healthy=all(f.problems <= f.repaired for f in answer.findings))
    if kind == "Done" and hasattr(answer, "done"):
        return replace(answer, done=True)
    return answer


def test_every_verb_is_there_or_left_out_on_purpose() -> None:
    known = {operation.name for operation in OPERATIONS} | set(LOCAL) | set(SHORT)
    assert set(reachable()) == known
    assert set(SHORT) <= set(LEFT_OUT)

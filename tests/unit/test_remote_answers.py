"""What a client makes of an answer is what the verb gives: the inverse of each operation's wrap."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Union, get_args, get_origin

import pytest
from hypothesis import HealthCheck, assume, given, settings

from remanence.api.answers import ForgetResult, Wrapped
from remanence.api.verb import AnyVerb, Layer, Sync
from remanence.api.verbs.sleep import StepPlan
from remanence.api.verbs.table import served
from support.instances import instances

OPERATIONS = served()
SOME = settings(max_examples=5, suppress_health_check=list(HealthCheck), deadline=None)
# Answers that tell less, or in other words, than the verb's own value.
SHORTENED = {"sleep.plan", "sleep.show", "erasures.verify"}
# Verbs that give something else from afar than at home.
INSTEAD = {"sleep.plan": list[StepPlan]}


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


class Stand(Layer[Sync]):
    """A memory, or a layer of one, whose only verb gives the value that is wanted."""

    def __init__(self, verb: AnyVerb, value: Any) -> None:
        service = type("Service", (), {verb.verb: lambda self, *args, **named: value})()
        super().__init__(lambda: service)
        if verb.layer:
            setattr(self, verb.layer, self)


def taken(verb: AnyVerb, answer: Any) -> Any:
    if verb.signature.return_annotation is type(None):
        return None
    return answer.taken() if isinstance(answer, Wrapped) else answer


def test_every_answer_is_a_verbs_own_or_wraps_it() -> None:
    for each in OPERATIONS:
        own = each.signature.return_annotation
        assert each.response is own or issubclass(each.response, Wrapped), each.name


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_what_comes_back_is_what_the_verb_is_annotated_with(operation: AnyVerb) -> None:
    wanted: Any = INSTEAD.get(operation.name, operation.signature.return_annotation)

    @SOME
    @given(instances(operation.response))
    def check(answer: Any) -> None:
        assert fits(taken(operation, answer), wanted)

    check()


@pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if one.name not in SHORTENED],
    ids=lambda one: one.name,
)
def test_unwrapping_is_the_inverse_of_wrapping(operation: AnyVerb) -> None:
    """An operation that gets from its verb what was unwrapped gives the answer once more."""

    @SOME
    @given(instances(operation.request), instances(operation.response))
    def check(request: Any, answer: Any) -> None:
        assume(getattr(request, "receipt", True))
        answer = consistent(request, answer)
        stand: Any = Stand(operation, taken(operation, answer))
        assert operation.perform(stand, request) == answer

    check()


def consistent(request: Any, answer: Any) -> Any:
    """The answer with what an operation puts into it out of the request itself."""
    match answer:
        case ForgetResult():
            ids = tuple(one.id for one in answer.memories)
            return replace(answer, dry_run=request.dry_run, erased=request.erase, ids=ids)
    kind = type(answer).__name__
    if kind == "FeedbackGiven":
        return replace(answer, id=request.id, useful=request.useful)
    if kind == "Examination":
        return replace(answer, healthy=all(f.problems <= f.repaired for f in answer.findings))
    if kind == "Acknowledgement" and hasattr(answer, "done"):
        return replace(answer, done=True)
    return answer

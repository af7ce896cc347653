"""What operations say of their answers and of what they destroy, against the types themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, make_dataclass
from datetime import date, datetime
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from remanence.api.verb import AnyVerb, Grant, Holds, always, never
from remanence.api.verbs.table import VERBS, verb_of
from remanence.model.erasure import BlockReturn, Erasure, ErasureRequest, KeptChange, PurgeResult
from remanence.model.graph import Node
from remanence.model.knowledge import Mention
from remanence.model.learning import AdapterVersion
from remanence.model.scope import Reach
from remanence.model.sleep import Run
from remanence.model.stats import Finding, Stats

# Types whose words are the program's own: they name parts, reasons and ids, and quote no memory.
OWN_WORDS: frozenset[type] = frozenset(
    {
        AdapterVersion,
        ErasureRequest,
        BlockReturn,
        Erasure,
        Finding,
        KeptChange,
        Mention,
        PurgeResult,
        Run,
        Stats,
    }
)
# … as do these, which have no place in the model.
OWN_WORDS_BY_NAME = frozenset(
    {"Adapters", "Copied", "LearnStatus", "Picture", "Taught", "TrainingResult"}
)
IDS = frozenset({"id", "ids", "tenant", "user_id", "agent_id", "session_id"})
FIGURES = (int, float, bool, bytes, datetime, date, type(None))


def contents(kind: Any, name: str = "", within: tuple[type, ...] = ()) -> Iterator[str]:
    """The fields in which a type can hold what somebody stored."""
    if is_dataclass(kind) and isinstance(kind, type):
        if kind in within or kind in OWN_WORDS or kind.__name__ in OWN_WORDS_BY_NAME:
            return
        hints = get_type_hints(kind)
        for each in fields(kind):
            yield from contents(hints[each.name], f"{kind.__name__}.{each.name}", (*within, kind))
        return
    origin, inside = get_origin(kind), [one for one in get_args(kind) if one is not Ellipsis]
    if origin in (Union, UnionType, tuple, list, frozenset, Sequence):
        for one in inside:
            yield from contents(one, name, within)
        return
    if origin in (Mapping, dict):
        if inside[1] not in (int, float):
            yield name
        return
    plain = isinstance(kind, type) and issubclass(kind, (*FIGURES, Enum))
    if not plain and name.rpartition(".")[2] not in IDS:
        yield name


def disagreement(each: AnyVerb) -> str:
    """What is wrong with a declaration; empty if nothing is."""
    found = list(dict.fromkeys(contents(each.response)))
    if found and each.holds is Holds.FIGURES:
        return f"{each.name} says its answer holds figures, and {', '.join(found)} can hold more"
    if not found and each.holds is not Holds.FIGURES:
        return f"{each.name} says its answer is {each.holds}, and it can hold figures only"
    return ""


@pytest.mark.parametrize("each", VERBS, ids=lambda each: each.name)
def test_an_answer_is_what_its_operation_says(each: AnyVerb) -> None:
    assert not disagreement(each)
    assert each.writes or each.holds is not Holds.WRITTEN, "what writes nothing wrote nothing"


@dataclass(frozen=True)
class Quiet:
    """Nothing but figures."""

    id: str
    counts: Mapping[str, int]
    step: Grant
    at: datetime | None


@pytest.mark.parametrize(
    ("response", "answers"),
    [
        (Quiet, Holds.STORED),
        (Quiet, Holds.WRITTEN),
        (Node, Holds.FIGURES),
        (make_dataclass("Loud", [("note", str | None)]), Holds.FIGURES),
        (make_dataclass("Deep", [("all", tuple[Mapping[str, tuple[Node, ...]], ...])]), "figures"),
        (make_dataclass("Odd", [("value", Any)]), Holds.FIGURES),
    ],
)
def test_a_declaration_that_is_wrong_is_noticed(response: type, answers: Holds) -> None:
    wrong = copy(verb_of("add"))
    wrong.response, wrong.holds = response, Holds(answers)
    assert disagreement(wrong)


def test_a_scope_is_no_content() -> None:
    assert not list(contents(Reach))
    assert list(contents(Node))


@pytest.mark.parametrize("each", VERBS, ids=lambda each: each.name)
def test_what_a_caller_needs_follows_from_it(each: AnyVerb) -> None:
    wanted = each.needs
    if Grant.ADMIN in wanted:
        assert wanted == {Grant.ADMIN}
        return
    assert (Grant.WRITE in wanted) == each.writes
    told = each.holds is Holds.STORED and each.bare is None
    assert (Grant.READ in wanted) == (told or not each.writes)
    assert (Grant.ERASE in wanted) == (each.erases is always)


def test_what_erases_says_so() -> None:
    """A request with a field `erase`, a verb of that name: it is declared what they destroy."""
    for each in VERBS:
        names = {one.name for one in fields(each.request)}
        if "erase" in names or each.verb in ("erase", "clear"):
            assert each.erases is not never, each.name
        if not each.writes:
            assert each.erases is never, each.name

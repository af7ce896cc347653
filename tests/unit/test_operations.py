"""The table of operations: complete, equal to the memory's own verbs, and documented."""

from __future__ import annotations

import inspect
import json
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from remanence.aio import verbs
from remanence.model.hit import Hit
from remanence.model.memory import Kind, MemoryRecord
from remanence.operations.operation import Operation, Scoping, flags
from remanence.operations.reference import reference
from remanence.operations.rendering import dumped, plain
from remanence.operations.table import LEFT_OUT, OPERATIONS, operation
from remanence.remember.draft import CHANGEABLE

ROOT = Path(__file__).parents[2]
IDS = {"id", "a", "b"}
# Arguments that are not part of a request: the callback, and values only Python has.
APART = {"self", "progress", "hit_or_id", "default", "tokens", "policy", "schedule"}

every_operation = pytest.mark.parametrize("each", OPERATIONS, ids=lambda each: each.name)


def test_every_verb_is_an_operation_or_left_out_for_a_reason() -> None:
    named = [each.name for each in OPERATIONS]
    assert len(named) == len(set(named))
    assert set(named) | set(LEFT_OUT) == set(verbs())
    assert not set(named) & set(LEFT_OUT)
    assert all(LEFT_OUT.values())


def test_no_two_operations_share_a_command() -> None:
    commands = [each.spelled for each in OPERATIONS]
    assert len(commands) == len(set(commands))


@every_operation
def test_every_operation_declares_what_it_can_reach(each: Operation) -> None:
    names = {field.name for field in fields(each.request)}
    match each.scope:
        case Scoping.SCOPED:
            assert "user_id" in names
        case Scoping.BY_ID:
            assert names & IDS
        case Scoping.TENANT | Scoping.STORE:
            assert not names & (IDS | {"user_id"})
    assert "tenant" not in names


@every_operation
def test_a_request_has_the_arguments_of_its_verb(each: Operation) -> None:
    wanted = _arguments(each.name)
    asked = {field.name: field for field in fields(each.request)}
    assert asked.keys() - {"id"} == wanted.keys() - {"id"}
    for name, default in wanted.items():
        assert _default(asked[name].default) == _default(default), name


@every_operation
def test_every_field_says_what_it_is(each: Operation) -> None:
    spelled = [flag for field in fields(each.request) for flag in flags(field)]
    assert len(spelled) == len(set(spelled))
    assert all(field.metadata["help"] for field in fields(each.request))
    assert each.summary.endswith(".")


@every_operation
def test_the_listing_is_a_field_of_the_answer(each: Operation) -> None:
    if each.listing:
        assert each.listing in {field.name for field in fields(each.response)}
    if each.destructive:
        names = {field.name for field in fields(each.request)}
        assert names & {"dry_run", "erase"} or each.verb == "erase"


def test_the_reference_is_up_to_date() -> None:
    written = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert written == reference(), "run `make docs`"


def test_json_has_times_with_zones_enums_as_text_and_exact_numbers() -> None:
    at = datetime(2026, 5, 1, tzinfo=UTC)
    there = at.astimezone(timezone(timedelta(hours=2)))
    record = MemoryRecord(
        id="x", text="ü", tenant="t", happened_at=at, created_at=there, updated_at=at, trust=1 / 3
    )
    hit = Hit(memory=record, score=0.1 + 0.2, signals={"words": 0.1 + 0.2}, passage="ü")
    told = json.loads(dumped(hit))
    assert told["memory"]["happened_at"] == "2026-05-01T00:00:00Z"
    assert told["memory"]["created_at"] == "2026-05-01T02:00:00+02:00"
    assert told["memory"]["kind"] == Kind.EPISODIC.value
    assert told["memory"]["trust"] == 1 / 3
    assert told["score"] == told["signals"]["words"] == 0.1 + 0.2
    assert told["relevance"] == hit.relevance


def test_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(TypeError):
        plain(object())


def test_operations_are_found_by_name() -> None:
    assert operation("find").spelled == "list"
    assert operation("blocks.history").spelled == "blocks log"
    assert operation("sessions.create").spelled == "session create"


def _arguments(verb: str) -> dict[str, object]:
    """The arguments of a verb with their defaults; `**` spelled out."""
    parameters = dict(inspect.signature(verbs()[verb]).parameters)
    found = {n: p.default for n, p in parameters.items() if p.kind is not p.VAR_KEYWORD}
    if verb == "update":
        found |= dict.fromkeys(CHANGEABLE)
    if verb == "why_not":
        found |= _arguments("search")
    return {name: default for name, default in found.items() if name not in APART}


def _default(value: object) -> object:
    if value in (MISSING, inspect.Parameter.empty):
        return "required"
    return None if value == () else value

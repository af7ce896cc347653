"""The verbs: declared once, equal to what does the work, and documented."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.api.service import MemoryService
from remanence.api.values import dumped, plain
from remanence.api.verb import AnyVerb, Scoping
from remanence.api.verbs.table import VERBS, verb_of
from remanence.context.contexts import Contexts
from remanence.memories.draft import CHANGEABLE
from remanence.model.hit import Hit
from remanence.model.memory import Kind, MemoryRecord
from support.working import WORKING

IDS = {"id", "a", "b"}
# What a layer or a memory does for others of its own, and what whoever opened it does.
INSIDE = {
    *(
        "close",
        "for_tenant",
        "restore",
        "runner",
        "sleep_by_itself",
        "write_uses",
        "learn.trained",
        "learn.trim",
    ),
    *("learn.unlearn", "tuning.unlearn", "sessions.push", "sessions.renew", "sessions.drop"),
}

# What takes what a method only hands on.
HANDED_ON = {
    "find": MemoryService._chosen,
    "count": MemoryService._chosen,
    "context": Contexts.context,
    "why_not": MemoryService.search,
}

every_operation = pytest.mark.parametrize("each", VERBS, ids=lambda each: each.name)


def test_every_public_function_of_a_service_is_a_verb_or_for_the_inside() -> None:
    named = [each.name for each in VERBS]
    assert len(named) == len(set(named))
    there = {
        f"{layer}.{name}".removeprefix(".")
        for layer, kind in WORKING.items()
        for name, found in inspect.getmembers(kind, callable)
        if not name.startswith("_") and name != "__class__"
    }
    assert there == set(named) | INSIDE


def test_no_two_operations_share_a_command() -> None:
    commands = [each.spelled for each in VERBS]
    assert len(commands) == len(set(commands))


@every_operation
def test_every_operation_declares_what_it_can_reach(each: AnyVerb) -> None:
    names = {field.name for field in fields(each.request)}
    match each.scope:
        case Scoping.SCOPED:
            assert "user_id" in names
        case Scoping.BY_ID:
            assert names & IDS
        case Scoping.TENANT | Scoping.STORE:
            assert not names & (IDS | {"user_id"})
    assert "tenant" not in names


def hints_of(method: Callable[..., Any]) -> dict[str, Any]:
    """Its types; of one that fills in some of another's arguments, those of the other."""
    filled_in = getattr(method, "__partialmethod__", getattr(method, "_partialmethod", None))
    return typing.get_type_hints(filled_in.func if filled_in else method)


def taken_by(method: Callable[..., Any] | None) -> dict[str, tuple[Any, Any, Any]]:
    """The parameters of a method, and what its keywords are together, where they are typed so."""
    if method is None:
        return {}
    found: dict[str, tuple[Any, Any, Any]] = {}
    hints = hints_of(method)
    for name, one in inspect.signature(method).parameters.items():
        if one.kind is not one.VAR_KEYWORD:
            found[name] = (one.kind, one.default, hints.get(name))
        for together in typing.get_args(hints.get(name)) if one.kind is one.VAR_KEYWORD else ():
            each = typing.get_type_hints(together).items()
            left_out = {bool: False}  # anything else that is left out is None
            found |= {n: (one.KEYWORD_ONLY, left_out.get(hint), hint) for n, hint in each}
    del found["self"]
    return found


@every_operation
def test_a_verb_takes_and_gives_what_its_service_does(each: AnyVerb) -> None:
    service = getattr(WORKING[each.layer], each.verb)
    wanted = taken_by(HANDED_ON.get(each.name)) | taken_by(service)
    declared = {
        name: (one.kind, one.default, getattr(one.annotation, "__origin__", one.annotation))
        for name, one in each.signature.parameters.items()
    }
    if each.name == "update":  # `CHANGEABLE` says what else it takes
        declared = {name: declared[name] for name in wanted}
    assert declared == wanted
    in_order = [name for name, (kind, *_) in wanted.items() if kind is not kind.KEYWORD_ONLY]
    assert in_order == list(declared)[: len(in_order)]
    assert each.signature.return_annotation == hints_of(service)["return"]


def test_a_word_that_no_verb_takes_is_refused(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory, pytest.raises(TypeError, match="'usr_id'"):
        memory.blocks.get("human", usr_id="alice")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda memory: memory.add(), "Memory.add() missing a required argument: 'text'"),
        (lambda memory: memory.add("a", "b"), "Memory.add() too many positional arguments"),
        (lambda memory: memory.blocks.get(), "Memory.blocks.get() missing a required argument"),
        (lambda memory: memory.update("a", word=1), "Memory.update() got an unexpected keyword"),
    ],
)
def test_a_wrong_call_names_the_verb_as_callers_know_it(call: Any, told: str) -> None:
    with Memory(":memory:") as memory, pytest.raises(TypeError, match=f"^{re.escape(told)}"):
        call(memory)


def test_a_change_can_name_every_field_that_changes() -> None:
    assert {one.own for one in verb_of("update").parameters} > CHANGEABLE
    search = verb_of("search").signature.parameters
    assert search.items() <= verb_of("why_not").signature.parameters.items()


@every_operation
def test_every_field_says_what_it_is(each: AnyVerb) -> None:
    spelled = [flag for one in each.parameters for flag in one.flags]
    assert len(spelled) == len(set(spelled))
    assert all(one.says.help for one in each.parameters)
    assert each.summary.endswith(".")


@every_operation
def test_the_listing_is_a_field_of_the_answer(each: AnyVerb) -> None:
    if each.listing:
        assert each.listing in {field.name for field in fields(each.response)}
    if each.destructive:
        names = {field.name for field in fields(each.request)}
        assert names & {"dry_run", "erase"} or each.verb == "erase"


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
    assert verb_of("find").spelled == "list"
    assert verb_of("blocks.history").spelled == "blocks log"
    assert verb_of("sessions.create").spelled == "session create"

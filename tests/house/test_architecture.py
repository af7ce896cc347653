"""The map and the decisions show the house as it is: rings, rooms, modules and functions."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from .imports import rooms_in
from .measures import PACKAGE, ROOT

MAKER: dict[str, Any] = run_path(str(ROOT / "tools" / "make_architecture.py"))
PAGE: str = MAKER["PAGE"].read_text("utf-8")
PAGES = [MAKER["PAGE"], *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
DRAWINGS = re.findall(r"^```mermaid\nsequenceDiagram\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
PARTICIPANT = re.compile(r"^ *participant (\w+) as (\S+)$", re.MULTILINE)
CALL = re.compile(r"^ *\w+->>(\w+): (\w+)\(", re.MULTILINE)


def sources(module: str) -> list[Path]:
    """The files of a module, or of a package and those in it; none if there is no such thing."""
    path = PACKAGE / module
    return sorted(path.rglob("*.py")) or [one for one in (path.with_suffix(".py"),) if one.exists()]


@cache
def functions(module: str) -> set[str]:
    """What a module or a package defines."""
    trees = (ast.parse(path.read_bytes()) for path in sources(module))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {one.name for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_the_page_is_as_it_would_be_made() -> None:
    assert MAKER["page"](PAGE) == PAGE, "run `make docs`"


@pytest.mark.parametrize("room", sorted(rooms_in(PACKAGE)))
def test_a_room_says_in_one_sentence_what_it_is_for(room: str) -> None:
    told: str = MAKER["purpose"](room)
    assert told.endswith("."), f"the first line of {room}'s docstring is printed in the map"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_module_that_is_named_is_there(page: Path) -> None:
    told, rooms = page.read_text("utf-8"), "|".join(rooms_in(PACKAGE))
    named = {*re.findall(rf"`((?:{rooms})/[\w/]+)`", told)}
    named |= {module for _, module in PARTICIPANT.findall(told)}
    assert [one for one in sorted(named) if not sources(one)] == []


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda drawing: CALL.findall(drawing)[-1][1])
def test_every_call_that_is_drawn_reaches_a_function(drawing: str) -> None:
    module = dict(PARTICIPANT.findall(drawing))
    calls = [(module[to], name) for to, name in CALL.findall(drawing)]
    assert len(calls) > 5
    assert [call for call in calls if call[1] not in functions(call[0])] == []


def test_four_paths_are_drawn() -> None:
    assert len(DRAWINGS) == 4

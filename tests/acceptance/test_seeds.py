"""The page for users of the five designs: its code runs, and it leaves none of them out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from remanence import Kind
from remanence.config import ENVIRONMENT_ALIASES
from remanence.model.validation import KNOWN_AS

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-the-seeds.md"
CHAPTERS = [
    "Episodic engine",
    "Async manager",
    "SQLite and FAISS",
    "Core, recall, archival",
    "Facts, chunks, sessions",
]


@pytest.fixture(scope="module")
def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_page_runs_as_written(
    run_page: Callable[..., str], postgres_url: str, valkey_url: str
) -> None:
    servers = {
        "postgresql://mira:secret@db/mira": postgres_url,
        "redis://cache:6379/0": valkey_url,
    }
    printed = run_page(PAGE, servers)
    assert re.search(r"^Score: \d+\.\d{3} - The user's favorite color is blue$", printed, re.M)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_design_has_a_chapter_with_a_table_and_code(text: str, chapter: str) -> None:
    body = text.split(f"\n## {chapter}\n")[1].split("\n## ")[0]
    assert "| there | here |" in body
    assert "```python" in body
    assert "assert " in body


def test_every_type_of_the_designs_is_mapped(text: str) -> None:
    table = text.split("## Their types, our kinds")[1].split("```")[0]
    seeds = {"short_term", "working", "long_term", "episodic", "semantic", "reflection"}
    for name in seeds | {"fact", "context", "preference"} | set(KNOWN_AS) | set(Kind):
        assert re.search(rf"\b{name}\b", table), name


def test_every_environment_name_is_mentioned(text: str) -> None:
    for name in ENVIRONMENT_ALIASES:
        assert f"`{name}`" in text, name


def test_links_inside_the_page_lead_somewhere(text: str) -> None:
    anchors = {
        re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) <= anchors

"""Each decision is in the index, says the same five things, and leads nowhere that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .measures import ROOT

FOLDER = ROOT / "docs" / "decisions"
INDEX = (FOLDER / "README.md").read_text("utf-8")
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
HEADINGS = ["Context", "Decision", "Consequences", "Measured", "What would change our mind"]
A_PAGE = 60  # lines


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
class TestRecord:
    def test_it_is_in_the_index_under_its_title(self, record: Path) -> None:
        title = record.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        assert f"| {int(record.stem[:2])} | [{title}]({record.name}) |" in INDEX

    def test_it_has_the_headings_with_something_below_each(self, record: Path) -> None:
        _, *parts = record.read_text("utf-8").split("\n## ")
        assert [part.partition("\n")[0] for part in parts] == HEADINGS
        assert all(part.partition("\n")[2].strip() for part in parts)

    def test_its_figures_come_with_a_page_or_a_command(self, record: Path) -> None:
        _, _, told = record.read_text("utf-8").partition("\n## Measured\n")
        figures = told.partition("\n## ")[0].split("\n- ")[1:]
        assert figures
        assert [each for each in figures if "](" not in each and "`" not in each] == []

    def test_it_is_one_page(self, record: Path) -> None:
        assert len(record.read_text("utf-8").splitlines()) <= A_PAGE

    def test_what_it_links_to_is_there(self, record: Path) -> None:
        links = re.findall(r"\]\(([^)#:]+)", record.read_text("utf-8"))
        assert [link for link in links if not (FOLDER / link).exists()] == []


def test_the_index_lists_no_others() -> None:
    listed = re.findall(r"\((\d\d-[\w-]+\.md)\)", INDEX)
    assert listed == [record.name for record in RECORDS]
    assert len(listed) >= 20

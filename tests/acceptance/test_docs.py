"""Every Python block of the README and of the documentation runs as it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "```python" in page.read_text(encoding="utf-8")
    and page.name not in ("coming-from-the-seeds.md", "scaling.md")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_runs_as_written(page: Path, run_page: Callable[[Path], str]) -> None:
    run_page(page)


def test_a_memory_on_a_server(run_page: Callable[..., str], postgres_url: str) -> None:
    written = "postgresql://remanence:secret@db/remanence"
    told = run_page(ROOT / "docs" / "scaling.md", {written: postgres_url})
    assert told == "Ana moved to Lisbon in March\n"

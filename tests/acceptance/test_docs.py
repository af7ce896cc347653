"""Every Python block of the README and of the documentation runs as it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "```python" in page.read_text(encoding="utf-8") and page.name != "coming-from-the-seeds.md"
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_runs_as_written(page: Path, run_page: Callable[[Path], str]) -> None:
    run_page(page)

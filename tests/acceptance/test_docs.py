"""Every Python block of the README and of the documentation runs as it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from remanence import Memory
from remanence.api.remote.message import KINDS
from remanence.api.verb import Grant
from remanence.server.problems import STATUSES
from remanence.testing.serving import serving

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "```python" in page.read_text(encoding="utf-8")
    and page.name not in ("coming-from-the-seeds.md", "scaling.md", "clients.md")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_runs_as_written(page: Path, run_page: Callable[[Path], str]) -> None:
    run_page(page)


def test_a_memory_on_a_server(run_page: Callable[..., str], postgres_url: str) -> None:
    written = "postgresql://remanence:secret@db/remanence"
    told = run_page(ROOT / "docs" / "scaling.md", {written: postgres_url})
    assert told == "Ana moved to Lisbon in March\n"


def test_a_client_of_a_server(run_page: Callable[..., str], tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory, serving(memory) as served:
        told = run_page(ROOT / "docs" / "clients.md", {"http://127.0.0.1:8005": served.url})
        assert memory.count(user_id="ana") == 3
    first, *_, last = told.splitlines()
    assert first == "Ana moved to Lisbon in March"
    assert "Ana plays the violin | Her name is Ana." in told
    assert last == "2 of 2"


def test_the_page_of_mcp_names_every_scope() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8").partition("## Safety")[2]
    assert all(f"`{grant}`" in page for grant in Grant)


def test_the_page_of_clients_names_every_error() -> None:
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    for status, kind in STATUSES.values():
        assert f"| {status} | `{kind}` | `{KINDS[kind].__name__}` |" in page

"""A memory here and on a server; and what runs the Python blocks of a page as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from remanence import Memory
from remanence.config import load_settings
from support.reaching import Reached

_FENCE = re.compile(r"^```python[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def _blocks(page: Path, addresses: Mapping[str, str]) -> list[str]:
    """Each block, moved down to its line in the page so that errors point there."""
    text = page.read_text(encoding="utf-8")
    for written, real in addresses.items():
        assert written in text
        text = text.replace(written, real)
    return [
        "\n" * text[: found.start(1)].count("\n") + found.group(1)
        for found in _FENCE.finditer(text)
    ]


RUN = """
import sys
from pathlib import Path
namespace = {"__name__": "__main__"}
for block in eval(Path(sys.argv[2]).read_text(encoding="utf-8")):
    exec(compile(block, sys.argv[1], "exec"), namespace)
"""


@pytest.fixture
def memory(tmp_path: Path, reached: Reached) -> Iterator[Memory]:
    """An empty memory in a file of its own: in this process, and on a server."""
    with Memory(tmp_path / "memory.db") as opened, reached(opened) as memory:
        yield memory


@pytest.fixture
def run_page(tmp_path: Path) -> Callable[..., str]:
    """What a page prints, run in one fresh process inside an empty folder.

    Servers that the page names stand for those of the test: `{address written: real address}`.
    """
    return lambda page, addresses=None: _run(page, tmp_path, addresses or {})


def _run(page: Path, folder: Path, addresses: Mapping[str, str]) -> str:
    work = folder / "work"
    work.mkdir()
    listing = folder / "blocks.txt"
    listing.write_text(repr(_blocks(page, addresses)), encoding="utf-8")
    command = [sys.executable, "-W", "error", "-c", RUN, str(page), str(listing)]
    done = subprocess.run(
        command, cwd=work, env=_environment(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{page.name} does not run as written:\n{done.stderr}"
    return done.stdout


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the machine's own settings but the model; memories go into the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REMANENCE_")}
    return kept | {
        "REMANENCE_DATABASE": str(folder / "memory.db"),
        "REMANENCE_CACHE": str(load_settings().cache_folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_DATA_HOME": str(folder / "data"),
        "PYTHONIOENCODING": "utf-8",
    }

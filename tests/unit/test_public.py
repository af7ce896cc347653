"""What the package promises by its names, and the files that are made from the code."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import remanence
from remanence import errors
from remanence.api.verbs.table import VERBS as DECLARED

ROOT = Path(__file__).parents[2]

# The contract: every name a caller may rely on.
VERBS = (
    *("add", "add_many", "add_messages", "associate", "backup", "cleanup", "close", "count"),
    *("dissociate", "doctor", "feedback", "find", "forget", "get", "history", "pin", "reembed"),
    *("related", "search", "similarity", "snapshot", "stats", "update", "why_not", "context"),
    *(f"blocks.{verb}" for verb in ("append", "replace", "insert", "rethink", "undo", "diff")),
    *(f"sessions.{verb}" for verb in ("create", "get", "update", "end", "active", "cleanup")),
    *(f"conversations.{verb}" for verb in ("append", "window", "search", "summarise", "summary")),
    *(f"working.{verb}" for verb in ("set", "get", "promote")),
    *(f"snapshots.{verb}" for verb in ("take", "list", "diff", "restore")),
)


def test_all_is_sorted_and_real() -> None:
    assert sorted(remanence.__all__) == remanence.__all__
    for name in remanence.__all__:
        assert getattr(remanence, name) is not None
    assert set(dir(remanence)) == set(remanence.__all__)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="Memoir"):
        remanence.Memoir  # noqa: B018


def test_what_type_checkers_see_is_what_is_there() -> None:
    source = inspect.getsource(remanence)
    for name in remanence.__all__:
        if name != "__version__":
            assert f" {name}\n" in source or f" {name}," in source


def test_the_verbs_of_the_contract_are_there_and_documented() -> None:
    assert set(VERBS) <= {each.name for each in DECLARED} | {"close", "snapshot"}
    for each in DECLARED:
        assert each.summary.endswith("."), each.name


def test_every_public_value_is_frozen() -> None:
    for name in ("Association", "Hit", "MemoryRecord", "Related", "Revision", "Stats", "WhyNot"):
        assert getattr(remanence, name).__dataclass_params__.frozen


def test_every_error_has_one_root_and_says_what_it_means() -> None:
    found = [e for _, e in inspect.getmembers(errors, inspect.isclass)]
    for error in found:
        assert issubclass(error, remanence.RemanenceError)
        assert error.__doc__
        assert error.__name__ in (errors.__doc__ or "")


def test_importing_costs_nothing() -> None:
    code = "import sys, remanence; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "apsw", "onnxruntime", "httpx", "asyncio", "typer"} & set(loaded)


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date() -> None:
    wanted = _tool("make_reference").page()
    assert (ROOT / "docs/reference.md").read_text(encoding="utf-8") == wanted, "run `make docs`"


@pytest.mark.slow
def test_files_made_from_the_code_do_not_lag() -> None:
    written = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert _tool("make_commands").page(written) == written, "run `make docs`"
    wanted = _tool("make_settings").page()
    assert (ROOT / "docs/settings.md").read_text(encoding="utf-8") == wanted, "run `make docs`"

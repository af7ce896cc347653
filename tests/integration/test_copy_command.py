"""`rem copy`: what it does, says and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from remanence.cli.app import app
from remanence.testing.store_suites.making import revise
from support.copies import everything, fill
from support.places import Place, opened, places

Rem = Callable[..., Any]


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with places(tmp_path, request) as made:
        yield made


@pytest.fixture
def rem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rem:
    """Run `rem copy` in an empty folder that holds `full.db`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    with closing(opened(tmp_path / "full.db")) as store:
        fill(store)
    return lambda *arguments: CliRunner().invoke(app, ["copy", *arguments])


def data(result: Any) -> Any:
    told = json.loads(result.stdout)
    assert told["ok"] is True, result.output
    return told["data"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_command_copies_and_compares(rem: Rem, place: Place, kind: str) -> None:
    target = place(kind)
    result = rem("full.db", target)
    assert result.exit_code == 0, result.output
    assert "60 memories copied" in result.stderr
    assert [line.rpartition(", ")[2] for line in result.stdout.splitlines()] == ["identical"] * 3
    told = data(rem(f"sqlite:///{Path('full.db').resolve()}", target, "--json"))
    assert (told["memories"], told["skipped"], told["identical"]) == (0, 60, True)
    assert {one["source"] for one in told["digests"]} == {one["target"] for one in told["digests"]}
    back = data(rem(target, "back.db", "--tenant", "acme", "--json"))
    assert (back["memories"], back["tenants"], back["identical"]) == (20, 1, True)


def test_a_dry_run_makes_no_file(rem: Rem, tmp_path: Path) -> None:
    result = rem("full.db", "new.db", "--dry-run")
    assert "60 memories would be copied" in result.stderr
    assert (result.exit_code, result.stdout) == (0, "")
    told = data(rem("full.db", "new.db", "--dry-run", "--json"))
    assert (told["memories"], told["dry_run"], told["identical"]) == (60, True, None)
    assert not list(tmp_path.glob("new.db*"))


def test_a_difference_is_an_exit_code(rem: Rem, tmp_path: Path) -> None:
    assert rem("full.db", "new.db", "--no-verify").exit_code == 0
    with closing(opened(tmp_path / "new.db")) as target:
        ids = everything(target).order["t"][:12]
        for id in ids:
            revise(target, id, importance=0.123)
    result = rem("full.db", "new.db")
    assert result.exit_code == 1
    assert "t: source" in result.stdout
    assert ", different" in result.stdout
    assert f"t: memory {ids[0]} changed in the target" in result.stdout
    assert "and 2 more" in result.stdout
    unchecked = rem("full.db", "new.db", "--no-verify", "--json")
    assert (unchecked.exit_code, data(unchecked)["differences"]["count"]) == (1, 12)
    assert rem("full.db", "new.db", "--overwrite").exit_code == 0


REFUSED = [
    (["missing.db", "new.db"], "There is no database"),
    (["full.db", "full.db"], "same store"),
    (["full.db", "./full.db"], "same store"),
    ([":memory:", "new.db"], "RAM"),
    (["full.db", "sqlite://"], "RAM"),
    (["mysql://u:s3cret@h/d", "new.db"], "not supported"),
    (["full.db", "mysql://u:s3cret@h/d"], "not supported"),
    (["full.db", "postgresql://u:s3cret@127.0.0.1:1/d"], ""),
    (["postgresql://u:s3cret@127.0.0.1:1/d", "new.db"], ""),
    (["full.db", "postgresql://u@127.0.0.1:1/d?password=s3cret"], ""),
    (["full.db", "postgresql://u:s3cret@[::1/d"], ""),
    (["postgresql:/u:s3cret@127.0.0.1/d", "new.db"], "not supported"),
    (["full.db", "full.db/below.db"], "cannot be opened"),
    (["full.db", "new.db", "--tenant", "nobody"], "no tenant 'nobody'"),
    (["full.db", "."], ""),
]


@pytest.mark.parametrize(("arguments", "told"), REFUSED)
def test_what_cannot_be_copied_is_refused_in_one_line(
    rem: Rem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.setenv("REMANENCE_SERVER_TIMEOUT_S", "1")
    result = rem(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.output
    assert "s3cret" not in result.output
    assert "s3cret" not in rem(*arguments, "--json").output
    assert not (tmp_path / "missing.db").exists()

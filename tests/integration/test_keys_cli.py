"""`rem keys` and `rem audit` in a shell."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import apsw
import pytest
from typer.testing import CliRunner, Result

from remanence.cli.access import moment_by
from remanence.cli.app import app
from remanence.config import load_settings
from remanence.config.assembly import open_store
from remanence.errors import InvalidInput
from remanence.model.clock import SystemClock
from remanence.server.access.caller import Caller
from remanence.server.access.keys import Keys

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Rem(Protocol):
    def __call__(self, *arguments: str) -> Result: ...


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def rem(place: Path) -> Rem:
    return lambda *arguments: CliRunner().invoke(app, ["--db", str(place), *arguments])


def data(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["data"]


def caller(place: Path, text: str) -> Caller | None:
    store = open_store(load_settings({"database": str(place)}))
    try:
        return Keys(store.documents, SystemClock()).caller(text)
    finally:
        store.close()


def test_a_key_from_its_making_to_its_end(rem: Rem, place: Path) -> None:
    made = rem(
        "keys", "create", "laptop", "--scope", "read", "--scope", "write", "--expires", "90d"
    )
    text = made.stdout.strip()
    assert "not shown again" in made.stderr
    known = caller(place, text)
    assert known is not None
    assert (known.tenant, sorted(known.grants)) == ("default", ["read", "write"])
    prefix = text.split("_")[1]
    assert rem("keys", "list").stdout.startswith(f"{prefix} laptop (tenant default): read write")
    fresh = rem("keys", "rotate", prefix, "--grace", "300").stdout.strip()
    assert caller(place, text) is not None
    assert caller(place, fresh) is not None
    assert "is revoked" in rem("keys", "revoke", prefix).stdout
    assert caller(place, text) is None
    listed = data(rem("keys", "list", "--json"))["keys"]
    assert [one["rotated_to"] for one in listed] == [fresh.split("_")[1], None]
    told = rem("keys", "list", "--json").stdout + rem("audit", "--json").stdout
    assert text.split("_")[2] not in told
    assert "digest" not in told


def test_every_option_of_a_key(rem: Rem, place: Path) -> None:
    made = data(
        rem(
            *(
                "keys",
                "create",
                "crawler",
                "--scope",
                "write",
                "--tenant",
                "acme",
                "--trust",
                "0.3",
            ),
            *("--quarantine", "--operator", "--rate-limit", "60", "--json"),
        )
    )
    known = caller(place, made["text"])
    assert known is not None
    assert (known.tenant, known.trust, known.quarantine, known.operator, known.rate_limit) == (
        *("acme", 0.3, True, True),
        60,
    )
    assert data(rem("keys", "list", "--tenant", "nobody", "--json"))["keys"] == []
    assert len(data(rem("keys", "list", "--json"))["keys"]) == 1


def test_what_is_refused(rem: Rem) -> None:
    assert rem("keys", "list").exit_code == 1, "there is no database yet"
    assert rem("keys", "create", "x").exit_code == 2
    for wrong in (
        ("--scope", "root"),
        ("--scope", "read", "--tenant", "remanence:keys"),
        ("--scope", "read", "--expires", "soon"),
        ("--scope", "read", "--expires", "2020-01-01"),
    ):
        assert rem("keys", "create", "x", *wrong).exit_code == 1
    assert "no key" in rem("keys", "revoke", "zzzzzzzz").stderr
    assert "There are no keys" in rem("keys", "list").stderr


def test_the_log_and_whether_it_is_whole(rem: Rem, place: Path) -> None:
    for name in ("a", "b", "c"):
        rem("keys", "create", name, "--scope", "read")
    lines = rem("audit").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["3", "2", "1"]
    assert all("local keys.create" in line for line in lines)
    assert len(data(rem("audit", "-k", "1", "--offset", "1", "--json"))["entries"]) == 1
    assert rem("audit", "--verify").stdout == "3 entries of default: whole.\n"
    connection = apsw.Connection(str(place))
    connection.execute("DELETE FROM documents WHERE shelf = 'audit' AND name = '000000000002'")
    connection.close()
    broken = rem("audit", "--verify")
    assert broken.exit_code == 1
    assert "broken from entry 2 on" in broken.stdout
    assert rem("audit", "--verify", "--tenant", "remanence:keys").exit_code == 0


def test_a_log_is_kept_for_a_while(rem: Rem, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        rem("keys", "create", name, "--scope", "read")
    asked = rem("audit", "--keep", "0d")
    assert (asked.exit_code, "pass --yes" in asked.stderr) == (1, True)
    assert "begins with entry 1." in rem("audit", "--keep", "90d", "--yes").stdout
    old = str(tmp_path / "old.json")
    assert rem("audit", "--anchor", old).exit_code == 0
    rem("keys", "create", "four", "--scope", "read")
    assert data(rem("audit", "--keep", "2099-01-01", "--yes", "--json")) == {
        "tenant": "default",
        "since": 5,
        "removed": 4,
    }
    assert rem("audit", "--verify").stdout == "1 entries of default, from entry 5 on: whole.\n"
    late = rem("audit", "--verify", "--against", old)
    assert (late.exit_code, "Use one that was written later" in late.stderr) == (1, True)
    for wrong in ("", "soon", "9999999w"):
        assert rem("audit", "--keep", wrong, "--yes").exit_code == 1


@pytest.mark.parametrize(
    ("told", "days"), [("90d", 90), ("2w", 14), ("12h", 0.5), ("36m", 0.025), ("86400s", 1)]
)
def test_spans(told: str, days: float) -> None:
    assert moment_by("expires", told, NOW) == NOW + timedelta(days=days)


def test_dates_and_what_is_neither() -> None:
    assert moment_by("expires", "2026-05-01", NOW) == datetime(2026, 5, 1, tzinfo=UTC)
    for wrong in ("", "d", "-1d", "1y", "999999999w"):
        with pytest.raises(InvalidInput):
            moment_by("expires", wrong, NOW)

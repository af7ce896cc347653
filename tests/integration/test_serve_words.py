"""What people read of a server, a key or a model that is not as they think."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remanence.api.memory import Memory
from remanence.cli.access import prefix_in
from remanence.cli.running import welcome
from remanence.config import Settings
from remanence.errors import NotFound
from remanence.model.clock import SystemClock
from remanence.server.access.keys import Keys
from remanence.testing.patience import HANG_S
from remanence.testing.serving import serving
from support import http
from support.server_process import MAIN, server_process

ROOT = Path(__file__).parents[2]
NO_MODEL = "a-model-that-is-not-here"


def rem(*arguments: str, database: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    named = {f"REMANENCE_{name.upper()}": value for name, value in settings.items()}
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **named, "REMANENCE_DATABASE": str(database), "COLUMNS": "200"},
        timeout=HANG_S,
        check=False,
    )


def curls(told: str) -> list[str]:
    return [line.strip() for line in told.splitlines() if line.strip().startswith("curl")]


class TestWelcome:
    def test_an_empty_store_is_filled_first(self) -> None:
        store, retrieve, search = curls(welcome(Settings()))
        assert "/memory/store" in store
        assert "/memory/retrieve?q=where+does+Ana+live" in retrieve
        assert "/v1/search" in search
        assert "Authorization" not in store + retrieve + search

    def test_the_sample_is_asked_first(self) -> None:
        [first, *_] = curls(welcome(Settings(), sample=True))
        assert first in (ROOT / "README.md").read_text("utf-8").splitlines()

    def test_where_there_are_keys_every_line_has_one(self) -> None:
        for line in curls(welcome(Settings(), locked=True)):
            assert "-H 'Authorization: Bearer YOUR-KEY'" in line

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            (Settings(), False),
            (Settings(host="0.0.0.0"), True),
            (Settings(host="192.0.2.1"), True),
            (Settings(host="0.0.0.0", hosts="memory.example"), False),
        ],
    )
    def test_beyond_this_machine_names_matter(self, settings: Settings, told: bool) -> None:
        assert ("REMANENCE_HOSTS" in welcome(settings)) is told

    def test_several_workers_are_only_starting(self) -> None:
        assert "(starting 3 workers; Ctrl-C" in welcome(Settings(workers=3))
        assert "starting" not in welcome(Settings())

    def test_a_missing_model_is_told(self, tmp_path: Path) -> None:
        told = welcome(Settings(embedder=NO_MODEL, cache=str(tmp_path)))
        assert NO_MODEL in told
        assert "by words alone" in told
        assert "by words alone" not in welcome(Settings())


def test_with_a_key_the_lines_work_as_written(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    with Memory(database) as memory:
        keys = Keys(memory.parts.store.documents, SystemClock())
        _, text = keys.create("ci", tenant="default", grants=["read", "write"])
    with server_process(database) as process:
        lines = curls(process.stderr)
        assert len(lines) == 3
        for line in lines:
            asked = f"{line.replace('YOUR-KEY', text)} -sf"
            done = subprocess.run(["bash", "-c", asked], capture_output=True, check=True)
            assert isinstance(json.loads(done.stdout), dict)


def test_the_server_says_that_its_model_is_missing(tmp_path: Path) -> None:
    named = {"embedder": NO_MODEL, "cache": str(tmp_path)}
    with server_process(tmp_path / "memory.db", **named) as process:
        assert process.told("[remanence]")
        assert NO_MODEL in process.stderr
        ready = http.get(f"{process.url}/ready", timeout=HANG_S)
    assert ready.status_code == 200
    assert (ready.json()["status"], ready.json()["degraded"]) == ("ready", ["vectors"])


def test_a_server_with_its_model_lacks_nothing(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory, serving(memory) as served:
        assert http.get(f"{served.url}/ready").json()["degraded"] == []


@pytest.mark.parametrize("host", ["example.invalid", "192.0.2.1", "no host"])
def test_an_address_that_cannot_be_listened_at(tmp_path: Path, host: str) -> None:
    done = rem("serve", "--host", host, database=tmp_path / "memory.db")
    assert done.returncode == 1
    assert f"Cannot listen at {host}" in done.stderr
    assert "key" not in done.stderr


def test_help_shows_the_defaults(tmp_path: Path) -> None:
    told = rem("serve", "--help", database=tmp_path / "memory.db").stdout
    for name in ("host", "port", "workers", "tools"):
        assert f"[default: ({getattr(Settings(), name)})]" in told


def test_search_and_doctor_say_why_there_are_no_vectors(tmp_path: Path) -> None:
    database, named = tmp_path / "memory.db", {"embedder": NO_MODEL, "cache": str(tmp_path)}
    assert "No embedder" in rem("add", "Ana moved", database=database, **named).stderr
    found = rem("search", "Ana", database=database, **named)
    assert "Searched without vectors: There is no model" in found.stderr
    assert ".." not in found.stderr
    told = rem("doctor", database=database, **named)
    assert told.returncode == 1
    assert f"embedder: 1 wrong  There is no model '{NO_MODEL}'" in told.stdout
    assert "--repair" not in told.stderr


def test_a_variable_that_is_none_is_told_on_stderr(tmp_path: Path) -> None:
    done = rem("count", "--json", database=tmp_path / "m.db", colour_of_the_sea="green")
    assert "REMANENCE_COLOUR_OF_THE_SEA is no setting" in done.stderr
    slip = rem("count", database=tmp_path / "m.db", tenent="acme")
    assert slip.returncode == 1
    assert "did you mean `REMANENCE_TENANT`?" in slip.stderr


class TestKeys:
    def test_the_whole_key_or_its_beginning_will_do(self, tmp_path: Path) -> None:
        database = tmp_path / "memory.db"
        made = rem("keys", "create", "ci", "--scope", "read", database=database).stdout.strip()
        fresh = rem("keys", "rotate", made, database=database)
        assert fresh.returncode == 0, fresh.stderr
        text = fresh.stdout.strip()
        _, prefix, secret = text.split("_")
        done = rem("keys", "revoke", f"rem_{prefix}", database=database)
        assert f"The key {prefix} (ci) is revoked" in done.stdout
        again = rem("keys", "revoke", text, database=database)
        assert secret not in again.stdout + again.stderr

    @pytest.mark.parametrize("given", ["secret" * 8, "rem_abc", "k3v7qd2m" + "f" * 32, "", "é" * 8])
    def test_what_is_no_prefix_is_not_shown(self, given: str) -> None:
        with pytest.raises(NotFound) as caught:
            prefix_in(given)
        assert not given or given not in str(caught.value)


def test_a_backup_that_is_not_there_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    Memory(database).close()
    done = rem("restore", str(tmp_path / "nofile.db"), database=database)
    assert done.returncode == 1
    assert "There is no backup at" in done.stderr
    assert "Replace" not in done.stderr

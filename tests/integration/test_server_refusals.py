"""What a request that is not let in is told, and how it is logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from remanence.server.logs import LoggedRequest, log_request
from remanence.testing.serving import Served, serving
from support import http


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


@pytest.mark.parametrize(
    ("host", "named"),
    [
        ("Memory.Example:8005", "the name memory.example;"),
        ("[fd00::1]:8005", "the name [fd00::1];"),
        ("x" * 81, "that name;"),
        ("<b>evil</b>", "that name;"),
        ("evil.example, 127.0.0.1", "that name;"),
    ],
)
def test_a_wrong_name_is_named_if_it_is_one(host: str, named: str, server: Served) -> None:
    answer = http.get(f"{server.url}/health", headers={"host": host})
    assert answer.status_code == 421
    assert answer.json()["type"] == "urn:remanence:wrong-host"
    assert named in answer.json()["detail"]
    assert "REMANENCE_HOSTS" in answer.json()["detail"]


def test_a_page_of_others_is_told_that_it_is_one(server: Served) -> None:
    answer = http.get(f"{server.url}/v1/stats", headers={"origin": "http://evil.example"})
    told = answer.json()
    assert (answer.status_code, told["type"]) == (403, "urn:remanence:wrong-origin")
    assert told["title"] == "Pages of another origin may not call this server"
    assert "REMANENCE_ORIGINS" in told["detail"]
    assert "evil" not in answer.text


@pytest.mark.parametrize(
    ("status", "level"), [(200, "INFO"), (500, "ERROR"), (501, "INFO"), (503, "ERROR")]
)
def test_what_is_not_offered_is_no_failure(
    status: int, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = {"caller": "local", "tenant": "default", "request_id": "one"}
    with caplog.at_level(logging.INFO, "remanence.requests"):
        log_request(
            LoggedRequest(method="GET", path="/v1/exports/", status=status, seconds=0.1, **place)
        )
    assert [one.levelname for one in caplog.records] == [level]

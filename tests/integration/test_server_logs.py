"""What a server logs: a JSON line for each request, and nothing that anybody said."""

from __future__ import annotations

import json
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette

from remanence.errors import StoreUnavailable
from remanence.server.executor import Calls
from remanence.server.logs import formatter, once
from remanence.server.rest.openapi import add_route
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http
from support.server_process import ServerProcess

SECRET = "the safe is behind the painting"
Raised: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """All that a process logged that was asked this and that."""
    database = tmp_path_factory.mktemp("logs") / "memory.db"
    with ServerProcess(database, log_format="json") as process:
        url = process.url
        headers = {"authorization": f"Bearer {SECRET}", "x-request-id": "mine-1"}
        made = http.post(
            f"{url}/v1/memories", json={"text": SECRET}, headers=headers, timeout=HANG_S
        )
        http.get(f"{url}/memory/retrieve", params={"q": SECRET}, timeout=HANG_S)
        http.get(f"{url}/v1/memories/{made.json()['id']}", headers={"x-request-id": "mine-2"})
        http.get(f"{url}/v1/blocks/painting")
        http.get(f"{url}/no/such/painting", headers={"x-request-id": "mine-3"})
        http.post(f"{url}/v1/memories", content=f'{{"text": "{SECRET}"'.encode())
        _send_nonsense(url)
        assert process.told("Invalid HTTP request")
        process.stop()
        assert process.ended() == 0
    return [line for line in process.lines if line.startswith("{")]


def _send_nonsense(url: str) -> None:
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port)) as line:
        line.sendall(f"painting {SECRET}\r\n\r\n".encode())
        line.recv(1_000)


def test_every_line_is_json_with_the_same_fields(lines: list[str]) -> None:
    told = [json.loads(line) for line in lines]
    assert all({"event", "level", "logger", "timestamp"} <= one.keys() for one in told)
    assert {"uvicorn.error", "remanence.requests"} <= {one["logger"] for one in told}


def test_there_is_one_line_a_request_with_its_id(lines: list[str]) -> None:
    told = [json.loads(line) for line in lines]
    asked = [one for one in told if one["logger"] == "remanence.requests"]
    assert [one["id"] for one in asked if one["id"].startswith("mine")] == [
        *("mine-1", "mine-2", "mine-3")
    ]
    words = [one["event"].split(" ")[:3] for one in asked]
    assert words == [
        ["POST", "/v1/memories", "200"],
        ["GET", "/memory/retrieve", "200"],
        ["GET", "/v1/memories/{id}", "200"],
        ["GET", "/v1/blocks/{label}", "404"],
        ["GET", "unknown", "404"],
        ["POST", "/v1/memories", "400"],
    ]
    assert all(one["caller"] == "local" and one["tenant"] == "default" for one in asked)


def test_nothing_that_was_said_is_in_them(lines: list[str]) -> None:
    for part in ("painting", "safe", "Bearer", "q="):
        assert not [line for line in lines if part in line]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as server:
        _break(server.app)
        yield server


def _break(app: Starlette) -> None:
    async def broken(label: str) -> None:
        hidden = SECRET  # a local variable
        raise ValueError(f"cannot parse {hidden!r} of {label}")

    async def down(label: str) -> None:
        try:
            raise OSError(f"no route to postgresql://me:{SECRET}@db")
        except OSError as error:
            raise StoreUnavailable("postgresql://me:hunter2@db does not answer.") from error

    async def in_thread(label: str) -> None:
        calls: Calls = app.state.calls
        await calls.run(_broken_below, label)

    for name, endpoint in (("broken", broken), ("down", down), ("thread", in_thread)):
        add_route(app, f"/{name}/{{label}}", endpoint, methods=["GET"])


def _broken_below(label: str) -> None:
    raise KeyError(SECRET)


@pytest.mark.parametrize("format", ["json", "text"])
@pytest.mark.parametrize(("path", "kind"), [("broken", "ValueError"), ("thread", "KeyError")])
def test_an_error_that_nobody_foresaw_tells_its_kind_and_place(
    served: Served, logged: Callable[[str], list[str]], format: str, path: str, kind: str
) -> None:
    said = logged(format)
    headers = {"x-request-id": "mine", "authorization": f"Bearer {SECRET}"}
    answer = http.get(f"{served.url}/{path}/painting?safe=1", headers=headers)
    assert answer.status_code == 500
    assert answer.headers.get_list("x-request-id") == ["mine"]
    assert answer.json()["request_id"] == "mine"
    assert SECRET not in answer.text
    whole = "\n".join(said)
    assert kind in whole
    assert f"{Path(__file__).name}:" in whole
    assert not [part for part in ("painting", "safe", "Bearer") if part in whole]
    assert whole.count(f"builtins.{kind}") == 1
    assert len([line for line in said if "mine" in line]) == 2


def test_an_error_of_ours_says_what_it_is_without_its_password(
    served: Served, logged: Callable[[str], list[str]]
) -> None:
    said = logged("json")
    answer = http.get(f"{served.url}/down/painting", headers={"x-request-id": "mine"})
    assert answer.status_code == 503
    whole = "\n".join(said)
    assert "StoreUnavailable: postgresql://me:…@db does not answer." in whole
    assert "OSError" in whole
    assert not [part for part in (SECRET, "painting", "hunter2") if part in whole + answer.text]


@pytest.fixture
def logged() -> Iterator[Callable[[str], list[str]]]:
    """What the server in this process logs from now on, a text for each record."""
    loggers = [logging.getLogger(name) for name in ("remanence", "uvicorn")]
    levels, added = [logger.level for logger in loggers], []

    def listen(format: str) -> list[str]:
        said: list[str] = []
        handler = _Said(said)
        handler.setFormatter(formatter(format))
        handler.addFilter(once)
        for logger in loggers:
            logger.setLevel(logging.INFO)
            logger.addHandler(handler)
        added.append(handler)
        return said

    yield listen
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
        for handler in added:
            logger.removeHandler(handler)


class _Said(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(self.format(record))


def test_a_line_stays_one_line() -> None:
    record = logging.makeLogRecord({"msg": "two\nlines \x1b[31m", "levelname": "INFO", "name": "x"})
    line = formatter("json").format(record)
    assert "\n" not in line
    assert json.loads(line)["event"] == "two\nlines \x1b[31m"


def test_an_error_that_is_its_own_cause_ends() -> None:
    record = logging.makeLogRecord({"msg": "odd", "exc_info": _odd()})
    told: dict[str, Any] = json.loads(formatter("json").format(record))
    assert told["exception"].count("ValueError") == 1


def _odd() -> Raised:
    try:
        raise ValueError("round")
    except ValueError as error:
        error.__context__ = error
        return (ValueError, error, sys.exc_info()[2])

"""A server that is only asked writes down what it returned, for each tenant, and holds nothing."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from remanence.server import app
from remanence.server.heap import regularly
from remanence.testing.patience import until
from remanence.testing.serving import Served, serving
from support import http


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "USES_S", 0.05)


def used(server: Served, tenant: str, id: str) -> int:
    return server.memory.for_tenant(tenant).get(id).uses


def test_uses_are_written_without_a_write(often: None) -> None:
    with serving() as server:
        keys = {tenant: server.key(tenant=tenant, name=tenant) for tenant in ("a", "b")}
        ids = {}
        for tenant, key in keys.items():
            headers = {"Authorization": f"Bearer {key}"}
            stored = {"context": f"The lamp of {tenant} is green"}
            made = http.post(f"{server.url}/memory/store", json=stored, headers=headers)
            ids[tenant] = made.raise_for_status().json()["id"]
        asked = {"Authorization": f"Bearer {keys['a']}"}
        for _ in range(3):
            http.get(f"{server.url}/memory/retrieve?q=lamp", headers=asked).raise_for_status()
        until(lambda: used(server, "a", ids["a"]) >= 3)
        assert used(server, "a", ids["a"]) == 3
        assert used(server, "b", ids["b"]) == 0


def test_what_fails_is_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    tried: list[int] = []

    def work() -> None:
        tried.append(len(tried))
        if len(tried) == 1:
            raise OSError("no room left")

    async def run() -> None:
        async with regularly(0.01, work):
            while len(tried) < 3:
                await asyncio.sleep(0.01)

    with caplog.at_level(logging.ERROR):
        asyncio.run(run())
    assert "no room left" in caplog.text
    done = len(tried)
    time.sleep(0.05)  # five times its turn
    assert len(tried) == done

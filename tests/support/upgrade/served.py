"""What a server does with a fixture: it lets keys in, and answers a repeated request alike."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from remanence.api.memory import Memory
from remanence.model.clock import Clock
from remanence.server.app import make_app

SAID = "Said over HTTP, once."
ASKED = {"text": SAID, "user_id": "ana"}


def client(memory: Memory, clock: Clock) -> TestClient:
    """A caller of a server that has this memory."""
    return TestClient(make_app(memory.settings, memory, clock=clock), base_url="http://127.0.0.1")


def append_once(caller: TestClient, key: str) -> Any:
    """The response to appending to a block, with the same idempotency key each time."""
    headers = {"authorization": f"Bearer {key}", "idempotency-key": "say-it-once"}
    return caller.post("/v1/blocks/human/append", json=ASKED, headers=headers)


def status(caller: TestClient, key: str) -> int:
    """What the server says to a caller with this key who wants to read."""
    return caller.get("/v1/stats", headers={"authorization": f"Bearer {key}"}).status_code


def append_twice(memory: Memory, key: str, clock: Clock) -> None:
    """Send one write twice; `ValueError` if it was not done once."""
    caller = client(memory, clock)
    first, second = append_once(caller, key), append_once(caller, key)
    if not first.is_success or first.json() != second.json():
        raise ValueError(f"{first.text} was answered, then {second.text}")

"""The scripted chat server as a pytest fixture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remanence.testing.chat_server import ChatServer


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """A chat server with an empty script; `then` says what it answers."""
    with ChatServer() as server:
        yield server

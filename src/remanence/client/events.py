"""The events of a long run: how far it is, and at last its answer."""

from __future__ import annotations

import json

from remanence.client.message import Reply
from remanence.errors import ServerUnavailable
from remanence.ports.store import Progress

RESULT, PROBLEM, PROGRESS = "result", "error", "progress"
FAILED = 500  # a problem told as an event has its own status in its body


class Events:
    """Takes the lines of an event stream; `reply` is there once the answer has come."""

    def __init__(self, progress: Progress) -> None:
        self.reply: Reply | None = None
        self._progress = progress
        self._name = "message"
        self._data: list[str] = []

    def take(self, line: str) -> None:
        """One line; an empty one ends an event."""
        if not line:
            self._close()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)

    def _close(self) -> None:
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "message", []
        if name == PROGRESS:
            self._progress(*_figures(data))
        elif name in (RESULT, PROBLEM):
            status = 200 if name == RESULT else FAILED
            self.reply = Reply(status=status, content=data.encode())


def _figures(data: str) -> tuple[int, int]:
    try:
        told = json.loads(data)
        return int(told["done"]), int(told.get("total") or 0)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ServerUnavailable(f"The server told of its progress with {data[:80]!r}.") from error

"""The tee: what an upstream's answer says, put together beside the bytes that pass."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from remanence.llm.answers import DONE, MAX_ANSWER, MAX_LINE, content_of

LEFT = "the client left"
BROKE = "the upstream broke off"
# Why a model stops without having said all.
CUT_SHORT = ("length", "content_filter")


class Heard:
    """One answer as far as it has come. Nothing in it can raise: it only listens."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.refused = False
        self.ending = LEFT
        self._streamed = False
        self._readable = True
        self._held = bytearray()
        self._texts: list[str] = []
        self._size = 0
        self._finish = ""
        self._done = False

    @property
    def accepted(self) -> bool:
        """Whether the exchange took place: the upstream did not refuse it."""
        return not self.refused and (self.status is None or 200 <= self.status < 300)

    @property
    def text(self) -> str:
        """What the assistant said in its first choice."""
        return "".join(self._texts)

    @property
    def partial(self) -> str:
        """Why the text is not all that was to be said; empty if it is."""
        if self._finish in CUT_SHORT:
            return self._finish
        return "" if self._done or self._finish else self.ending

    def begins(self, status: int, kind: str, encoding: str) -> None:
        """The head of the answer is here."""
        self.status = status
        self._streamed = "event-stream" in kind.lower()
        self._readable = encoding.lower() in ("", "identity")

    def take(self, chunk: bytes) -> None:
        """Bytes have passed."""
        if not self._readable:
            return
        self._held += chunk
        if self._streamed and b"\n" in chunk:
            *lines, rest = self._held.split(b"\n")
            self._held = rest
            for line in lines:
                self._line(bytes(line))
        if len(self._held) > MAX_LINE:
            self._readable = False
            self._held.clear()

    def ends(self) -> None:
        """All of it has passed."""
        self.ending = ""
        self.closes()

    def closes(self) -> None:
        """Nothing more will come."""
        held, self._held = bytes(self._held), bytearray()
        if held and self._streamed:
            self._line(held)
        elif held:
            self._read(held, "message")

    def _line(self, line: bytes) -> None:
        field, _, value = line.rstrip(b"\r").partition(b":")
        if field == b"data" and value.strip() == DONE.encode():
            self._done = True
        elif field == b"data" and not self._done:
            self._read(value, "delta")

    def _read(self, data: bytes, name: str) -> None:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return
        choices = found.get("choices") if isinstance(found, Mapping) else None
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and choice.get("index", 0) == 0:
                self._said(choice, name)

    def _said(self, choice: Mapping[str, Any], name: str) -> None:
        message, finish = choice.get(name), choice.get("finish_reason")
        text = content_of(message) if isinstance(message, Mapping) else ""
        self._size += len(text)
        if text and self._size <= MAX_ANSWER:
            self._texts.append(text)
        self._finish = finish if isinstance(finish, str) and finish else self._finish

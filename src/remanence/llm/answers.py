"""Reading a chat answer: whole JSON, or the pieces of a stream put together again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from remanence.errors import LanguageModelError
from remanence.ports.language_model import Reply, ToolCall

MAX_LINE = 8 * 1024 * 1024
MAX_ANSWER = 1_000_000  # as long as the longest memory by default
MAX_CALLS = 128  # as many as OpenAI's own API lets a request declare
DONE = "[DONE]"


def data_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """What the `data:` lines of an event stream hold; "" for any other line, a sign of life.

    Chat servers write one JSON object a line, so a line is an event whether or not a blank one
    follows. A line break never falls into a character in UTF-8, however the bytes are cut.
    """
    for line in _lines(chunks):
        field, _, value = line.rstrip(b"\r").partition(b":")
        yield value.decode("utf-8", "replace").strip() if field == b"data" else ""


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    held = bytearray()
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield bytes(held + line)
            held.clear()
        held += rest
        if len(held) > MAX_LINE:
            raise LanguageModelError(f"sent a line of more than {MAX_LINE:,} bytes")
    if held:
        yield bytes(held)


class Joined:
    """A streamed answer as it grows: text and tool calls, the latter joined by their index."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish: str | None = None
        self._size = 0

    @property
    def finished(self) -> bool:
        """Whether the model said why it stopped."""
        return self._finish is not None

    def take(self, event: str) -> str:
        """Add one event of the stream; the text it brought, which may be none."""
        choice = first_choice(parsed(event), streamed=True)
        if choice is None:
            return self._counted("")
        delta = _mapping(choice.get("delta"))
        for position, call in enumerate(_items(delta.get("tool_calls"))):
            self._add_call(position, call)
        self._finish = _text(choice.get("finish_reason")) or self._finish
        return self._counted(content_of(delta))

    def reply(self) -> Reply:
        """All of it."""
        calls = [self._calls[index] for index in sorted(self._calls)]
        return Reply(
            text="".join(self._texts),
            tool_calls=_numbered(calls),
            finish=self._finish or "stop",
        )

    def _add_call(self, position: int, part: Mapping[str, Any]) -> None:
        given = part.get("index")
        index = given if isinstance(given, int) else position
        call = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        function = _mapping(part.get("function"))
        call["id"] = call["id"] or _text(part.get("id"))
        call["name"] = call["name"] or _text(function.get("name"))
        piece = _arguments(function.get("arguments"))
        call["arguments"] += piece
        self._grow(len(piece))
        if len(self._calls) > MAX_CALLS:
            raise LanguageModelError(f"wants more than {MAX_CALLS} tools called at once")

    def _counted(self, text: str) -> str:
        self._grow(len(text) + 1)  # an event without a word counts, or a stream could be endless
        if text:
            self._texts.append(text)
        return text

    def _grow(self, by: int) -> None:
        self._size += by
        if self._size > MAX_ANSWER:
            raise LanguageModelError(f"answered with more than {MAX_ANSWER:,} characters")


def whole_reply(body: str) -> Reply:
    """The reply in an answer that came as one JSON object."""
    choice = first_choice(parsed(body), streamed=False) or {}
    message = _mapping(choice.get("message"))
    calls = [
        {
            "id": _text(call.get("id")),
            "name": _text(_mapping(call.get("function")).get("name")),
            "arguments": _arguments(_mapping(call.get("function")).get("arguments")),
        }
        for call in _items(message.get("tool_calls"))[:MAX_CALLS]
    ]
    text = content_of(message)
    if len(text) > MAX_ANSWER:
        raise LanguageModelError(f"answered with more than {MAX_ANSWER:,} characters")
    return Reply(
        text=text,
        tool_calls=_numbered(calls),
        finish=_text(choice.get("finish_reason")) or "stop",
    )


def parsed(body: str) -> Mapping[str, Any]:
    """The JSON object of an answer or an event; an error it reports is raised."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise LanguageModelError(
            f"did not answer with JSON but with {body[:80]!r}; is this an OpenAI-compatible API?"
        ) from error
    if not isinstance(found, Mapping):
        raise LanguageModelError(f"answered with {body[:80]!r}, which is no chat answer")
    if reported := found.get("error"):
        raise LanguageModelError(f"reports an error: {error_text(reported)}")
    return found


def error_text(error: object) -> str:
    """The words of an error that an API reports, in whatever form it comes."""
    told = error.get("message", error) if isinstance(error, Mapping) else error
    return str(told)[:300]


def first_choice(answer: Mapping[str, Any], *, streamed: bool) -> Mapping[str, Any] | None:
    """The answer's first choice; an event of a stream may have none, such as the one on usage."""
    choices = answer.get("choices")
    if isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    if streamed and not choices:
        return None
    raise LanguageModelError("answered without choices; is this an OpenAI-compatible API?")


def content_of(message: Mapping[str, Any]) -> str:
    """The words of a message, whether they come as one text or in parts."""
    content = message.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        return "".join(_text(_mapping(part).get("text")) for part in content)
    return _text(content)


def _numbered(calls: Sequence[Mapping[str, str]]) -> tuple[ToolCall, ...]:
    """The calls as values; an id is made for those without, since the answer must name it."""
    return tuple(
        ToolCall(id=call["id"] or f"call_{number}", name=call["name"], arguments=call["arguments"])
        for number, call in enumerate(calls, 1)
        if call["name"]
    )


def _arguments(value: object) -> str:
    """JSON as text; some servers send the object itself."""
    return json.dumps(value) if isinstance(value, Mapping) else _text(value)


def _items(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, Mapping)]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    """The text without half characters and NULs, which could not be stored."""
    if not isinstance(value, str):
        return ""
    text = value.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

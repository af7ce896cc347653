"""Reading a chat answer: whole JSON, or the pieces of a stream put together again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remanence.errors import LanguageModelError
from remanence.model.ports.language_model import Reply, ToolCall

MAX_LINE = 8 * 1024 * 1024
MAX_ANSWER = 1_000_000  # as long as the longest memory by default
MAX_CALLS = 128  # as many as OpenAI's own API lets a request declare
MAX_NAME = 64  # of a tool, in OpenAI's API
MAX_ID = 200  # far above what any server sends
DONE = "[DONE]"

_NO_NAME = re.compile(r"[^A-Za-z0-9_.:-]")


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


@dataclass(slots=True)
class _Call:
    """A tool call as far as it has come."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Joined:
    """A streamed answer as it grows: text and tool calls, the latter joined by their index.

    Some servers leave the index out or give all calls the same; then a name with a new id, or
    without ids another name, begins a new call.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: list[_Call] = []
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
        for call in _items(delta.get("tool_calls")):
            self._add_call(call)
        self._finish = _text(choice.get("finish_reason")) or self._finish
        return self._counted(content_of(delta))

    def reply(self) -> Reply:
        """All of it."""
        return Reply(
            text="".join(self._texts),
            tool_calls=_numbered(sorted(self._calls, key=lambda call: call.index)),
            finish=self._finish or "stop",
        )

    def _add_call(self, part: Mapping[str, Any]) -> None:
        piece = _call_of(part)
        call = self._continued(piece, indexed=_index(part) is not None)
        if call is None:
            self._calls.append(piece)
        else:
            call.id = call.id or piece.id
            call.name = call.name or piece.name
            call.arguments += piece.arguments
        self._grow(len(piece.arguments))
        if len(self._calls) > MAX_CALLS:
            raise LanguageModelError(f"wants more than {MAX_CALLS} tools called at once")

    def _continued(self, piece: _Call, *, indexed: bool) -> _Call | None:
        """The call that a piece goes on with; None if it begins a new one.

        A call begins with its name: some servers make up another id for every piece.
        """
        here = [call for call in self._calls if not indexed or call.index == piece.index]
        same = [call for call in here if piece.id and call.id == piece.id]
        if same or not here:
            return same[-1] if same else None
        last = here[-1]
        if not piece.name or not last.name:
            return last
        new = bool(piece.id and last.id) or piece.name != last.name or not indexed
        return None if new else last

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
    calls = [_call_of(call) for call in _items(message.get("tool_calls"))[:MAX_CALLS]]
    text = content_of(message)
    if len(text) > MAX_ANSWER:
        raise LanguageModelError(f"answered with more than {MAX_ANSWER:,} characters")
    return Reply(
        text=text, tool_calls=_numbered(calls), finish=_text(choice.get("finish_reason")) or "stop"
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


def mended(text: str) -> str:
    """The text without half characters and NULs, which could not be stored."""
    whole = text.replace("\0", "")
    try:
        whole.encode()
    except UnicodeEncodeError:
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole


def _call_of(part: Mapping[str, Any]) -> _Call:
    """A call, or a piece of one, with a name and an id that every API takes back."""
    function = _mapping(part.get("function"))
    return _Call(
        index=_index(part) or 0,
        id=_text(part.get("id")).strip()[:MAX_ID].strip(),
        name=_NO_NAME.sub("_", _text(function.get("name")).strip()[:MAX_NAME]),
        arguments=_arguments(function.get("arguments")),
    )


def _index(part: Mapping[str, Any]) -> int | None:
    index = part.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _numbered(calls: Iterable[_Call]) -> tuple[ToolCall, ...]:
    """The calls as values, each with an id of its own, since an answer must name it."""
    made: dict[str, ToolCall] = {}
    named = [call for call in calls if call.name]
    taken = {call.id for call in named}
    free = (id for n in range(1, 2 * len(named) + 1) if (id := f"call_{n}") not in taken)
    for call in named:
        id = call.id if call.id and call.id not in made else next(free)
        made[id] = ToolCall(id=id, name=call.name, arguments=call.arguments)
    return tuple(made.values())


def _arguments(value: object) -> str:
    """JSON as text; some servers send the value itself."""
    if value is None or isinstance(value, str):
        return _text(value)
    try:
        return json.dumps(value)
    except RecursionError:
        return ""


def _items(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, Mapping)]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return mended(value) if isinstance(value, str) else ""

"""A chat request as it came: read once, and changed nowhere but where the memories go in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from remanence.api.values import Misfit
from remanence.backends.llm.answers import mended

SYSTEM = ("system", "developer")
ANSWERS_OF_TOOLS = ("tool", "function")
_BLANKS = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Chat:
    """What a client wants said.

    `told` gives the body with a block of memories at the end of the system message; every other
    byte stays, so that no number and no unknown field is lost.
    """

    text: str
    messages: tuple[Mapping[str, Any], ...]
    user: object
    slot: PromptSlot

    def told(self, block: str) -> bytes:
        """The body with this block in it; as it came if there is none."""
        slot = self.slot
        if not block or not self.messages:
            return self.text.encode()
        return (self.text[: slot.start] + slot.fill(block) + self.text[slot.end :]).encode()

    @property
    def asked(self) -> int | None:
        """The place of the user's last message."""
        places = (n for n in reversed(range(len(self.messages))) if self._role(n) == "user")
        return next(places, None)

    @property
    def question(self) -> str:
        """The words of the user's last message; none if there are none."""
        return "" if self.asked is None else words_of(self.messages[self.asked])

    @property
    def continues(self) -> bool:
        """Whether tools have answered since, so that the user's message came before already."""
        first = 0 if self.asked is None else self.asked + 1
        return any(self._role(n) in ANSWERS_OF_TOOLS for n in range(first, len(self.messages)))

    @property
    def alone(self) -> bool:
        """Whether no answer is among the messages before the last one of the user."""
        return not any(self._role(n) == "assistant" for n in range(self.asked or 0))

    def _role(self, place: int) -> object:
        return self.messages[place].get("role")


class PromptSlot(NamedTuple):
    """Where a block goes: it is written by `fill` in the place of what stands there."""

    start: int
    end: int
    fill: Callable[[str], str]


class _Number(NamedTuple):
    """A number as it is written."""

    digits: str


class _Part(NamedTuple):
    """A value inside a JSON text, and where it stands."""

    name: str
    value: Any
    start: int
    end: int


def read_chat(body: bytes) -> Chat:
    """The request in a body; `Misfit` if it is none."""
    try:
        text = body.decode()
        start = _past_blanks(text, 0)
        whole, end = _DECODER.raw_decode(text, start)
        if _past_blanks(text, end) != len(text):
            raise Misfit("The body goes on after its JSON object.")
        if not isinstance(whole, dict):
            raise Misfit("The body must be a JSON object with `messages`.")
        parts = {part.name: part for part in _members(text, start)}
        messages = _messages(whole.get("messages"))
        slot = _slot(text, parts["messages"])
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Misfit("The body must be JSON in UTF-8.") from error
    except RecursionError as error:
        raise Misfit("The body is nested too deeply.") from error
    return Chat(text=text, messages=messages, user=whole.get("user"), slot=slot)


def words_of(message: Mapping[str, Any]) -> str:
    """The words of a message: a text, or the texts among its parts; none of an image."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "\n".join(text for text in texts if isinstance(text, str))
    return mended(content).strip() if isinstance(content, str) else ""


def _messages(given: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Misfit("`messages` must be a list of objects with `role` and `content`.")
    return tuple(given)


def _slot(text: str, messages: _Part) -> PromptSlot:
    """The end of the first system message; where there is none, a new one before the others."""
    for message in _items(text, messages.start):
        if message.value.get("role") in SYSTEM:
            return _slot_in(text, message)
    rest = ", " if messages.value else ""
    at = messages.start + 1
    return PromptSlot(at, at, lambda block: _json({"role": "system", "content": block}) + rest)


def _slot_in(text: str, message: _Part) -> PromptSlot:
    content = {part.name: part for part in _members(text, message.start)}.get("content")
    if content is None:
        at = message.end - 1
        return PromptSlot(at, at, lambda block: f', "content": {_json(block)}')
    inside = content.end - 1  # before the closing mark
    if isinstance(content.value, list):
        comma = ", " if content.value else ""
        return PromptSlot(
            inside, inside, lambda block: comma + _json({"type": "text", "text": block})
        )
    if isinstance(content.value, str):
        gap = "\n\n" if content.value else ""
        return PromptSlot(inside, inside, lambda block: _json(gap + block)[1:-1])
    return PromptSlot(content.start, content.end, _json)


def _members(text: str, at: int) -> Iterator[_Part]:
    """The members of the object that begins here, in a text that was found to be JSON.

    One that is there twice is refused: readers differ on which of them counts.
    """
    at, seen = _past_blanks(text, at + 1), set()
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        start = _past_blanks(text, _past_blanks(text, at) + 1)
        value, end = _DECODER.raw_decode(text, start)
        if name in seen:
            raise Misfit(f"{name[:40]!r} is there twice.")
        seen.add(name)
        yield _Part(name, value, start, end)
        at = _past_comma(text, end)


def _items(text: str, at: int) -> Iterator[_Part]:
    """The items of the list that begins here, in a text that was found to be JSON."""
    at = _past_blanks(text, at + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield _Part("", value, at, end)
        at = _past_comma(text, end)


def _past_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()


def _past_comma(text: str, at: int) -> int:
    at = _past_blanks(text, at)
    return _past_blanks(text, at + 1) if text[at] == "," else at


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _no_number(found: str) -> NoReturn:
    raise Misfit(f"{found} is no JSON.")


# Numbers stay as they are written, because nobody here wants their value: one of a million digits
# takes minutes to compute, or is refused.
_DECODER = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_no_number)

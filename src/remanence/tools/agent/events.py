"""What an agent tells while it answers, and the answer at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from remanence.model.context import Context
from remanence.model.ports.language_model import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A tool that the model called, what it was told, and whether it was done."""

    call: ToolCall
    result: str
    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer and all that belongs to it.

    `messages` is what was sent last, or offline would have been. `stored` are the ids of what was
    remembered, the question first. Offline and when the model is stopped, `text` is empty.
    """

    text: str
    context: Context
    messages: tuple[Mapping[str, Any], ...]
    session_id: str
    tool_calls: tuple[ToolUse, ...] = ()
    warnings: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    offline: bool = False


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer, as it comes."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model wants a tool called; it is about to be."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """A tool was called."""

    use: ToolUse


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should know."""

    message: str


@dataclass(frozen=True, slots=True)
class Done:
    """The end; always last, and never after an error."""

    answer: Answer


Event: TypeAlias = TextPiece | ToolCalled | ToolAnswered | Warned | Done

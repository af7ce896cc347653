"""The LanguageModel port: an optional model that chats, calls tools and writes summaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

# A message or a tool in the form of OpenAI's chat API, which every such server speaks.
ChatMessage: TypeAlias = Mapping[str, Any]
ToolSchema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool that the model wants called; `arguments` is JSON as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The model's answer: what it says and the tools it wants called."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"


class LanguageModel(Protocol):
    """A chat model behind some endpoint. Thread-safe. Failures are `LanguageModelError`s."""

    @property
    def name(self) -> str:
        """The model's name, for provenance."""

    def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSchema] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """The whole answer at once."""

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSchema] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Iterator[str | Reply]:
        """Pieces of the answer's text as they come, then the whole `Reply`, last and once."""

    def close(self) -> None:
        """Release connections; safe to call twice."""

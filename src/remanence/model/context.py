"""A context: what memory puts into a prompt, what each part of it costs, and why it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from remanence.errors import InvalidInput
from remanence.model.validation import whole_of

MAX_TOKENS = 1_000_000

# A message in the form of OpenAI's chat API.
ChatMessage: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One thing that is in: a memory by its id, a block by its label, a value by its key."""

    id: str
    tokens: int
    why: str
    at: datetime | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPart:
    """One part of a context. `tokens` counts its marks too; `left_out` is what did not fit.

    `omitted` is all that is not in, each with the reason.
    """

    name: str
    tokens: int
    share: float
    items: tuple[ContextItem, ...] = ()
    left_out: int = 0
    omitted: tuple[ContextItem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What goes into the prompt, as one text and as chat messages; neither passes the budget.

    `tokens` is what the text takes, `ids` are the memories that are shown. `confidence` is that of
    the search for them.
    """

    text: str
    messages: tuple[ChatMessage, ...]
    parts: tuple[ContextPart, ...]
    tokens: int
    max_tokens: int
    ids: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    confidence: float | None = None

    def __str__(self) -> str:
        return self.text

    def part(self, name: str) -> ContextPart:
        """The part of that name, empty or not."""
        for part in self.parts:
            if part.name == name:
                return part
        known = ", ".join(part.name for part in self.parts)
        raise InvalidInput(f"A context has no part {str(name)[:40]!r}; it has {known}.")

    def table(self) -> str:
        """What each part cost and why each item is in, to read."""
        lines = [f"{self.tokens} of {self.max_tokens} tokens"]
        for part in self.parts:
            lines.append(_headline(part))
            lines += [_line(item) for item in part.items]
        return "\n".join(lines)


def checked_budget(max_tokens: object) -> int:
    """The budget if it can be one, or `InvalidInput`."""
    return whole_of("max_tokens", max_tokens, 1, MAX_TOKENS)


def _headline(part: ContextPart) -> str:
    left = f", {part.left_out} did not fit" if part.left_out else ""
    kept = f"{len(part.items)} in{left}"
    return f"{part.name:<9}{part.tokens:>6}  (share {part.share:.0%})  {kept}"


def _line(item: ContextItem) -> str:
    at = f"{item.at:%Y-%m-%d}" if item.at else ""
    return f"  {item.tokens:>5}  {at:<10}  {item.id:<36}  {item.why}"

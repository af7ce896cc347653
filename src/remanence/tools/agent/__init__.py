"""The smallest agent around the memory: context, model, tools, answer, all remembered."""

from __future__ import annotations

from remanence.tools.agent.agent import Agent
from remanence.tools.agent.thread import (
    Answer,
    Done,
    Event,
    TextPiece,
    ToolAnswered,
    ToolCalled,
    ToolUse,
    Warned,
)
from remanence.tools.agent.tools import MemoryTools

__all__ = [
    "Agent",
    "Answer",
    "Done",
    "Event",
    "MemoryTools",
    "TextPiece",
    "ToolAnswered",
    "ToolCalled",
    "ToolUse",
    "Warned",
]

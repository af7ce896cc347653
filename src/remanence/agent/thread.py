"""The agent's conversation: what is kept of questions, tools and answers, and how full it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from remanence.agent.tools import TRUST
from remanence.errors import RemanenceError
from remanence.model.memory import Kind
from remanence.remember.tool_calls import OF_MEMORY

if TYPE_CHECKING:
    from remanence.memory import Memory

CARRIED = frozenset({"content", "old_content", "new_content"})
MOST_OF_A_CALL = 2_000  # characters of its arguments
MOST_CALLS = 10  # kept of one message; more do not fit into its metadata


class Thread:
    """One conversation of one user; what a verb was given is stored when it returns.

    What the model says and what tools tell it is trusted less than what the user says.
    """

    def __init__(
        self, memory: Memory, session_id: str, user_id: str | None, agent_id: str | None
    ) -> None:
        self._memory = memory
        self._place: dict[str, Any] = {"session_id": session_id, "user_id": user_id}
        self._agent_id = agent_id
        self._summaries = 0

    def heard(self, text: str) -> list[str]:
        """Keep the user's words; their id, or none if they only repeat what memory said."""
        return self._append([{"role": "user", "content": text}])

    def said(self, text: str, model: str) -> list[str]:
        """Keep the answer, if there is one."""
        kept = text[: self._memory.settings.max_text].strip()
        told = [{"role": "assistant", "content": kept}] if kept else []
        return self._append(told, source=model, trust=TRUST) if told else []

    def used(self, messages: Sequence[Mapping[str, Any]], model: str) -> list[str]:
        """Keep a message that calls tools and those that answer it."""
        told = [_shortened(message) for message in messages]
        ids = {call["id"] for message in told for call in message.get("tool_calls", ())}
        kept = [
            {**one, "metadata": {OF_MEMORY: True}}
            for one in told
            if one["role"] != "tool" or one["tool_call_id"] in ids
        ]
        return self._append(kept, source=model, trust=TRUST)

    def fullness(self) -> float:
        """How much of the window is taken, 0 to 1."""
        settings = self._memory.settings
        window = self._memory.conversations.window(**self._place)
        tokens = window.tokens / settings.window_tokens
        return 1.0 if window.left else max(tokens, len(window.messages) / settings.window_messages)

    def condense(self) -> None:
        """Let the memory's model, if it has one, write new summaries of what left the window.

        Only when there are new ones, or a model that cannot write them would be asked every turn.
        A failure is none here: the extracted ones stand.
        """
        with suppress(RemanenceError):
            summaries = self._memory.count(kinds=Kind.SUMMARY, **self._place)
            if summaries != self._summaries:
                self._summaries = summaries
                self._memory.conversations.summarise(**self._place, refine=True)

    def _append(self, messages: list[dict[str, Any]], **more: Any) -> list[str]:
        stored = self._memory.conversations.append(
            messages, **self._place, agent_id=self._agent_id, **more
        )
        return [record.id for record in stored]


def _shortened(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with no more of its calls than metadata can hold."""
    calls = message.get("tool_calls")
    if not calls:
        return dict(message)
    return {**message, "tool_calls": [_call(call) for call in calls[:MOST_CALLS]]}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return {**call, "function": {**function, "arguments": _arguments(function["arguments"])}}


def _arguments(text: str) -> str:
    """The arguments without what they carry: that is in the archive or a block's history now.

    If it was refused as an echo, this must not be where it is remembered all the same.
    """
    given: dict[str, Any] = json.loads(text)
    told = {name: "…" if name in CARRIED else value for name, value in given.items()}
    short = json.dumps(told, ensure_ascii=False)
    return short if len(short) <= MOST_OF_A_CALL else "{}"

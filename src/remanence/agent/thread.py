"""The agent's conversation: what is kept of questions, tools and answers, and how full it is."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from remanence.agent.calls import kept
from remanence.agent.events import ToolUse
from remanence.agent.tools import TRUST
from remanence.errors import InvalidInput, RemanenceError
from remanence.layers.conversation import tokens_of
from remanence.llm.answers import mended
from remanence.model.memory import Kind
from remanence.remember.tool_calls import OF_MEMORY

if TYPE_CHECKING:
    from remanence.memory import Memory

SPOKEN = {OF_MEMORY: {"exists": False}}


class Fill(NamedTuple):
    """How much of the window is taken, 0 to 1, and whether messages have left it."""

    share: float
    left: bool


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
        self._refined = 0
        self._known = self._summaries()

    def heard(self, text: str) -> list[str]:
        """Keep the user's words; their id, or none if they only repeat what memory said."""
        return self._append([{"role": "user", "content": text}])

    def said(self, text: str, model: str) -> list[str]:
        """Keep the answer, if there is one."""
        whole = self._fitted(text)
        told = [{"role": "assistant", "content": whole}] if whole else []
        return self._append(told, source=model, trust=TRUST) if told else []

    def used(self, use: ToolUse, words: str, model: str) -> list[str]:
        """Keep a call of a tool, the words it came with, and what the tool told.

        Marked as memory's own, so that it is never sent again. A call so odd that no message can
        hold it is not kept: what a model makes up must not end the turn.
        """
        asked = {"role": "assistant", "content": words, "tool_calls": [kept(use.call)]}
        told = {"role": "tool", "content": use.result, "tool_call_id": use.call.id}
        both: list[dict[str, Any]] = [
            {**one, "content": self._fitted(str(one["content"])), "metadata": {OF_MEMORY: True}}
            for one in (asked, told)
        ]
        with suppress(InvalidInput):
            return self._append(both, source=model, trust=TRUST)
        return []

    def fill(self) -> Fill:
        """How full the window is of what was said; calls of memory's own tools do not count."""
        settings = self._memory.settings
        window = self._memory.conversations.window(**self._place)
        inside = [one for one in window.messages if one.metadata.get(OF_MEMORY) is not True]
        tokens = sum(map(tokens_of, inside)) / settings.window_tokens
        share = max(tokens, len(inside) / settings.window_messages)
        said = self._memory.count(kinds=Kind.MESSAGE, filters=SPOKEN, **self._place)
        return Fill(1.0, True) if said > len(inside) else Fill(min(share, 1.0), False)

    def has_new_summary(self) -> bool:
        """Whether messages that left the window were summarised since this was last asked."""
        before, self._known = self._known, self._summaries()
        return self._known > before

    def condense(self) -> None:
        """Let the memory's model, if it has one, write new summaries of what left the window.

        Only when there are new ones, or a model that cannot write them would be asked every turn.
        A failure is none here: the extracted ones stand.
        """
        with suppress(RemanenceError):
            if self._summaries() != self._refined:
                try:
                    self._memory.conversations.summarise(**self._place, refine=True)
                finally:
                    self._refined = self._summaries()

    def _summaries(self) -> int:
        return self._memory.count(kinds=Kind.SUMMARY, **self._place)

    def _fitted(self, text: str) -> str:
        """As much of a model's text as a memory takes."""
        return mended(text)[: self._memory.settings.max_text].strip()

    def _append(self, messages: list[dict[str, Any]], **more: Any) -> list[str]:
        stored = self._memory.conversations.append(
            messages, **self._place, agent_id=self._agent_id, **more
        )
        return [record.id for record in stored]

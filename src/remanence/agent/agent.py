"""The agent: a question is stored, put into its context, answered with tools, and stored again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from remanence.agent.events import Answer, Done, Event, ToolUse, Warned
from remanence.agent.prompt import Message, chat_messages, just_left, pressure
from remanence.agent.steps import Steps
from remanence.agent.thread import Fill, Thread
from remanence.agent.tools import MemoryTools
from remanence.clock import IdMaker
from remanence.errors import InvalidInput
from remanence.model.context import Context, checked_budget
from remanence.model.query import MAX_QUERY
from remanence.ports.language_model import LanguageModel

if TYPE_CHECKING:
    from remanence.memory import Memory

FULL = 0.8  # of the window; from here on the model is told to save what matters
MOST_STEPS = 100


class Agent:
    """The smallest agent around a memory, for one conversation of one user. Not thread-safe.

    `model` is any `LanguageModel`; left out, the one that the memory's settings name, and without
    one (or with `offline`) nothing is answered and the answer shows what would have been sent.
    `max_tokens` is the context's budget, `max_answer_tokens` the model's (else its server's own).
    The model sees nothing that is trusted less than `min_trust` (left out, the memory's setting).
    `persona` is written into the persona block if that is empty.

    >>> from remanence import Memory
    >>> with Memory(":memory:") as memory:
    ...     Agent(memory, user_id="ana").ask("Where do I live?").messages[-1]
    {'role': 'user', 'content': 'Where do I live?'}
    """

    def __init__(
        self,
        memory: Memory,
        *,
        model: LanguageModel | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        max_tokens: int = 4_000,
        max_answer_tokens: int | None = None,
        persona: str | None = None,
        tools: bool = True,
        max_steps: int = 8,
        min_trust: float | None = None,
        offline: bool = False,
    ) -> None:
        self._memory = memory
        self._scope: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id}
        self.session_id = session_id or f"chat-{IdMaker()()}"
        self._max_tokens = checked_budget(max_tokens)
        self._max_answer_tokens = max_answer_tokens
        self._max_steps = _checked_steps(max_steps)
        self._min_trust = min_trust
        self._model = None if offline else model or memory.parts.model
        self._thread = Thread(memory, self.session_id, user_id, agent_id)
        if persona:
            self._begin_as(persona)
        self._tools = MemoryTools(
            memory, **self._scope, session_id=self.session_id, min_trust=min_trust
        )
        self._with_tools = tools
        self._full = False

    def ask(self, text: str) -> Answer:
        """The whole answer. If the model fails, the question stays stored and no answer is."""
        for event in self.stream(text):
            if isinstance(event, Done):
                return event.answer
        raise AssertionError("a stream ends with Done or an error")

    def stream(self, text: str) -> Iterator[Event]:
        """The answer as it comes; `Done` is last.

        When the model fails, or the iterator is closed midway, what was said so far is not stored
        as an answer: half a sentence is no statement. Nor is an answer that the model's limit or
        filter cut off, though it is given. The question and the tools' work stay.
        """
        asked = self._thread.heard(text)
        fill = self._thread.fill()
        warnings = self._told_once(fill)
        yield from map(Warned, warnings)
        context = self._context(text)
        labels = self._tools.labels if self._with_tools else ()
        messages = chat_messages(context, asked, text, labels, self._warning(fill))
        if self._model is None:
            yield Done(self._unanswered(context, messages, warnings, asked))
            return
        yield from self._answered(self._model, context, messages, warnings, asked)

    def _context(self, text: str) -> Context:
        context = self._memory.context(
            text.strip()[:MAX_QUERY],
            **self._scope,
            session_id=self.session_id,
            max_tokens=self._max_tokens,
            min_trust=self._min_trust,
        )
        visible = [item.id for item in context.part("recent").items]
        self._tools.refresh(visible=visible, recalled=_recalled(context))
        return context

    def _told_once(self, fill: Fill) -> list[str]:
        """The warning for the user: when the window gets full, not as long as it stays so."""
        was, self._full = self._full, fill.left or fill.share >= FULL
        return [pressure(fill.share, tools=False)] if self._full and not was else []

    def _warning(self, fill: Fill) -> str:
        """The warning for the model: before messages leave for the first time, and when some did.

        A full window stays full, and what is said in every prompt is not heeded.
        """
        new = self._thread.has_new_summary()
        if fill.left:
            return just_left(tools=self._with_tools) if new else ""
        return pressure(fill.share, tools=self._with_tools) if fill.share >= FULL else ""

    def _answered(
        self,
        model: LanguageModel,
        context: Context,
        messages: list[Message],
        warnings: list[str],
        stored: list[str],
    ) -> Iterator[Event]:
        def keep(use: ToolUse, words: str) -> None:
            stored.extend(self._thread.used(use, words, model.name))

        tools = self._tools if self._with_tools else None
        steps = Steps(model, tools, messages, self._max_steps, keep, self._max_answer_tokens)
        for event in steps.run():
            if isinstance(event, Warned):
                warnings.append(event.message)
            yield event
        if steps.whole:
            stored += self._thread.said(steps.text, model.name)
        self._thread.condense()
        yield Done(
            Answer(
                text=steps.text,
                context=context,
                messages=tuple(steps.messages),
                session_id=self.session_id,
                tool_calls=tuple(steps.uses),
                warnings=tuple(warnings),
                stored=tuple(stored),
            )
        )

    def _unanswered(
        self, context: Context, messages: list[Message], warnings: list[str], stored: list[str]
    ) -> Answer:
        return Answer(
            text="",
            context=context,
            messages=tuple(messages),
            session_id=self.session_id,
            warnings=tuple(warnings),
            stored=tuple(stored),
            offline=True,
        )

    def _begin_as(self, persona: str) -> None:
        blocks = self._memory.blocks
        seen = blocks.get("persona", **self._scope)
        if seen.value:
            return
        own = not seen.version or seen.user_id == self._scope["user_id"]
        begin = blocks.rethink if own else blocks.create
        begin("persona", persona, **self._scope, author="application")


def _recalled(context: Context) -> list[str]:
    """What memory told, line by line; not the conversation, of which much is worth storing."""
    told = [one["content"] for one in context.messages if one.get("role") == "system"]
    return str(told[0]).splitlines() if told else []


def _checked_steps(steps: int) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
        raise InvalidInput(
            f"max_steps must be a whole number from 1 to {MOST_STEPS}; got {steps!r:.40}."
        )
    return steps

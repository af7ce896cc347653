"""The agent: a question is stored, answered with context and tools by steps, and stored again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput, LanguageModelError
from remanence.model.clock import IdMaker
from remanence.model.context import Context, checked_budget
from remanence.model.ports.language_model import LanguageModel, Reply
from remanence.model.query import MAX_QUERY
from remanence.tools.agent.thread import (
    AgentThread,
    Answer,
    Done,
    Event,
    Fill,
    Message,
    TextPiece,
    ToolAnswered,
    ToolCalled,
    ToolUse,
    Warned,
    chat_messages,
    just_left,
    pressure,
    sent,
)
from remanence.tools.agent.tools import MemoryTools

if TYPE_CHECKING:
    from remanence.api.memory import Memory


SAME_FAILURES = 3
CUT = {
    "length": "cut off at the model's limit of tokens",
    "content_filter": "held back by the model's content filter",
}

FULL = 0.8  # of the window; from here on the model is told to save what matters
MOST_STEPS = 100


@dataclass(slots=True)
class AgentSteps:
    """Asks the model and calls its tools in turn; `text` is the answer, `uses` what was called.

    `messages` grows by what is called and told, and `keep` gets each call as soon as it is done,
    the first of a reply with the words that came with it. It stops when the model calls no more
    tools, after `most` steps, or when the same call has failed `SAME_FAILURES` times; what was
    said on the way is no answer. `whole` is False for an answer that was cut off.
    """

    model: LanguageModel
    tools: MemoryTools | None
    messages: list[Message]
    most: int
    keep: Callable[[ToolUse, str], None]
    max_tokens: int | None = None
    text: str = ""
    whole: bool = True
    uses: list[ToolUse] = field(default_factory=list)
    _failures: Counter[tuple[str, str]] = field(default_factory=Counter)

    def run(self) -> Iterator[Event]:
        """Events as they happen."""
        for _ in range(self.most):
            reply = yield from self._asked()
            if not reply.tool_calls or self.tools is None:
                self.text, self.whole = reply.text.strip(), reply.finish not in CUT
                yield from _remarks(reply)
                return
            yield from self._called(reply, self.tools)
            if stuck := self._stuck():
                yield Warned(f"Stopped: {stuck} failed {SAME_FAILURES} times in the same way.")
                return
        yield Warned(f"Stopped after {self.most} steps without a final answer.")

    def _asked(self) -> Generator[TextPiece, None, Reply]:
        schemas = self.tools.openai() if self.tools else []
        for piece in self.model.stream(self.messages, tools=schemas, max_tokens=self.max_tokens):
            if isinstance(piece, Reply):
                return piece
            yield TextPiece(piece)
        raise LanguageModelError(f"{self.model.name} ended its stream without a reply.")

    def _called(self, reply: Reply, tools: MemoryTools) -> Iterator[Event]:
        self.messages.append(_asking(reply))
        words = reply.text
        for call in reply.tool_calls:
            yield ToolCalled(call)
            result, done = tools.attempt(call.name, call.arguments)
            use = ToolUse(call=call, result=result, done=done)
            self.uses.append(use)
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            self.keep(use, words)
            words = ""
            if not done:
                self._failures[call.name, call.arguments] += 1
            yield ToolAnswered(use)

    def _stuck(self) -> str | None:
        names = [call[0] for call, times in self._failures.items() if times >= SAME_FAILURES]
        return names[0] if names else None


def _asking(reply: Reply) -> Message:
    return {
        "role": "assistant",
        "content": reply.text or None,
        "tool_calls": [sent(call) for call in reply.tool_calls],
    }


def _remarks(reply: Reply) -> Iterator[Warned]:
    if reply.finish in CUT:
        yield Warned(f"The answer was {CUT[reply.finish]}; it is not remembered.")
    if not reply.text.strip():
        yield Warned("The model said nothing.")


class Agent:
    """The smallest agent around a memory, for one conversation of one user. Not thread-safe.

    `model` is any `LanguageModel`; left out, the one that the memory's settings name, and without
    one (or with `offline`) nothing is answered and the answer shows what would have been sent.
    `max_tokens` is the context's budget, `max_answer_tokens` the model's (else its server's own).
    The model sees nothing that is trusted less than `min_trust` (left out, the memory's setting),
    and no memories that answer less probably than `min_confidence`.
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
        min_confidence: float | None = None,
        offline: bool = False,
    ) -> None:
        self._memory = memory
        self._scope: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id}
        self.session_id = session_id or f"chat-{IdMaker()()}"
        self._max_tokens = checked_budget(max_tokens)
        self._max_answer_tokens = max_answer_tokens
        self._max_steps = _checked_steps(max_steps)
        self._least: dict[str, Any] = {"min_trust": min_trust, "min_confidence": min_confidence}
        self._model = None if offline else model or memory.parts.model
        self._thread = AgentThread(memory, self.session_id, user_id, agent_id)
        if persona:
            self._begin_as(persona)
        self._tools = MemoryTools(memory, **self._scope, session_id=self.session_id, **self._least)
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
        answer = Answer(
            text="",
            context=context,
            messages=tuple(messages),
            session_id=self.session_id,
            warnings=tuple(warnings),
            stored=tuple(asked),
            offline=self._model is None,
        )
        if self._model is None:
            yield Done(answer)
        else:
            yield from self._answered(self._model, messages, answer)

    def _context(self, text: str) -> Context:
        context = self._memory.context(
            text.strip()[:MAX_QUERY],
            **self._scope,
            session_id=self.session_id,
            max_tokens=self._max_tokens,
            **self._least,
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
        self, model: LanguageModel, messages: list[Message], unanswered: Answer
    ) -> Iterator[Event]:
        stored, warnings = list(unanswered.stored), list(unanswered.warnings)

        def keep(use: ToolUse, words: str) -> None:
            stored.extend(self._thread.used(use, words, model.name))

        tools = self._tools if self._with_tools else None
        steps = AgentSteps(model, tools, messages, self._max_steps, keep, self._max_answer_tokens)
        for event in steps.run():
            if isinstance(event, Warned):
                warnings.append(event.message)
            yield event
        if steps.whole:
            stored += self._thread.said(steps.text, model.name)
        self._thread.condense()
        answer = replace(
            unanswered,
            text=steps.text,
            messages=tuple(steps.messages),
            tool_calls=tuple(steps.uses),
            warnings=tuple(warnings),
            stored=tuple(stored),
        )
        yield Done(answer)

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

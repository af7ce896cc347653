"""One question's way through model and tools, until there is an answer or a reason to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator

from remanence.agent.calls import sent
from remanence.agent.events import Event, TextPiece, ToolAnswered, ToolCalled, ToolUse, Warned
from remanence.agent.prompt import Message
from remanence.agent.tools import MemoryTools
from remanence.errors import LanguageModelError
from remanence.ports.language_model import LanguageModel, Reply

SAME_FAILURES = 3
CUT = {
    "length": "cut off at the model's limit of tokens",
    "content_filter": "held back by the model's content filter",
}


class Steps:
    """Asks the model and calls its tools in turn; `text` is the answer, `uses` what was called.

    `messages` grows by what is called and told, and `keep` gets each call as soon as it is done,
    the first of a reply with the words that came with it. It stops when the model calls no more
    tools, after `most` steps, or when the same call has failed `SAME_FAILURES` times; what was
    said on the way is no answer. `whole` is False for an answer that was cut off.
    """

    def __init__(
        self,
        model: LanguageModel,
        tools: MemoryTools | None,
        messages: list[Message],
        most: int,
        keep: Callable[[ToolUse, str], None],
        max_tokens: int | None = None,
    ) -> None:
        self.messages = messages
        self.text = ""
        self.whole = True
        self.uses: list[ToolUse] = []
        self._model = model
        self._tools = tools
        self._most = most
        self._keep = keep
        self._max_tokens = max_tokens
        self._failures: Counter[tuple[str, str]] = Counter()

    def run(self) -> Iterator[Event]:
        """Events as they happen."""
        for _ in range(self._most):
            reply = yield from self._asked()
            if not reply.tool_calls or self._tools is None:
                self.text, self.whole = reply.text.strip(), reply.finish not in CUT
                yield from _remarks(reply)
                return
            yield from self._called(reply, self._tools)
            if stuck := self._stuck():
                yield Warned(f"Stopped: {stuck} failed {SAME_FAILURES} times in the same way.")
                return
        yield Warned(f"Stopped after {self._most} steps without a final answer.")

    def _asked(self) -> Generator[TextPiece, None, Reply]:
        schemas = self._tools.openai() if self._tools else []
        for piece in self._model.stream(self.messages, tools=schemas, max_tokens=self._max_tokens):
            if isinstance(piece, Reply):
                return piece
            yield TextPiece(piece)
        raise LanguageModelError(f"{self._model.name} ended its stream without a reply.")

    def _called(self, reply: Reply, tools: MemoryTools) -> Iterator[Event]:
        self.messages.append(_asking(reply))
        words = reply.text
        for call in reply.tool_calls:
            yield ToolCalled(call)
            result, done = tools.attempt(call.name, call.arguments)
            use = ToolUse(call=call, result=result, done=done)
            self.uses.append(use)
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            self._keep(use, words)
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

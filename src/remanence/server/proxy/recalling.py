"""What a chat is told from memory: one block inside the budget, or why there is none."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from remanence.model.context import Context
from remanence.model.query import MAX_QUERY
from remanence.operations.recalling import Bridge
from remanence.operations.table import operation
from remanence.server.access.caller import Caller
from remanence.server.calls import Calls
from remanence.server.door import Door
from remanence.server.problems import Overloaded, problem_of
from remanence.server.proxy.chat import Chat
from remanence.server.proxy.placing import Placing
from remanence.text.tokens import count_tokens

WAIT_S = 5.0  # for the memory, before a chat goes on without it
MOST_IDS = 100  # in a header, of which many servers take 8 KB in all
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A block for the system message, the memories in it, and what they cost."""

    block: str = ""
    ids: tuple[str, ...] = ()
    tokens: int = 0
    error: str = ""

    def headers(self) -> dict[str, str]:
        """As an answer's headers tell it."""
        told = {"x-memory-ids": ",".join(self.ids[:MOST_IDS]), "x-memory-tokens": str(self.tokens)}
        return told | ({"x-memory-error": self.error} if self.error else {})


async def recalled(
    door: Door, calls: Calls, caller: Caller, chat: Chat, placing: Placing, max_tokens: int
) -> Recalled:
    """Ask the memory. Whatever is wrong with it, the chat goes on."""
    asked = Bridge(
        query=chat.question[:MAX_QUERY] or None,
        user_id=placing.user_id,
        agent_id=placing.agent_id,
        session_id=placing.session_id,
        max_tokens=max_tokens,
        min_trust=placing.min_trust,
    )
    try:
        work = calls.run(door.perform, caller, operation("context"), asked)
        context: Context = await asyncio.wait_for(work, WAIT_S)
    except TimeoutError:
        return failed(Overloaded("The memory took too long."))
    except Exception as error:
        return failed(error)
    return _shown(context, turns=chat.alone)


def failed(error: Exception) -> Recalled:
    """Nothing, and why."""
    problem = problem_of(error)
    _log.warning("A chat goes on without memory: %s", problem.type, exc_info=error)
    return Recalled(error=problem.type)


def _shown(context: Context, *, turns: bool) -> Recalled:
    """What the client does not send itself: its last turns only if it sends none."""
    if turns:
        return Recalled(context.text, context.ids, context.tokens)
    system = [one["content"] for one in context.messages if one.get("role") == "system"][:1]
    recent = {item.id for item in context.part("recent").items}
    ids = tuple(id for id in context.ids if id not in recent)
    block = str(system[0]) if system else ""
    return Recalled(block, ids, count_tokens(block) if block else 0)

"""What is stored of a chat: the new message and the answer, after the client has its answer."""

from __future__ import annotations

import asyncio
import logging
from hashlib import sha256
from json import dumps
from typing import Any, NamedTuple, TypeAlias

from remanence.api.verb import AnyVerb
from remanence.api.verbs.table import verb_of
from remanence.backends.llm.answers import mended
from remanence.errors import Conflict, StoreBusy, StoreUnavailable
from remanence.server.problems import Overloaded, problem_of
from remanence.server.proxy.chat import Chat
from remanence.server.proxy.recalling import Perform, Placing
from remanence.server.proxy.upstream import StreamedAnswer
from remanence.tools.agent.tools import TRUST

SOURCE = "proxy"
PARTIAL = "partial"
PASSING = (Overloaded, StoreBusy, StoreUnavailable)
TRIES_S = (0.2, 1.0, 5.0)
_log = logging.getLogger(__name__)


class ExchangeOwner(NamedTuple):
    """Whose exchange it is, and of which conversation."""

    tenant: str
    user_id: str | None
    session_id: str | None


Write: TypeAlias = tuple[AnyVerb, Any]  # one write to be done: a verb and its request


class Keeping:
    """Stores exchanges beside the answering of requests, those of a conversation in order."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[None], ExchangeOwner] = {}

    def keep(self, perform: Perform, whose: ExchangeOwner, writes: list[Write]) -> None:
        """Begin to store; returns at once."""
        before = [
            task
            for task, other in self._tasks.items()
            if other == whose and whose.session_id is not None
        ]
        task = asyncio.create_task(_stored(perform, writes, before))
        self._tasks[task] = whose
        task.add_done_callback(self._tasks.pop)

    async def settled(self, whose: ExchangeOwner, wait_s: float) -> None:
        """Wait a little until what this user said so far is stored, so that it can be recalled."""
        mine = [task for task, other in self._tasks.items() if other[:2] == whose[:2]]
        if mine:
            await asyncio.wait(mine, timeout=wait_s)

    async def drain(self) -> None:
        """Wait until everything is stored, or given up."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))


async def _stored(perform: Perform, writes: list[Write], before: list[asyncio.Task[None]]) -> None:
    if before:
        await asyncio.wait(before)
    try:
        for write in writes:
            await _tried(perform, write)
    except Conflict:
        pass  # it is there already, from a key of another trust
    except Exception as error:
        _log.error("An exchange was not stored: %s", problem_of(error).type, exc_info=error)


async def _tried(perform: Perform, write: Write) -> None:
    for wait_s in TRIES_S:
        try:
            await perform(*write)
            return
        except PASSING:
            await asyncio.sleep(wait_s)
    await perform(*write)


def writes_of(chat: Chat, heard: StreamedAnswer, placing: Placing, max_text: int) -> list[Write]:
    """What is new in an exchange; the history that came with it was stored when it was new."""
    found = []
    answer = mended(heard.text).strip()[:max_text].strip()
    question = chat.question[:max_text].strip()
    if question and not chat.continues:
        # A client that sends no history may say the same twice, and mean it: the answer tells.
        salt = answer if chat.alone else ""
        key = _key(chat, placing, "user", salt)
        found.append(_write(_said(chat, question), placing, 1.0, key))
    if answer:
        told: dict[str, Any] = {"role": "assistant", "content": answer}
        if heard.partial:
            told["metadata"] = {PARTIAL: heard.partial}
        key = _key(chat, placing, "assistant", answer + heard.partial)
        found.append(_write(told, placing, TRUST, key))
    return found


def _said(chat: Chat, question: str) -> dict[str, Any]:
    given = chat.messages[chat.asked or 0].get("name")
    name = mended(given).strip() if isinstance(given, str) else ""
    said = {"role": "user", "content": question}
    return said | ({"name": name} if 0 < len(name) <= 64 else {})


def _write(message: dict[str, Any], placing: Placing, trust: float, key: str) -> Write:
    given: dict[str, Any] = {"user_id": placing.user_id, "agent_id": placing.agent_id}
    given |= {"source": SOURCE, "trust": trust, "idempotency_key": key}
    if placing.session_id is None:
        verb = verb_of("add_messages")
    else:
        verb = verb_of("conversations.append")
        given["session_id"] = placing.session_id
    return verb, verb.request(messages=(message,), **given)


def _key(chat: Chat, placing: Placing, role: str, more: str) -> str:
    """The same for the same messages so far, so that a request sent again is stored once."""
    upto = len(chat.messages) if role == "assistant" else (chat.asked or 0) + 1
    place = [placing.user_id, placing.agent_id, placing.session_id]
    parts = [place, chat.messages[:upto], role, more]
    return f"{SOURCE}:{sha256(dumps(parts, sort_keys=True).encode()).hexdigest()}"

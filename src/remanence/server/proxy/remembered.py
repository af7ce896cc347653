"""Whose memory a chat has, what it is told from there, and what of it is stored afterwards."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from json import dumps
from typing import Any, NamedTuple, TypeAlias

from starlette.datastructures import Headers

from remanence.api.values import Misfit
from remanence.api.verb import AnyVerb, Grant
from remanence.api.verbs.table import verb_of
from remanence.backends.llm.answers import mended
from remanence.errors import Conflict, Forbidden, InvalidInput, StoreBusy, StoreUnavailable
from remanence.language.tokens import count_tokens
from remanence.model.context import Context
from remanence.model.memory import unit_interval
from remanence.model.query import MAX_QUERY
from remanence.model.validation import MAX_LABEL, label_of
from remanence.server.access.caller import Caller
from remanence.server.problems import Overloaded, problem_of
from remanence.server.proxy.chat import Chat
from remanence.server.proxy.upstream import StreamedAnswer
from remanence.tools.agent.tools import TRUST

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


class Room(NamedTuple):
    """How much memory there may be in a prompt, and how sure it must be to answer."""

    max_tokens: int
    min_confidence: float | None = None


async def recalled(perform: Perform, chat: Chat, placing: Placing, room: Room) -> Recalled:
    """Ask the memory. Whatever is wrong with it, the chat goes on."""
    verb = verb_of("context")
    asked = verb.request(
        query=chat.question[:MAX_QUERY] or None,
        user_id=placing.user_id,
        agent_id=placing.agent_id,
        session_id=placing.session_id,
        max_tokens=room.max_tokens,
        min_trust=placing.min_trust,
        min_confidence=room.min_confidence,
    )
    try:
        context: Context = await asyncio.wait_for(perform(verb, asked), WAIT_S)
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


Perform: TypeAlias = Callable[[AnyVerb, Any], Awaitable[Any]]  # as the caller, in a thread
USER, AGENT, SESSION = "x-memory-user-id", "x-memory-agent-id", "x-memory-session-id"
MODE, MIN_TRUST = "x-memory-mode", "x-memory-min-trust"


class Mode(StrEnum):
    """What the memory does in a chat."""

    OFF = "off"
    READ = "read"
    WRITE = "write"
    READWRITE = "readwrite"

    @property
    def reads(self) -> bool:
        """Whether memories go into the prompt."""
        return self in (Mode.READ, Mode.READWRITE)

    @property
    def writes(self) -> bool:
        """Whether what is said is stored."""
        return self in (Mode.WRITE, Mode.READWRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """Whose memory. `mode` is what was asked for and the key allows; `less` that it is less."""

    user_id: str | None
    agent_id: str | None
    session_id: str | None
    mode: Mode
    less: bool = False
    min_trust: float | None = None


def placed(headers: Headers, user: object, caller: Caller) -> Placing:
    """Read the headers; `user` is OpenAI's field, which counts where no header names a user."""
    wanted, allowed = mode_of(headers), allowed_to(caller)
    mode = _MODES[
        (wanted or Mode.READWRITE).reads and allowed.reads,
        (wanted or Mode.READWRITE).writes and allowed.writes,
    ]
    named = header_of(headers, USER)
    if named is None and mode is not Mode.OFF:
        named = _field(user)
    return Placing(
        user_id=named,
        agent_id=header_of(headers, AGENT),
        session_id=header_of(headers, SESSION),
        mode=mode,
        less=wanted is not None and mode is not wanted,
        min_trust=trust_of(headers),
    )


def trust_of(headers: Headers) -> float | None:
    """How far what is recalled must be trusted; None if nothing is said."""
    given = header_of(headers, MIN_TRUST)
    try:
        return None if given is None else unit_interval(MIN_TRUST, float(given))
    except (ValueError, InvalidInput):
        raise Misfit("X-Memory-Min-Trust must be a number from 0 to 1.") from None


def mode_of(headers: Headers) -> Mode | None:
    """What is asked for; None if nothing is said."""
    given = header_of(headers, MODE)
    try:
        return None if given is None else Mode(given.lower())
    except ValueError:
        raise Misfit(f"X-Memory-Mode must be one of {', '.join(Mode)}.") from None


def allowed_to(caller: Caller) -> Mode:
    """The most that a key allows; `Forbidden` if that is nothing at all."""
    reads, writes = caller.may(Grant.READ), caller.may(Grant.WRITE)
    if not reads and not writes:
        raise Forbidden("The proxy needs a key with the scope `read` or `write`.")
    return _MODES[reads, writes]


def header_of(headers: Headers, name: str) -> str | None:
    """A header's value as it is, in UTF-8.

    One that is empty or given twice is refused, not passed over: the chat would end up in the
    memory of somebody else, or of nobody.
    """
    values = headers.getlist(name)
    if not values:
        return None
    try:
        [value] = [one.encode("latin-1").decode() for one in values]
    except UnicodeDecodeError:
        raise Misfit(f"{name} must be in UTF-8.") from None
    except ValueError:
        raise Misfit(f"{name} is given {len(values)} times; once is enough.") from None
    if not value.strip() or len(value) > MAX_LABEL or not value.isprintable():
        raise Misfit(f"{name} must be 1 to {MAX_LABEL} characters that can be printed.")
    return value


def _field(user: object) -> str | None:
    if user is not None and not isinstance(user, str):
        raise Misfit("`user` must be text.")
    return label_of("user", user) if user else None


_MODES = {(mode.reads, mode.writes): mode for mode in Mode}


SOURCE = "proxy"
PARTIAL = "partial"
PASSING = (Overloaded, StoreBusy, StoreUnavailable)
TRIES_S = (0.2, 1.0, 5.0)


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

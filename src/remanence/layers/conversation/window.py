"""The short-term window: which of the newest messages stay; and what a conversation is called."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remanence.errors import Conflict, InvalidInput
from remanence.language.tokens import count_tokens
from remanence.memories.messages import CALL_ID, CALLS, NO_OUTPUT, calls_in, spelled
from remanence.model import validation
from remanence.model.clock import Clock
from remanence.model.conversation import Conversation
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.memory import GUEST, HALF, MemoryRecord
from remanence.model.ports.store import Documents, Span
from remanence.model.scope import Scope

# What a chat template writes around each message: who speaks, where it begins, where it ends.
FRAMING = 4
# What was said once is told, not commanded: these come back as a user's message that says so.
COMMANDING = ("system", "developer")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64

CountMessage = Callable[[MemoryRecord], int]


def as_chat(record: MemoryRecord) -> dict[str, Any]:
    """The message in a form that chat APIs take, as it was given wherever they take that.

    A bare tool call has None for content. Only assistants call and only tools answer; whoever is
    neither is a `user`, and so is whoever is trusted less than by half. A name is of letters,
    digits, `_` and `-`.
    """
    if record.role == GUEST or record.trust < HALF:
        return {"role": "user", "content": record.text}
    told = _called(record) or _answered(record) or {"role": "user", "content": record.text}
    if record.role == "assistant":
        told["role"] = record.role
    elif record.role in COMMANDING:
        told["content"] = f"[{record.role} message] {record.text}"
    name = _name(record.speaker or "")
    return told | {"name": name} if name else told


def _called(record: MemoryRecord) -> dict[str, Any] | None:
    calls = calls_in(record.metadata.get(CALLS))
    if not calls or record.role in {*COMMANDING, "user", "tool"}:
        return None
    content = None if record.text == spelled(calls) else record.text
    return {"role": "assistant", "content": content, CALLS: calls}


def _answered(record: MemoryRecord) -> dict[str, Any] | None:
    answered = record.metadata.get(CALL_ID)
    if not isinstance(answered, str) or record.role in {*COMMANDING, "user", "assistant"}:
        return None
    content = "" if record.text == NO_OUTPUT else record.text
    return {"role": "tool", "content": content, CALL_ID: answered}


def tokens_of(record: MemoryRecord) -> int:
    """How many tokens the message takes in a prompt, its framing included."""
    told = as_chat(record)
    texts = [told["content"] or "", told.get("name", ""), told.get(CALL_ID, "")]
    if CALLS in told:
        texts.append(json.dumps(told[CALLS], ensure_ascii=False))
    return FRAMING + sum(count_tokens(text) for text in texts if text)


def _name(speaker: str) -> str:
    name = _NOT_IN_A_NAME.sub("_", speaker)[:_LONGEST_NAME]
    return name if name.strip("_-") else ""


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages that stay or go together, by their places, and what they take together."""

    places: tuple[int, ...]
    tokens: int
    importance: float


def fitted(
    messages: Sequence[MemoryRecord],
    max_messages: int,
    max_tokens: int,
    count: CountMessage = tokens_of,
) -> list[MemoryRecord]:
    """The messages (given oldest first) that stay, in their order.

    Only whole messages stay. The newest one, with its tool call, stays even if it alone is more
    than the budget. An answer whose call is not among the messages goes.
    """
    kept = _trimmed(_newest(_units(messages, count), max_messages), max_tokens)
    places = sorted(place for unit in kept for place in unit.places)
    return [messages[place] for place in places]


def beside(
    kept: Sequence[MemoryRecord],
    others: Sequence[MemoryRecord],
    max_messages: int,
    max_tokens: int,
    *,
    full: bool,
    count: CountMessage = tokens_of,
) -> list[MemoryRecord]:
    """The messages kept, with the newest of `others` that they leave room for, in order of time.

    Others are trusted less: they push nothing out. If the window is `full`, none older than what
    is kept comes in.
    """
    if not kept:
        return fitted(others, max_messages, max_tokens, count)
    first = kept[0].happened_at if full else None
    late = [one for one in others if first is None or one.happened_at >= first]
    room, tokens = max_messages - len(kept), max_tokens - sum(map(count, kept))
    units = _newest_within(_units(late, count), room, tokens)
    added = [late[place] for place in sorted(place for unit in units for place in unit.places)]
    return sorted([*kept, *added], key=lambda one: one.happened_at)


def _newest_within(units: Sequence[Unit], most: int, tokens: int) -> list[Unit]:
    """The newest units that take no more than this."""
    chosen: list[Unit] = []
    for unit in reversed(units):
        most, tokens = most - len(unit.places), tokens - unit.tokens
        if most < 0 or tokens < 0:
            break
        chosen.append(unit)
    return chosen


def _units(messages: Sequence[MemoryRecord], count: CountMessage) -> list[Unit]:
    """The messages in units, in order of their newest message."""
    groups: dict[int, list[int]] = {}
    called: dict[str, int] = {}
    for place, message in enumerate(messages):
        answered = message.metadata.get(CALL_ID)
        if isinstance(answered, str) and _may_call(message):
            if answered in called:
                groups[called[answered]].append(place)
            continue
        groups[place] = [place]
        called |= dict.fromkeys(_call_ids(message), place)
    ordered = sorted(groups.values(), key=lambda places: places[-1])
    return [_unit([messages[p] for p in places], places, count) for places in ordered]


def _unit(messages: Sequence[MemoryRecord], places: Sequence[int], count: CountMessage) -> Unit:
    return Unit(
        places=tuple(places),
        tokens=sum(map(count, messages)),
        importance=max(message.importance for message in messages),
    )


def _may_call(message: MemoryRecord) -> bool:
    return message.role != GUEST and message.trust >= HALF


def _call_ids(message: MemoryRecord) -> list[str]:
    if not _may_call(message):
        return []
    ids = [call.get("id") for call in calls_in(message.metadata.get(CALLS))]
    return [id for id in ids if isinstance(id, str)]


def _newest(units: Sequence[Unit], most: int) -> list[Unit]:
    """The newest units of together at most so many messages, at least one unit."""
    chosen: list[Unit] = []
    total = 0
    for unit in reversed(units):
        total += len(unit.places)
        if chosen and total > most:
            break
        chosen.append(unit)
    return chosen[::-1]


def _trimmed(units: list[Unit], budget: int) -> list[Unit]:
    total = sum(unit.tokens for unit in units)
    older = units[: len(units) - _protected(units, budget // 2)]
    for unit in sorted(older, key=lambda unit: (unit.importance, unit.places[-1])):
        if total <= budget:
            break
        total -= unit.tokens
        units = [other for other in units if other is not unit]
    return units


def _protected(units: Sequence[Unit], half: int) -> int:
    """How many of the newest units fit into half of the budget, at least one."""
    total = 0
    for number, unit in enumerate(reversed(units)):
        total += unit.tokens
        if number and total > half:
            return number
    return len(units)


TRIES = 5


def named(session_id: str | None) -> str:
    """The name of a conversation; `InvalidInput` if none was given."""
    if session_id is None:
        raise InvalidInput("Say which conversation it is: session_id=….")
    return Scope(tenant="any", session_id=session_id).session_id or ""


class Descriptions:
    """Titles and metadata of conversations."""

    def __init__(self, store: Documents, tenant: str, clock: Clock) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock

    def put(
        self,
        session_id: str,
        user_id: str | None,
        agent_id: str | None,
        title: str | None,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        """Describe a conversation; what is None stays as it was."""
        if title is None and metadata is None:
            raise InvalidInput("Say what the conversation is: a title, metadata, or both.")
        given: dict[str, Any] = {"title": validation.label_of("title", title), "agent_id": agent_id}
        given["metadata"] = None if metadata is None else validation.metadata_of(metadata)
        address = _address(session_id, user_id)
        for last in range(TRIES):
            try:
                return self._put(address, {n: v for n, v in given.items() if v is not None})
            except Conflict:
                if last == TRIES - 1:
                    raise
        return None

    def of(self, spans: Sequence[tuple[str, str | None]]) -> dict[tuple[str, str | None], Document]:
        """The descriptions of conversations, by session and user, of those that have one."""
        found = self._store.get(self._tenant, [_address(*each) for each in spans])
        return {(doc.address.name, doc.address.user_id): doc for doc in found}

    def discard(self, session_id: str, user_id: str | None) -> None:
        """Remove the description, if there is one."""
        self._store.put(self._tenant, [Discard(address=_address(session_id, user_id))])

    def _put(self, address: Address, given: Mapping[str, Any]) -> None:
        found = self._store.get(self._tenant, [address])
        before = dict(found[0].value) if found else {}
        self._store.put(
            self._tenant,
            [
                Put(
                    address=address,
                    value={**before, **given},
                    at=self._clock.now(),
                    verb="described",
                    expected=found[0].version if found else 0,
                )
            ],
        )


def conversation_of(
    session_id: str, user_id: str | None, span: Span | None, document: Document | None
) -> Conversation:
    """A conversation from what was said in it and how it is described."""
    value: Mapping[str, Any] = {} if document is None else document.value
    return Conversation(
        session_id=session_id,
        user_id=user_id,
        title=value.get("title"),
        metadata=value.get("metadata") or {},
        messages=0 if span is None else span.messages,
        first=None if span is None else span.first,
        last=None if span is None else span.last,
    )


def _address(session_id: str, user_id: str | None) -> Address:
    return Address(shelf=Shelf.CONVERSATION, name=session_id, user_id=user_id)

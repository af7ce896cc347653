"""What a conversation is called and said to be about: an optional document beside its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remanence.errors import Conflict, InvalidInput
from remanence.model import validation
from remanence.model.clock import Clock
from remanence.model.conversation import Conversation
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.ports.store import Documents, Span
from remanence.model.scope import Scope

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

"""What an export tells of a conversation as a whole, kept as the conversation's description."""

from __future__ import annotations

from remanence.clock import SystemClock
from remanence.layers.conversation.described import Descriptions
from remanence.memory import Memory
from remanence.model.scope import Scope
from remanence.transfer.chat.talks import Talk


def describe(memory: Memory, talk: Talk, scope: Scope) -> None:
    """Keep title and metadata, unless the conversation is described already."""
    if talk.id is None or not (talk.title or talk.metadata):
        return
    known = Descriptions(memory.parts.store, memory.tenant, SystemClock())
    if not known.of([(talk.id, scope.user_id)]):
        known.put(talk.id, scope.user_id, scope.agent_id, talk.title, talk.metadata or None)

"""Conversations: messages in order, a short-term window, and summaries of what has left it."""

from remanence.layers.conversation.conversations import Conversations
from remanence.layers.conversation.window import as_chat, tokens_of

__all__ = ["Conversations", "as_chat", "tokens_of"]

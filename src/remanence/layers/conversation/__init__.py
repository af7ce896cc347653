"""Conversations: messages in order, a short-term window, and summaries of what has left it."""

from remanence.layers.conversation.chat import as_chat, tokens_of
from remanence.layers.conversation.conversations import Conversations

__all__ = ["Conversations", "as_chat", "tokens_of"]

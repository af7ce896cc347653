"""Anti-echo: what memory put into a prompt is not remembered again when it comes back."""

from __future__ import annotations

from remanence.text.fences import without_fenced

# What stands for a tool's answer that was recalled from memory: the call must keep an answer.
RECALLED = "(recalled from memory)"
# In a message's metadata: that something was cut out of it, and what.
CUT, RECALLED_TEXT = "cut", "recalled text"


def unechoed(text: str) -> str | None:
    """The text without what memory itself had put there; None if nothing else was in it."""
    own = without_fenced(text)
    return own if own == text or own else None

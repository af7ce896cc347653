"""What a model says to itself before it answers, which is no part of the answer."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_END = re.compile(r"</think>", re.IGNORECASE)


def without_thoughts(text: str) -> str:
    """The text without what stands between the marks of thinking.

    Nothing after the last closing mark is searched, so that many opening ones cost no more.
    """
    end = max((found.end() for found in _END.finditer(text)), default=0)
    return _THOUGHT.sub("", text[:end]) + text[end:]

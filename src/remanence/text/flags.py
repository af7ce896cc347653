"""What sort of sentence a text is, as bits that are stored with a memory."""

from __future__ import annotations

from remanence.text.cues import has_number, is_question
from remanence.text.dates import has_time
from remanence.text.names import names

QUESTION = 1
NUMBER = 2
NAMES = 4
TIME = 8


def flags(text: str) -> int:
    """The bits of a text: it asks, it holds a number, a name, a time."""
    form = QUESTION * is_question(text) | NUMBER * has_number(text)
    return form | NAMES * bool(names(text)) | TIME * has_time(text)

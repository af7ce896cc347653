"""The rolling summary as a text: the summary of a conversation, then the segments after it."""

from __future__ import annotations

from collections.abc import Iterable

from remanence.model.memory import MemoryRecord
from remanence.remember.tool_calls import says_nothing
from remanence.text.tokens import count_tokens

MOST = 600  # tokens in all
MOST_OF_WHOLE = 450  # … of the summary of the conversation; it is made to take about 300
LEAST = 30  # tokens: less of a segment says nothing
CUT = " …"


def telling(
    whole: MemoryRecord | None,
    newest_first: Iterable[MemoryRecord],
    room: int = MOST,
    mark: str = "",
) -> str:
    """What the records say, oldest first, in bounded space; of the segments, the newest that fit.

    Reads no more of the segments than it takes. Each line begins with the mark.
    """
    if room < LEAST:
        return ""
    head = "" if whole is None else within(_said(whole, mark), min(MOST_OF_WHOLE, room))
    room -= count_tokens(head)
    told: list[str] = []
    for text in filter(None, (_said(one, mark) for one in newest_first)):
        if room < LEAST:
            break
        told.append(within(text, room - 1))
        room -= count_tokens(told[-1]) + 1
    return "\n".join(filter(None, [head, *told[::-1]]))


def within(text: str, tokens: int) -> str:
    """The beginning of a text in at most so many tokens, ended between words."""
    short = text[: 16 * tokens]  # no token is longer; a text may be endless
    if short == text and count_tokens(text) <= tokens:
        return text
    least, most = 0, len(short)
    while least < most:
        middle = (least + most + 1) // 2
        fits = count_tokens(short[:middle] + CUT) <= tokens
        least, most = (middle, most) if fits else (least, middle - 1)
    kept = short[:least]
    return (kept[: kept.rfind(" ")] if " " in kept[-80:] else kept).rstrip() + CUT


def _said(record: MemoryRecord, mark: str) -> str:
    if says_nothing(record.text, record.metadata):
        return ""
    return "\n".join(mark + line for line in record.text.splitlines()) if mark else record.text

"""What an edit makes of a block: its text, and the version that undo and redo show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from remanence.errors import InvalidInput
from remanence.layers.blocks.documents import Content

UNDO = "undo"
REDO = "redo"


def appended(value: str, text: str) -> str:
    """The text on a line of its own at the end."""
    return f"{value}\n{text}" if value else text


def replaced(label: str, value: str, old: str, new: str) -> str:
    """The one place that says `old` says `new`."""
    times = _occurrences(value, old)
    if times == 1:
        return value.replace(old, new)
    advice = (
        "give more of the text around the one place you mean"
        if times
        else "read the block and give the text exactly as it stands, with its spaces and lines"
    )
    raise InvalidInput(
        f"{old[:60]!r} occurs {times} times in the block {label!r} and must occur exactly once; "
        f"{advice}."
    )


def inserted(label: str, value: str, text: str, line: int) -> str:
    """The text before the line of that number, counted from 0; -1 puts it at the end."""
    lines = value.split("\n") if value else []
    whole = isinstance(line, int) and not isinstance(line, bool)
    if not whole or not -1 <= line <= len(lines):
        held = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
        raise InvalidInput(
            f"line {str(line)[:20]} is out of range: the block {label!r} has {held}; "
            f"give 0 to {len(lines)}, or -1 for the end."
        )
    lines.insert(len(lines) if line == -1 else line, text)
    return "\n".join(lines)


def check_fits(label: str, value: str, limit: int) -> None:
    """Refuse a value that is longer than the block's limit."""
    over = len(value) - limit
    if over > 0:
        raise InvalidInput(
            f"The block {label!r} takes at most {limit:,} characters and would have "
            f"{len(value):,}, {over:,} too many; shorten it with replace or rethink, or raise "
            "the limit with configure."
        )


def _occurrences(value: str, old: str) -> int:
    """How often it occurs, counting those that overlap: each is a place that could be meant."""
    times, at = 0, value.find(old)
    while at >= 0:
        times, at = times + 1, value.find(old, at + 1)
    return times


class EditStep(NamedTuple):
    """What undo and redo need of an edition; `shows` is the version that one of them went to."""

    version: int
    verb: str
    shows: int | None


class UndoPlace(NamedTuple):
    """Where undo and redo lead from here; None where there is nothing that way."""

    undo: int | None
    redo: int | None


def place(steps: Iterable[EditStep]) -> UndoPlace:
    """Where a block stands after these editions, oldest first.

    The line of versions begins with 0, no block at all. An edit cuts off what was undone.
    """
    line, at = [0], 0
    for step in steps:
        if step.verb in (UNDO, REDO) and step.shows in line:
            at = line.index(step.shows)
        else:
            line[at + 1 :] = [step.version]
            at += 1
    return UndoPlace(
        undo=line[at - 1] if at else None, redo=line[at + 1] if at + 1 < len(line) else None
    )


class EditResult(NamedTuple):
    """What an edit makes of a block; `shows` is the version that an undo or redo went to."""

    content: Content
    shows: int | None = None

"""Undo and redo over a block's editions: which version is shown, which come before and after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

UNDO = "undo"
REDO = "redo"


class Step(NamedTuple):
    """What undo and redo need of an edition; `shows` is the version that one of them went to."""

    version: int
    verb: str
    shows: int | None


class Place(NamedTuple):
    """Where undo and redo lead from here; None where there is nothing that way."""

    undo: int | None
    redo: int | None


def place(steps: Iterable[Step]) -> Place:
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
    return Place(
        undo=line[at - 1] if at else None, redo=line[at + 1] if at + 1 < len(line) else None
    )

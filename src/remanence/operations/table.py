"""The table of all operations, and the verbs that are deliberately not in it."""

from __future__ import annotations

from remanence.operations.caring import CARING
from remanence.operations.linking import LINKING
from remanence.operations.operation import Operation
from remanence.operations.recalling import RECALLING
from remanence.operations.remembering import REMEMBERING

OPERATIONS: tuple[Operation, ...] = (*REMEMBERING, *RECALLING, *LINKING, *CARING)

LEFT_OUT = {
    "close": "whoever opened the memory closes it; no caller from outside may",
}


def operation(name: str) -> Operation:
    """The operation of this name."""
    return next(each for each in OPERATIONS if each.name == name)

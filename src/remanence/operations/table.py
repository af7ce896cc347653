"""The table of all operations, and the verbs that are deliberately not in it."""

from __future__ import annotations

from remanence.operations.blocks import BLOCKS
from remanence.operations.conversations import CONVERSATIONS
from remanence.operations.erasures import ERASURES
from remanence.operations.facts import FACTS
from remanence.operations.graph import GRAPH
from remanence.operations.learn import LEARN
from remanence.operations.operation import Operation
from remanence.operations.own import OWN
from remanence.operations.schedules import SCHEDULES
from remanence.operations.sessions import SESSIONS
from remanence.operations.sleep import SLEEP
from remanence.operations.snapshots import SNAPSHOTS
from remanence.operations.tuning import TUNING
from remanence.operations.working import WORKING

OPERATIONS: tuple[Operation, ...] = (
    *OWN,
    *BLOCKS,
    *CONVERSATIONS,
    *SESSIONS,
    *WORKING,
    *FACTS,
    *GRAPH,
    *SNAPSHOTS,
    *SLEEP,
    *SCHEDULES,
    *LEARN,
    *TUNING,
    *ERASURES,
)

LEFT_OUT = {
    "close": "whoever opened the memory closes it; no caller from outside may",
    "for_tenant": "who is logged in is decided before any verb runs",
    "learn.trained": "sleep calls it for the time of its night",
    "learn.trim": "sleep calls it; the feedback that is kept is bounded",
    "learn.unlearn": "the memory calls it when memories are erased",
    "write_uses": "the memory calls it whenever it writes, a server every few seconds",
    "snapshot": "short for `snapshots.take`",
    "tuning.unlearn": "the memory calls it when memories are erased",
    "sessions.push": "conversations call it when messages were stored",
    "sessions.renew": "the memory calls it when a snapshot was restored",
    "sessions.drop": "the memory calls it when messages were changed or forgotten",
}


def operation(name: str) -> Operation:
    """The operation of this name."""
    return next(each for each in OPERATIONS if each.name == name)

"""The operations of the memory itself; those of its layers are loaded when one is asked for."""

from __future__ import annotations

from remanence.operations.caring import CARING
from remanence.operations.linking import LINKING
from remanence.operations.operation import Operation
from remanence.operations.recalling import RECALLING
from remanence.operations.remembering import REMEMBERING

OWN: tuple[Operation, ...] = (*REMEMBERING, *RECALLING, *LINKING, *CARING)

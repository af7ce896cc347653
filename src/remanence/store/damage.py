"""Damaged rows made readable, so that they can be signed anew and set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from remanence.model.memory import Kind, State
from remanence.store.rows import KIND_CODES, KINDS, STATE_CODES, STATES, moment


def readable(row: Sequence[Any]) -> list[Any]:
    """Values that a record can hold, as near to those of a damaged `record` row as can be."""
    mended = list(row)
    mended[3] = row[3] if row[3] in KINDS else KIND_CODES[Kind.EPISODIC]
    mended[4] = row[4] if row[4] in STATES else STATE_CODES[State.ACTIVE]
    mended[5:8] = [value if is_time(value) else 0 for value in row[5:8]]
    mended[8:10] = [value if _is_share(value) else 0.0 for value in row[8:10]]
    mended[10] = int(bool(row[10]))
    mended[11] = row[11] if isinstance(row[11], int) and 0 < row[11] < 1 << 31 else 1
    mended[20] = row[20] if isinstance(row[20], bytes) and len(row[20]) == 16 else None
    mended[21] = row[21] if _is_object(row[21]) else None
    mended[22] = row[22] or ""
    return mended


def is_time(value: Any) -> bool:
    """Whether a column holds a time."""
    try:
        moment(value)
    except (TypeError, OverflowError):
        return False
    return True


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 <= value <= 1


def _is_object(value: Any) -> bool:
    try:
        return isinstance(orjson.loads(value), dict)
    except (orjson.JSONDecodeError, TypeError):
        return False

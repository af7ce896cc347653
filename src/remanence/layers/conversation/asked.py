"""What callers ask conversations with, checked."""

from __future__ import annotations

from datetime import date, datetime
from uuid import UUID

from remanence.errors import InvalidInput
from remanence.model import accept
from remanence.model.scope import Scope


def named(session_id: str | None) -> str:
    """The name of a conversation; `InvalidInput` if none was given."""
    if session_id is None:
        raise InvalidInput("Say which conversation it is: session_id=….")
    return Scope(tenant="any", session_id=session_id).session_id or ""


def size_of(what: str, given: int | None, usual: int) -> int:
    """A size given by a caller, or the usual one."""
    if given is None:
        return usual
    if not whole(given) or not 1 <= given <= 10_000_000:
        raise InvalidInput(f"{what} must be a whole number, 1 or more; got {given!r:.40}.")
    return given


def whole(value: object) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def day_of(day: object) -> date:
    """The day meant by a date, a moment or a text like 2026-03-01."""
    if isinstance(day, datetime):
        return accept.local_moment_of("day", day).date()
    if isinstance(day, date):
        return day
    try:
        return date.fromisoformat(day) if isinstance(day, str) else date.fromisoformat("")
    except ValueError:
        raise InvalidInput(f"day must be a date like 2026-03-01; got {str(day)[:40]!r}.") from None


def is_id(text: str) -> bool:
    """Whether a text is the id of a memory."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False

"""Who is behind an MCP message, and whose memory they mean when they do not say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from remanence.errors import Unauthenticated
from remanence.server.access.caller import Caller

HEADERS: Mapping[str, str] = {
    "user_id": "x-memory-user-id",
    "agent_id": "x-memory-agent-id",
    "session_id": "x-memory-session-id",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A caller, with the user, agent and session that hold where a call names none."""

    caller: Caller
    scope: Mapping[str, str] = field(default_factory=dict)


# Who sent a message; it is given the HTTP request, or None where there is none.
VisitorOf = Callable[[Any], Visitor]


def visitor_of(request: Any) -> Visitor:
    """Who sent an HTTP request, as the guard found; nobody is let in by default."""
    caller = getattr(request.state, "caller", None) if request is not None else None
    if not isinstance(caller, Caller):
        raise Unauthenticated("Send a key: `Authorization: Bearer …`. `rem keys create` makes one.")
    shown = {name: request.headers.get(header) for name, header in HEADERS.items()}
    return Visitor(caller=caller, scope={name: text for name, text in shown.items() if text})

"""The keys of sessions in a Redis or Valkey server; no name can be made to look like another's."""

from __future__ import annotations

from remanence.ports.session_cache import SessionKey

# What keys are built with; a name that holds one of these has it written as in a URL.
_ESCAPES = str.maketrans({"%": "%25", ":": "%3A", "{": "%7B", "}": "%7D"})


def session_key(key: SessionKey) -> bytes:
    """The hash of a session. Whatever has the same braces lies on one node of a cluster."""
    return f"{_place(key)}:session".encode()


def history_key(key: SessionKey) -> bytes:
    """The list of a session's last messages, newest first."""
    return f"{_place(key)}:history".encode()


def active_key(store: str, tenant: str) -> bytes:
    """The set of a tenant's active sessions."""
    return f"{_escaped(store)}:{{{_escaped(tenant)}}}:active".encode()


def by_time_key(store: str, tenant: str) -> bytes:
    """The sorted set of a tenant's active sessions, by when they were last used."""
    return f"{_escaped(store)}:{{{_escaped(tenant)}}}:by-time".encode()


def member(key: SessionKey) -> bytes:
    """A session's name in the sets of its tenant."""
    return f"{_escaped(key.user_id)}:{_escaped(key.session_id)}".encode()


def hash_of_member(store: str, tenant: str, name: bytes) -> bytes:
    """The hash of the session that has this name in the sets of its tenant."""
    place = f"{_escaped(store)}:{{{_escaped(tenant)}:".encode()
    return place + name + b"}:session"


def _place(key: SessionKey) -> str:
    return f"{_escaped(key.store)}:{{{_escaped(key.tenant)}:{member(key).decode()}}}"


def _escaped(name: str | None) -> str:
    """The name; no name is ever empty, so nobody's is none."""
    return "" if name is None else name.translate(_ESCAPES)

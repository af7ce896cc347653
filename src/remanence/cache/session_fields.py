"""Sessions as the fields of a hash, messages as JSON, and the distrustful way back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from types import NoneType
from typing import Any

import orjson

from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.session import Session
from remanence.ports.session_cache import SessionCopy, SessionKey

FORMAT = b"1"
FIELDS = (
    "format",
    "tenant",
    "user",
    "session",
    "agent",
    "data",
    "version",
    "created",
    "active",
    "expires",
    "ended",
    "run",
    "edition",
    "ttl",
    "verified",
)
MOMENTS = ("happened_at", "created_at", "updated_at", "used_at")
TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("id", "text"), str),
    **dict.fromkeys(("agent_id", "external_id", "role", "speaker", "source"), (str, NoneType)),
    **dict.fromkeys(("actor", "origin", "superseded_by"), (str, NoneType)),
    **dict.fromkeys(("version", "uses"), int),
    "pinned": bool,
    "metadata": dict,
}


def write_session(key: SessionKey, copy: SessionCopy) -> dict[str, bytes]:
    """The fields of a session's hash."""
    session = copy.session
    values = (
        FORMAT,
        key.tenant.encode(),
        _name(key.user_id),
        key.session_id.encode(),
        _name(session.agent_id),
        orjson.dumps(dict(session.data)),
        b"%d" % session.version,
        moment(session.created_at),
        moment(session.active_at),
        moment(session.expires_at),
        b"" if session.ended_at is None else moment(session.ended_at),
        copy.run.encode(),
        b"%d" % copy.edition,
        repr(copy.ttl_s).encode(),
        moment(copy.verified),
    )
    return dict(zip(FIELDS, values, strict=True))


def read_session(key: SessionKey, values: Sequence[bytes | None]) -> SessionCopy:
    """What `write_session` made for this key; `ValueError` for anything else."""
    told = {n: v.decode() for n, v in zip(FIELDS, values, strict=True) if isinstance(v, bytes)}
    if len(told) < len(FIELDS) or told["format"] != FORMAT.decode():
        raise ValueError("not a session")
    if (told["tenant"], told["user"], told["session"]) != (
        key.tenant,
        key.user_id or "",
        key.session_id,
    ):
        raise ValueError("another session")
    data, ttl_s = orjson.loads(told["data"]), float(told["ttl"])
    if not isinstance(data, dict) or not (math.isfinite(ttl_s) and ttl_s > 0):
        raise ValueError("not the data of a session")
    session = Session(
        id=key.session_id,
        user_id=key.user_id,
        agent_id=told["agent"] or None,
        data=data,
        version=int(told["version"]),
        created_at=read_moment(told["created"]),
        active_at=read_moment(told["active"]),
        expires_at=read_moment(told["expires"]),
        ended_at=read_moment(told["ended"]) if told["ended"] else None,
    )
    return SessionCopy(
        session=session,
        run=told["run"],
        edition=int(told["edition"]),
        ttl_s=ttl_s,
        verified=read_moment(told["verified"]),
    )


def write_message(record: MemoryRecord) -> bytes:
    """A message with all its fields."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return orjson.dumps(values, default=_plain)


def read_message(key: SessionKey, value: bytes) -> MemoryRecord:
    """What `write_message` made of a message of this session; `ValueError` for anything else."""
    told = orjson.loads(value)
    names = {field.name for field in fields(MemoryRecord)}
    if not isinstance(told, dict) or set(told) != names:
        raise ValueError("not a message")
    if (told["tenant"], told["user_id"], told["session_id"]) != (
        key.tenant,
        key.user_id,
        key.session_id,
    ):
        raise ValueError("a message of another session")
    if not all(isinstance(told[name], kind) for name, kind in TYPES.items()):
        raise ValueError("not a message")
    told |= {name: read_moment(told[name]) for name in MOMENTS if told[name] is not None}
    told |= {"kind": Kind(told["kind"]), "state": State(told["state"])}
    return MemoryRecord(**told)


def moment(at: datetime) -> bytes:
    """A moment in UTC, always as long, so that later ones sort later."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").encode()


def read_moment(text: object) -> datetime:
    """What `moment` made."""
    if not isinstance(text, str):
        raise ValueError("not a moment")
    found = datetime.fromisoformat(text)
    if found.utcoffset() is None:
        raise ValueError("no time zone")
    return found


def _name(value: str | None) -> bytes:
    return b"" if value is None else value.encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no part of a message")

"""Sessions in a Redis or Valkey server: keys, fields of a hash, scripts, and the way back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import msgspec
import orjson

from remanence.model.memory import MemoryRecord
from remanence.model.ports.session_cache import SessionCopy, SessionKey
from remanence.model.session import Session

# What keys are built with; a name that holds one of these has it written as in a URL.
_ESCAPES = str.maketrans({"%": "%25", ":": "%3A", "{": "%7B", "}": "%7D"})

FORMAT = b"1"
_OF_A_MESSAGE = {field.name for field in fields(MemoryRecord)}

# ARGV: milliseconds to live, run and edition that were seen, run, edition, then fields and values.
KEEP = """
local key = KEYS[1]
if redis.call('HEXISTS', key, 'gone') == 1 then return 0 end
local had = redis.call('HMGET', key, 'run', 'edition')
if had[1] and not (had[1] == ARGV[2] and had[2] == ARGV[3]) then
  if had[1] ~= ARGV[4] then redis.call('DEL', key) return 0 end
  if tonumber(had[2]) > tonumber(ARGV[5]) then return 0 end
end
redis.call('HSET', key, unpack(ARGV, 6))
redis.call('PEXPIRE', key, ARGV[1])
return 1
"""

# ARGV: milliseconds for which nothing is kept.
REMOVE = """
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('HSET', KEYS[1], 'gone', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
"""

# ARGV: milliseconds to live, mark, moment of the first and the last message, messages, oldest
# first. An empty moment: they are not in order, or too large to be kept.
PUSH = """
local key, list = KEYS[1], KEYS[2]
if redis.call('HEXISTS', key, 'gone') == 1 then return 0 end
local had = redis.call('HMGET', key, 'mark', 'newest')
redis.call('HINCRBY', key, 'mark', 1)
redis.call('PEXPIRE', key, ARGV[1])
if redis.call('EXISTS', list) == 0 then return 0 end
local follows = ARGV[3] ~= '' and had[2] and ARGV[3] >= had[2]
if (had[1] or '0') ~= ARGV[2] or not follows then redis.call('DEL', list) return 0 end
redis.call('LPUSH', list, unpack(ARGV, 5))
redis.call('LTRIM', list, 0, 99)
redis.call('PEXPIRE', list, ARGV[1])
redis.call('HSET', key, 'newest', ARGV[4])
return 1
"""

# ARGV: milliseconds to live, mark, now, moment of the newest message, messages, oldest first.
FILL = """
local key, list = KEYS[1], KEYS[2]
if redis.call('HEXISTS', key, 'gone') == 1 then return 0 end
if (redis.call('HGET', key, 'mark') or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', key, 'filled', ARGV[3], 'newest', ARGV[4])
redis.call('PEXPIRE', key, ARGV[1])
redis.call('DEL', list)
redis.call('LPUSH', list, unpack(ARGV, 5))
redis.call('PEXPIRE', list, ARGV[1])
return 1
"""

# ARGV: milliseconds to live, for a hash that is made here.
FORGET = """
redis.call('DEL', KEYS[2])
redis.call('HINCRBY', KEYS[1], 'mark', 1)
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
"""


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


_WRITTEN: Mapping[str, Callable[[SessionKey, SessionCopy], bytes]] = {
    "format": lambda key, copy: FORMAT,
    "tenant": lambda key, copy: key.tenant.encode(),
    "user": lambda key, copy: _name(key.user_id),
    "session": lambda key, copy: key.session_id.encode(),
    "agent": lambda key, copy: _name(copy.session.agent_id),
    "data": lambda key, copy: orjson.dumps(dict(copy.session.data)),
    "version": lambda key, copy: b"%d" % copy.session.version,
    "created": lambda key, copy: moment(copy.session.created_at),
    "active": lambda key, copy: moment(copy.session.active_at),
    "expires": lambda key, copy: moment(copy.session.expires_at),
    "ended": lambda key, copy: moment(copy.session.ended_at) if copy.session.ended_at else b"",
    "run": lambda key, copy: copy.run.encode(),
    "edition": lambda key, copy: b"%d" % copy.edition,
    "ttl": lambda key, copy: repr(copy.ttl_s).encode(),
    "verified": lambda key, copy: moment(copy.verified),
}
FIELDS = tuple(_WRITTEN)


def write_session(key: SessionKey, copy: SessionCopy) -> dict[str, bytes]:
    """The fields of a session's hash."""
    return {name: written(key, copy) for name, written in _WRITTEN.items()}


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
    values = {name: getattr(record, name) for name in _OF_A_MESSAGE}
    return orjson.dumps(values, default=_plain)


def read_message(key: SessionKey, value: bytes) -> MemoryRecord:
    """What `write_message` made of a message of this session; `ValueError` for anything else."""
    values = orjson.loads(value)
    if not isinstance(values, dict) or set(values) != _OF_A_MESSAGE:
        raise ValueError("not a message")
    told = msgspec.convert(values, MemoryRecord)
    if (told.tenant, told.user_id, told.session_id) != (key.tenant, key.user_id, key.session_id):
        raise ValueError("a message of another session")
    return told


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

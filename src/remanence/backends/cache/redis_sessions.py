"""Copies of sessions and of their last messages in a Redis or Valkey server, or a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Unpack

import msgspec
import orjson

from remanence.backends.cache.redis import KeyedCommand, RedisClient, life
from remanence.backends.cache.servers import Habits
from remanence.model.memory import MemoryRecord
from remanence.model.ports.cache import CacheStats
from remanence.model.ports.session_cache import LISTED, UNKNOWN, Listed, SessionCopy, SessionKey
from remanence.model.session import Session

# How long a removed session is not kept: longer than a reader needs from the store to here.
GONE_S = 5.0
# A message of more bytes is not kept at hand, nor is the list that it would belong to.
LARGEST = 65_536
PAGE = 500


class RedisSessionCache:
    """The SessionCache port; reached as `RedisClient` says.

    Unlike the cache of search results it holds what people said: the data of sessions and the
    texts of their last messages, until their time to live ends.
    """

    def __init__(self, url: str, **habits: Unpack[Habits]) -> None:
        self._client = RedisClient(url, **habits)

    def __repr__(self) -> str:
        return f"RedisSessionCache({str(self._client.address)!r})"

    def load(self, key: SessionKey) -> SessionCopy | None:
        """The copy of this session, if one is there and whole."""
        name = session_key(key)
        [values] = self._client.read([(name, ("HMGET", name, *FIELDS))])
        found = _whole(key, values) if isinstance(values, list) else None
        self._client.count(found is not None, found is None)
        return found

    def touch(self, key: SessionKey, ttl_s: float, at: datetime) -> None:
        """The session was used; three keys of up to two nodes, one round trip to each."""
        name, history = session_key(key), history_key(key)
        lives: list[KeyedCommand] = [
            (one, ("PEXPIRE", one, life(ttl_s))) for one in (name, history)
        ]
        self._client.write([*lives, *_entered(key, at)])

    def keep(self, key: SessionKey, copy: SessionCopy, seen: SessionCopy | None = None) -> None:
        """Keep the copy, unless a newer one is there; `seen`, known to be wrong, gives way."""
        name, history = session_key(key), history_key(key)
        fields = [part for pair in write_session(key, copy).items() for part in pair]
        had = (seen.run, seen.edition) if seen else ("", "")
        script = _script("keep", [name], life(copy.ttl_s), *had, copy.run, copy.edition, *fields)
        ended = copy.session.ended_at is not None
        lists = _struck([key]) if ended else _entered(key, copy.session.active_at)
        lives = (history, ("PEXPIRE", history, life(copy.ttl_s)))
        self._do(key, [script, lives, *lists])

    def remove(self, keys: Sequence[SessionKey]) -> None:
        """Drop sessions with their messages; copies on their way are passed over for a while."""
        scripts = [
            _script("remove", [session_key(key), history_key(key)], life(GONE_S)) for key in keys
        ]
        answers = self._client.write([*scripts, *_struck(keys)])
        for key, answer in zip(keys, answers, strict=False):
            if isinstance(answer, Exception):
                self._unlink(key)

    def used(self, keys: Sequence[SessionKey]) -> list[datetime | None]:
        """When each of these sessions of one tenant was last used, as far as the cache knows."""
        if not keys:
            return []
        name = by_time_key(keys[0].store, keys[0].tenant)
        [scores] = self._client.read([(name, ("ZMSCORE", name, *map(member, keys)))])
        if not isinstance(scores, list) or len(scores) != len(keys):
            return [None] * len(keys)
        return [_moment_of_score(score) for score in scores]

    def sweep(self, store: str, tenant: str) -> int:
        """Strike sessions whose copy is gone off the tenant's lists of who is active; how many."""
        active, by_time = active_key(store, tenant), by_time_key(store, tenant)
        struck: set[bytes] = set()
        for command, name in (("SSCAN", active), ("ZSCAN", by_time)):
            for page in self._scanned(command, name):
                gone = self._gone(store, tenant, page)
                struck.update(gone)
                if gone:
                    self._client.write(
                        [(active, ("SREM", active, *gone)), (by_time, ("ZREM", by_time, *gone))]
                    )
        return len(struck)

    def last(self, key: SessionKey, limit: int) -> Listed:
        """The last `limit` messages, at most `LISTED`."""
        wanted = min(limit, LISTED)
        name, history = session_key(key), history_key(key)
        told, values = self._client.read(
            [
                (name, ("HMGET", name, "mark", "filled")),
                (history, ("LRANGE", history, 0, wanted - 1)),
            ]
        )
        try:
            mark, filled = (value and value.decode() for value in told)
            verified = read_moment(filled) if filled else None
            messages = _unrepeated([read_message(key, value) for value in values], wanted)
            return Listed(messages=messages, verified=verified, mark=int(mark or 0))
        except (ValueError, TypeError, AttributeError):  # nothing, a refusal, or another's value
            return Listed(mark=_mark(told))

    def fill(
        self,
        key: SessionKey,
        messages: Sequence[MemoryRecord],
        *,
        mark: int,
        ttl_s: float,
        at: datetime,
    ) -> None:
        """Put the store's last messages, oldest first, in place of the list."""
        last = messages[-LISTED:]
        written = [write_message(record) for record in last]
        if not written or any(len(value) > LARGEST for value in written):
            return
        newest = moment(last[-1].happened_at)
        names = [session_key(key), history_key(key)]
        self._do(key, [_script("fill", names, life(ttl_s), mark, moment(at), newest, *written)])

    def push(
        self, key: SessionKey, messages: Sequence[MemoryRecord], *, mark: int, ttl_s: float
    ) -> None:
        """Add messages to the list, if there is one; one that they do not follow on is dropped."""
        if not messages:
            return
        last = messages[-LISTED:]
        written = [write_message(record) for record in last]
        times = [record.happened_at for record in messages]
        fits = times == sorted(times) and all(len(value) <= LARGEST for value in written)
        first = moment(times[0]) if fits else b""
        names = [session_key(key), history_key(key)]
        sent = written if fits else ()
        until = moment(times[-1])
        self._do(key, [_script("push", names, life(ttl_s), mark, first, until, *sent)])

    def forget(self, keys: Sequence[SessionKey]) -> None:
        """Drop the lists of these sessions."""
        for key in keys:
            names = [session_key(key), history_key(key)]
            self._do(key, [_script("forget", names, life(GONE_S))])

    def stats(self) -> CacheStats:
        """Size and health of the servers, and use by this process."""
        return self._client.stats()

    def close(self) -> None:
        """Release the connections; from then on it gives nothing."""
        self._client.close()

    def _do(self, key: SessionKey, commands: Sequence[KeyedCommand]) -> None:
        """Write; where the server refuses a script, as a full one does, nothing old stays."""
        answers = self._client.write(commands)
        if isinstance(answers[0], Exception):
            self._unlink(key)

    def _unlink(self, key: SessionKey) -> None:
        self._client.clear([session_key(key), history_key(key)])

    def _scanned(self, command: str, name: bytes) -> Iterator[list[bytes]]:
        cursor: int | None = None
        while cursor != 0:
            [answer] = self._client.read([(name, (command, name, cursor or 0, "COUNT", PAGE))])
            match answer:
                case (int(cursor), [*page]):
                    yield [one[0] if isinstance(one, tuple) else one for one in page]
                case _:
                    return

    def _gone(self, store: str, tenant: str, page: Sequence[bytes]) -> list[bytes]:
        """Those whose hash is known not to be there."""
        names = [hash_of_member(store, tenant, one) for one in page]
        answers = self._client.read([(name, ("EXISTS", name)) for name in names])
        return [one for one, answer in zip(page, answers, strict=True) if answer in (0, False)]


@cache
def _lua(name: str) -> bytes:
    return files(__package__).joinpath("scripts", f"{name}.lua").read_bytes()


def _script(name: str, keys: Sequence[bytes], *arguments: str | bytes | int) -> KeyedCommand:
    return keys[0], ("EVAL", _lua(name), len(keys), *keys, *arguments)


def _entered(key: SessionKey, at: datetime) -> list[KeyedCommand]:
    active, by_time = active_key(key.store, key.tenant), by_time_key(key.store, key.tenant)
    score = repr(at.timestamp())
    return [
        (active, ("SADD", active, member(key))),
        (by_time, ("ZADD", by_time, score, member(key))),
    ]


def _struck(keys: Sequence[SessionKey]) -> list[KeyedCommand]:
    commands: list[KeyedCommand] = []
    for key in keys:
        active, by_time = active_key(key.store, key.tenant), by_time_key(key.store, key.tenant)
        commands.append((active, ("SREM", active, member(key))))
        commands.append((by_time, ("ZREM", by_time, member(key))))
    return commands


def _whole(key: SessionKey, values: Sequence[Any]) -> SessionCopy | None:
    try:
        return read_session(key, values)
    except ValueError:
        return None


def _mark(told: Any) -> int:
    """The mark alone, where the rest is not fit to be used; without one nothing may be filled."""
    try:
        return int(told[0] or 0)
    except (ValueError, TypeError, IndexError):
        return UNKNOWN


def _unrepeated(
    newest_first: Sequence[MemoryRecord], wanted: int
) -> tuple[MemoryRecord, ...] | None:
    """Each message once, oldest first; None if there may be more of them than were looked at.

    A writer that tries again after a failure pushes what it has pushed before.
    """
    once = {record.id: record for record in reversed(newest_first)}
    whole = len(once) == len(newest_first) or len(newest_first) < wanted
    return tuple(once.values()) if once and whole else None


def _moment_of_score(score: Any) -> datetime | None:
    try:
        return datetime.fromtimestamp(float(score), UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


# What keys are built with; a name that holds one of these has it written as in a URL.
_ESCAPES = str.maketrans({"%": "%25", ":": "%3A", "{": "%7B", "}": "%7D"})

FORMAT = b"1"
_OF_A_MESSAGE = {field.name for field in fields(MemoryRecord)}


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

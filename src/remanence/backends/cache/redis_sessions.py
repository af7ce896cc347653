"""Copies of sessions and of their last messages in a Redis or Valkey server, or a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Unpack

from remanence.backends.cache.redis import KeyedCommand, RedisClient, life
from remanence.backends.cache.redis_session_format import (
    FIELDS,
    FILL,
    FORGET,
    KEEP,
    PUSH,
    REMOVE,
    active_key,
    by_time_key,
    hash_of_member,
    history_key,
    member,
    moment,
    read_message,
    read_moment,
    read_session,
    session_key,
    write_message,
    write_session,
)
from remanence.backends.cache.servers import Habits
from remanence.model.memory import MemoryRecord
from remanence.model.ports.cache import CacheStats
from remanence.model.ports.session_cache import LISTED, UNKNOWN, Listed, SessionCopy, SessionKey

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
        script = _script(KEEP, [name], life(copy.ttl_s), *had, copy.run, copy.edition, *fields)
        ended = copy.session.ended_at is not None
        lists = _struck([key]) if ended else _entered(key, copy.session.active_at)
        lives = (history, ("PEXPIRE", history, life(copy.ttl_s)))
        self._do(key, [script, lives, *lists])

    def remove(self, keys: Sequence[SessionKey]) -> None:
        """Drop sessions with their messages; copies on their way are passed over for a while."""
        scripts = [
            _script(REMOVE, [session_key(key), history_key(key)], life(GONE_S)) for key in keys
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
        self._do(key, [_script(FILL, names, life(ttl_s), mark, moment(at), newest, *written)])

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
        self._do(key, [_script(PUSH, names, life(ttl_s), mark, first, until, *sent)])

    def forget(self, keys: Sequence[SessionKey]) -> None:
        """Drop the lists of these sessions."""
        for key in keys:
            names = [session_key(key), history_key(key)]
            self._do(key, [_script(FORGET, names, life(GONE_S))])

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


def _script(script: str, keys: Sequence[bytes], *arguments: str | bytes | int) -> KeyedCommand:
    return keys[0], ("EVAL", script, len(keys), *keys, *arguments)


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
